"""The essays' mark schemes: an item a point, and numbers that the lessons' own functions give."""

import re

import pytest
from cohort.run import ROOT, solved
from lesson_cells import show
from lesson_demos import demos_of

import proflab
from proflab import models
from proflab.lesson import race
from proflab_course.course.layout import Course
from proflab_course.course.notebook import read_module
from proflab_course.course.rubric import rubric_of

COURSE = Course(ROOT)
LESSONS = COURSE.lessons()
POINTS = dict.fromkeys(LESSONS, 10) | {"13_faster": 20}

# Per lesson: the item, what it says, and an expression in the solved lesson that gives it.
NUMBERS = {
    "01": [
        (1, "243.9", "4 * 60965224 / 1e6"),
        (1, "232.6", "4 * 60965224 / 1024**2"),
        (2, "1.6 %", "100 * (4 * 60965224 / 1e6 / 240 - 1)"),
        (2, "3.2 %", "100 * (240 / (4 * 60965224 / 1024**2) - 1)"),
        (3, "4.99", "4 * 1248424 / 1e6"),
        (3, "4.76", "4 * 1248424 / 1024**2"),
        (4, "0.8 %", "100 * (4.8 / (4 * 1248424 / 1024**2) - 1)"),
        (4, "3.9 %", "100 * (1 - 4.8 / (4 * 1248424 / 1e6))"),
        (5, "48.8", "60965224 / 1248424"),
        (6, "2 %", "100 * (50 / (60965224 / 1248424) - 1)"),
    ],
    "02": [
        (2, "1.8", "3 * 1.5e9 * 40e9 / 1e20"),
        (3, "3.6", "reflect_6nd(1.5e9, 40e9) / 1e20"),
        (4, "1,475,561,600", "1557611200 - (50257 + 1024) * 1600"),
        (4, "1.160", "training_flops(xl, (1, 1024)) / reflect_6nd(1475561600, 1024)"),
        (5, "1.099", "training_flops(xl, (1, 1024)) / reflect_6nd(1557611200, 1024)"),
        (7, "10.7 %", "100 * 12 * 48 * 1600 * 1024 / (6 * 1475561600)"),
        (7, "10.1 %", "100 * 12 * 48 * 1600 * 1024 / (6 * 1557611200)"),
        (8, "5.4 %", "100 * 50257 * 1600 / 1475561600"),
    ],
    "03": [
        (1, "47.9", "confidence_interval(before)[0]"),
        (1, "49.0", "confidence_interval(before)[1]"),
        (1, "46.8", "confidence_interval(after)[0]"),
        (1, "59.2", "confidence_interval(after)[1]"),
        (2, "48.2", "float(np.median(before[1:]))"),
        (2, "48.5", "confidence_interval(before[1:])[1]"),
        (3, "47.0", "float(np.median(after[1:]))"),
        (3, "46.8", "confidence_interval(after[1:])[0]"),
        (3, "47.3", "confidence_interval(after[1:])[1]"),
        (4, "2.5 %", "100 * (1 - 47.0 / 48.2)"),
        (6, "48.4", "float(np.mean([t for t in after if t != 71.5]))"),
        (6, "50.7", "float(np.mean(after))"),
    ],
    "05": [(1, "20.5 %", "41 / 2"), (1, "9.8", "48 * 0.205")],
    "07": [(8, "512", "8 * 8 * np.dtype('float64').itemsize")],
}  # lesson 04's stand in test_lesson_04.py

# Per lesson and item: what the cell named beside it prints.
PRINTED = {
    "10": {
        "demo_trials": [(1, "1,251"), (1, "5.67")],
        "demo_published": [(4, "4.55"), (4, "1.31"), (6, "185"), (6, "0.84")],
        "demo_speedup": [(8, "24"), (8, "95")],
    },
    "11": {
        "demo_parts": [(2, "320"), (2, "932"), (3, "1.375"), (3, "1.362"), (3, "1.396")],
        "demo_causes": [(5, "149"), (5, "32.6")],
        "demo_report": [(2, "2.91")] + [(4, share) for share in ("29", "42", "8", "11", "10")],
        "demo_pairwise": [(8, "2.67")],
        "demo_mfu": [(9, "15.3")],
    },
}


def rubric(name):
    return rubric_of(name, [cell.node for cell in cells(name)])


def cells(name):
    return read_module(COURSE.module(name), name).cells


@pytest.mark.parametrize("name", LESSONS)
def test_each_essay_has_an_item_a_point_and_two_answers_to_calibrate_on(name):
    found, points = rubric(name), POINTS[name]
    assert (found.points, len(found.items), len(set(found.items))) == (points, points, points)
    assert not re.search(r"points? off|up to \d|half a point", " ".join(found.items))
    good, poor = found.anchors
    assert (good.kind, poor.kind) == ("good", "poor")
    assert len(good.items) == points and 1 <= len(poor.items) <= 0.3 * points
    assert good.text and poor.text
    assert f"({len(poor.items)}: item" in next(c for c in cells(name) if c.role == "manual").source
    assert len(found.question) > 100


@pytest.mark.parametrize("name", LESSONS)
def test_each_scheme_says_what_a_part_of_a_statement_earns(name):
    """Two markers would otherwise disagree on a statement that holds two facts."""
    assert (
        rubric(name)
        .head.replace("Twenty", "Ten", 1)
        .startswith(
            "Ten statements: one that is there as a whole earns its point, a part of it earns 0."
        )
    )


@pytest.mark.parametrize("name", LESSONS)
def test_what_an_item_names_is_in_the_lesson(name):
    text = "\n".join(cell.source for cell in cells(name))
    scope = solved(f"lesson_{name[:2]}").scope
    grade_ids = {cell.name for cell in cells(name)}
    for item in rubric(name).items:
        for named in re.findall(r"`([A-Za-z_][\w.]*)", item):
            first = named.partition(".")[0]
            assert first in grade_ids or first in scope or named in text, named


@pytest.mark.parametrize("nn", NUMBERS)
def test_numbers_of_items_are_what_the_lesson_computes(nn):
    name = next(each for each in LESSONS if each.startswith(nn))
    scope = dict(solved(f"lesson_{nn}").scope)
    with proflab.meta():  # its data would take 6 GB
        scope["xl"] = models.gpt2("xl")
    for cell in cells(name):
        if cell.name == "essay_times":
            exec(cell.source, scope)
    items = rubric(name).items
    for item, said, expression in NUMBERS[nn]:
        assert said in items[item - 1]
        digits = len(said.rstrip(" %").partition(".")[2])
        value = eval(expression, scope)
        assert float(said.rstrip(" %").replace(",", "")) == pytest.approx(
            value, abs=0.51 * 10**-digits
        ), expression


def test_the_good_answer_of_lesson_12_has_the_numbers_of_its_functions():
    scope = solved("lesson_12").scope
    card, model = scope["H100"], scope["LLAMA"]
    users = scope["batch_limits"](model, 8192, card, 80 * 10**9)["memory"]
    ms = scope["pass_ms"](model, [(8191, 1)] * users, card)
    twice = scope["cheapest_batch"](model, 16_384, card, 80 * 10**9, 50, 2, 700)
    weights = 2000 * model["weights"] / card.bandwidth
    rates = 1000 * users / ms, twice["tokens_per_second"]
    told = [
        f"{users} users",
        f"{ms:.1f} ms",
        f"caches {ms - weights:.1f}",
        f"weights {weights:.1f}",
    ]
    told += [f"{rates[0]:,.0f} a second", f"{rates[1]:,.0f} for twice", f"{2400 / rates[0]:.2f} of"]
    good, _ = rubric("12_serving").anchors
    assert [each for each in told if each not in good.text] == []


def test_the_good_answer_of_lesson_13_has_the_counts_of_the_program_without_a_seed(monkeypatch):
    scope = solved("lesson_13").scope
    slow, faster, program = (scope[name] for name in ("slow", "faster", "program"))

    def attend(query, key, value):
        return scope["F"].scaled_dot_product_attention(query, key, value, is_causal=True)

    def alone(model, tokens):
        with monkeypatch.context() as patch:
            patch.setattr(program, "attend", attend)
            return slow(model, tokens)

    def by_halves(model, tokens):
        return proflab.cat([faster(model, tokens[:4]), faster(model, tokens[4:])])

    def counted(one, machine="DESK"):
        made = race.traced(one, model=scope["make_model"], tokens=("int64", (8, 64)))
        found = race.counted(made, machine)
        ops = sum(row["ms"] > 0 for row in found.rows)
        return found.ms, ops, 0.5 * ops / found.ms  # of overhead, in percent

    given, ops, here = counted(slow)
    there_ms, _, there = counted(slow, "T4")
    best, few, _ = counted(faster)
    halves, twice, _ = counted(by_halves)
    left = [counted(p, m)[0] for m in ("T4", "DESK") for p in (program.logits, alone)]
    told = [
        f"the given {given:.2f} ms",
        f"saved {given - left[3]:.2f}",
        f"in place of {best:.2f}, and counted were {halves:.2f}, because {few} ops became {twice}",
        f"costs {there_ms:.2f} ms",
        f"the {ops} ops are {there:.0f} % of the cost there and {here:.0f} % on DESK",
        f"leaves {left[0]:.2f} ms on the T4, and `attend` alone {left[1]:.2f}",
        f"they leave {left[2]:.2f} and {left[3]:.2f}",
        f"counted speed-up is {given / best:.1f}",
    ]
    good, _ = rubric("13_faster").anchors
    assert [each for each in told if each not in good.text] == []


@pytest.mark.whole
@pytest.mark.parametrize("nn", PRINTED)
def test_numbers_of_the_documents_are_what_their_cells_print(nn, monkeypatch):
    name = next(each for each in LESSONS if each.startswith(nn))
    folder = ROOT / "modules" / name
    monkeypatch.setenv("PROFLAB_DEMO", "small")
    monkeypatch.setitem(__import__("sys").modules, "demos", demos_of(name))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.chdir(folder)
    scope, items = dict(solved(f"lesson_{nn}").scope), rubric(name).items
    printed = {c.name: show(c, scope)[0] for c in cells(name) if c.name in PRINTED[nn]}
    for cell, numbers in PRINTED[nn].items():
        for item, said in numbers:
            assert re.search(rf"(?<![\d.]){re.escape(said)}", printed[cell]), (cell, said)
            shown = said if said != "32.6" else "33"  # rounded in the item
            assert re.search(rf"(?<![\d.]){re.escape(shown)}", items[item - 1]), (item, shown)
