"""How large the packages are: a budget that only goes down, and no class name for two things."""

import ast
from collections import defaultdict

import pytest
from imports import ROOT

# Lines of Python at most, in hundreds. Raising one is a commit of its own, with its reason.
BUDGET = {"proflab": 23_735, "proflab_course": 31_630, "proflab_classroom": 7_595}
LONGEST = 500  # lines of a file
# Names of classes that stand for several in one package: this list may only become shorter.
TWICE = {"Machine"}


def lines(package):
    """Return the number of lines of each file of a package."""
    files = sorted((ROOT / package).rglob("*.py"))
    return {
        file.relative_to(ROOT).as_posix(): len(file.read_text("utf-8").splitlines())
        for file in files
    }


@pytest.mark.parametrize("package", BUDGET)
def test_a_package_is_within_its_budget(package):
    found = sum(lines(package).values())
    print(f"{package}: {found:,} lines of {BUDGET[package]:,}")
    assert found <= BUDGET[package], "split off, remove, or raise the budget and say why"


def test_no_file_is_longer_than_the_longest_of_today():
    found = {file: count for package in BUDGET for file, count in lines(package).items()}
    assert [file for file, count in found.items() if count > LONGEST] == []


@pytest.mark.parametrize("package", BUDGET)
def test_a_name_stands_for_one_class(package):
    files = defaultdict(set)
    for file in (ROOT / package).rglob("*.py"):
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                files[node.name].add(file)
    found = {name for name, places in files.items() if len(places) > 1}
    assert not found - TWICE, "call one of them differently"
