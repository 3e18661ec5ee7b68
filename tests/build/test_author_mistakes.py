"""What an author does wrong in a test cell is one sentence with file and cell, in every command."""

import pytest
from shop_course import SHOP, TRACKS, declare_privately, make_shop

from proflab_course.cli import main

PUBLIC = "modules/01_shop/01_shop.py, cell test_tax"
LAST = 'expect("of a cheap thing", tax(0.5), 0.125)\n'
# In place of the last hidden case: what it is, and a part of the sentence.
MISTAKES = {
    "assert tax(2) == 0.5\n": "line 4: an assert earns no points",
    'expect("of a dear thing", tax(8), 2.0)\n': ": two cases have the label 'of a dear thing'",
    'for n in (1, 2):\n    expect("n", tax(n), n / 4)\n': "line 5: expect stands inside another",
    'expect("of 2", tax(2)\n': "line 4: '(' was never closed",
    'expect("of 2", tax(2))\n': "line 4: expect takes 3 positional arguments",
    'expect("of 2", tax(2), tax(2))\n': "line 4: expected values use literals",
    'expect_raises("of 2", tax(2), ValueError)\n': "line 4: expect_raises takes `lambda: …`",
    'expect_faster("x", traced(tax, x=(2,)), like=tax, machine=[1], full=2)\n': "machine is one of",
    'expect_cheaper("x", tax(2), rule=[], given=3, full=2)\n': "rule is one of cache",
    '# about: nothing\n': "line 4: `# about:` must stand directly above a hidden case",
}  # fmt: skip
COMMANDS = [
    "build", "build 01", "build 02", "build --audit static", "build --check", "build --sizes",
    "build --seed 3 --audit static", "build --track hour -o made", "build --through 01 -o made",
]  # fmt: skip


def said(course, monkeypatch, capsys, command):
    """What a build that must be refused says."""
    monkeypatch.chdir(course.root)
    assert main(command.split()) == 2
    out, err = capsys.readouterr()
    assert not (course.root / "source").exists() and not (course.root / "made").exists()
    assert err.count("\n") == 1 and "Traceback" not in out + err, err
    return err


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_hidden_case(tmp_path, monkeypatch, capsys, mistake):
    course = make_shop(tmp_path, TRACKS, SHOP.replace(LAST, mistake))
    found = said(course, monkeypatch, capsys, "build --audit static")
    assert f"proflab build: {PUBLIC}" in found and MISTAKES[mistake] in found


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("track", ["hour", "day", "term"])
def test_every_command_in_every_track_says_it(tmp_path, monkeypatch, capsys, command, track):
    course = make_shop(tmp_path, TRACKS, SHOP.replace(LAST, "assert tax(2) == 0.5\n"))
    declare_privately(course, f'use = "{track}"')
    assert f"{PUBLIC}, line 4: an assert earns" in said(course, monkeypatch, capsys, command)


PRIVATE = (
    '# %% nbgrader={{"grade_id": "test_tax"}}{}\n### BEGIN HIDDEN TESTS\n{}### END HIDDEN TESTS\n'
)


@pytest.mark.parametrize("tags", ["", ' tags=["extend"]'])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_private_case_names_its_file(tmp_path, monkeypatch, capsys, mistake, tags):
    course = make_shop(tmp_path, TRACKS, SHOP)
    path = course.root / "private/01_shop.py"
    path.parent.mkdir(exist_ok=True)
    own = 'expect("of a dear thing", tax(8), 2.0)\n'
    path.write_text(PRIVATE.format(tags, own * ("two cases" in MISTAKES[mistake]) + mistake))
    found = said(course, monkeypatch, capsys, "build --audit static")
    sentence = MISTAKES[mistake].replace("line 4", "line 2").replace("line 5", "line 3")
    assert "proflab build: private/01_shop.py, cell test_tax" in found and sentence in found


def test_a_label_that_the_public_cases_have(tmp_path, monkeypatch, capsys):
    course = make_shop(tmp_path, TRACKS, SHOP)
    path = course.root / "private/01_shop.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(PRIVATE.format("", 'expect("of 8", tax(80), 20.0)\n'))
    found = said(course, monkeypatch, capsys, "build")
    assert "private/01_shop.py, cell test_tax: with the public cases, two cases have" in found


@pytest.mark.parametrize("points", ['"many"', "null", "[]"])
def test_points_that_are_no_number(tmp_path, monkeypatch, capsys, points):
    wrong = SHOP.replace('"points": 30', f'"points": {points}')
    course = make_shop(tmp_path, TRACKS, wrong)
    found = said(course, monkeypatch, capsys, "build")
    assert f"{PUBLIC}: its points are a number, not" in found


FORMER = {
    "test_tex = ''": "former.toml has an entry 'test_tex'; it may have",
    "test_tax = 3": "former.toml: test_tax must be a text in quotes, not 3",
    "test_tax = 'assert tax(2) == 0.5'": "former.toml, line 1: an assert earns no points",
}


@pytest.mark.parametrize("mistake", FORMER)
def test_a_mistake_in_a_test_cell_of_a_former_release(tmp_path, monkeypatch, capsys, mistake):
    course = make_shop(tmp_path, TRACKS, SHOP)
    (course.root / "modules/01_shop/former.toml").write_text(mistake)
    assert FORMER[mistake] in said(course, monkeypatch, capsys, "build 01 --audit static")


UNREADABLE = {
    "in Latin-1": (
        "# Stra\u00dfe\n".encode("latin-1"),
        "is not in UTF-8: save it as a text in UTF-8",
    ),
    "a header that is no YAML": (
        b"# ---\n# jupyter:\n#   kernelspec: [\n# ---\n",
        "is not in jupytext's percent format: while parsing",
    ),
}


@pytest.mark.parametrize("text", UNREADABLE)
def test_a_lessons_text_that_cannot_be_read(tmp_path, monkeypatch, capsys, text):
    course = make_shop(tmp_path)
    data, sentence = UNREADABLE[text]
    course.module("01_shop").write_bytes(data)
    found = said(course, monkeypatch, capsys, "build --audit static")
    assert f"modules/01_shop/01_shop.py {sentence}" in found
