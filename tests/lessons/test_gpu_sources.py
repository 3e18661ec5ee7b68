"""Where the numbers of the GPU lessons are from: no number is without a source, none differs."""

from __future__ import annotations

import json

import pytest
from cohort.run import ROOT, solved
from lesson_demos import module_at
from mini_course import HEADER

from proflab_course.course.layout import Course
from proflab_course.course.notebook import read_module

sources = module_at(ROOT / "docs/gpu_sources.py")
COURSE, DECLARED = Course(ROOT), sources.entries()
AGAIN = "run python docs/gpu_sources.py"


def test_the_page_is_the_one_that_the_lessons_make():
    assert sources.PAGE.read_text(encoding="utf-8") == sources.page(COURSE, DECLARED), AGAIN


def test_every_number_in_the_text_says_where_it_is_from():
    assert sources.mistakes(COURSE, DECLARED) == []


@pytest.mark.parametrize("name", sources.LESSONS)
def test_numbers_are_those_of_their_sources(name, monkeypatch):
    lesson = solved(f"lesson_{name[:2]}")
    monkeypatch.chdir(COURSE.module(name).parent)
    with lesson.beside():
        wrong = [sources.unlike(entry, lesson.scope) for entry in DECLARED[name]]
    assert [sentence for sentence in wrong if sentence] == []


def test_every_document_that_is_named_is_there():
    there = {(each.lesson, each.name) for each in sources.documents(COURSE)}
    named = {(n, e.says) for n in sources.LESSONS for e in DECLARED[n] if e.kind == "document"}
    assert named and named <= there


# ── on a lesson of three cells ───────────────────────────────────────────────────────────────

FLAGS = '"locked": true, "schema_version": 3, "solution": false, "task": false'
TEXT = f"""\
{HEADER}
# %% [markdown]
# ## 1 · A kernel
#
# It takes 2.5 ms at 400 GB/s, 80 % of its roof, in 34 of a step's 149 ms, and is 1.5–2× as fast.
# Tiles of 3 × 3, the 2 kernels, 10⁹ FLOPs and 1.5 are no measurements.
#
# | link | GB/s |
# |---|---|
# | a bus | 15.75 |

# %% nbgrader={{"grade": false, "grade_id": "record", {FLAGS}}}
PATHS = ("a.json", "b.json")
record = cuda.Record(*PATHS, "c.json", form=roofline_document)

# %% nbgrader={{"grade": false, "grade_id": "demo", {FLAGS}}} tags=["demo"]
# Prints rows.
print(record.title("Rows", *record.rows("gemm")), record.rows("fma")[-1], record.rows("fma")[:2])
demos.own(record)
"""


@pytest.fixture
def lesson(tmp_path):
    path = tmp_path / "10_small.py"
    path.write_text(TEXT, encoding="utf-8")
    return read_module(path, "10_small")


def test_numbers_with_units_are_found_in_text_and_in_tables(lesson):
    found = [each.number for each in sources.figures(lesson)]
    assert found == ["2.5 ms", "400 GB/s", "80 %", "34 of a step's 149 ms", "1.5–2×", "15.75 GB/s"]
    assert {each.section for each in sources.figures(lesson)} == {"1 · A kernel"}


def test_a_cell_is_traced_to_the_kinds_of_rows_that_it_reads(lesson, tmp_path):
    code = "def own(record):\n    return inner(record.document)\n\n"
    code += "def inner(document):\n    return document['rows'].get('sweep', [])\n"
    (tmp_path / "demos.py").write_text(code, encoding="utf-8")
    reader = sources.Reader.of(lesson, tmp_path)
    assert reader.records == {"record": ("a.json", "b.json", "c.json")}
    [demo] = lesson.named("demo")
    assert reader.kinds(demo) == {"record": {"gemm", "fma", "sweep"}}
    assert reader.places(demo, "record", "gemm") == []
    assert reader.places(demo, "record", "fma") == ["-1", ":2"]


def test_of_several_documents_those_count_whose_rows_are_taken(lesson, tmp_path):
    found = []
    for name, rows in (("a", 1), ("b", 2), ("c", 1)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"rows": {"fma": [{}] * rows}}))
        found.append(sources.Document("10_small", tmp_path / f"{name}.json"))
    reader, [demo] = sources.Reader.of(lesson, tmp_path), lesson.named("demo")
    taken = sources.taken(found, "fma", reader, demo, "record")
    assert {each.name for each in taken} == {"a.json", "b.json", "c.json"}
    taken = sources.taken([*found, found[0]], "fma", reader, demo, "record")
    assert {each.name for each in taken} == {"a.json", "b.json"}


def test_a_number_without_a_source_and_a_source_without_a_number_are_told(lesson, monkeypatch):
    monkeypatch.setattr(sources, "read", lambda course, name: lesson)
    monkeypatch.setattr(sources, "LESSONS", ("10_small",))
    entries = [
        sources.Entry(number, "", "posed", "an example")
        for number in ("2.5 ms", "80 %", "34 of a step's 149 ms", "1.5–2×", "15.75 GB/s", "7 W")
    ]
    first, last = sources.mistakes(COURSE, {"10_small": entries})
    assert "nothing says where '400 GB/s' is from: It takes 2.5 ms at 400 GB/s" in first
    assert "no text cell says '7 W'" in last


@pytest.mark.parametrize(
    "number, value, problem",
    [
        ("2.5 ms", "0.00254", ""),
        ("2.5 ms", "0.00256", "'2.5 ms' is 2.56 by 0.00256"),
        ("88 %", "peak / 2", ""),
        ("34 of 149 ms", "0.034, 0.149", ""),
        ("34 of 149 ms", "0.034, 0.151", "'34 of 149 ms' is 151"),
        ("2.2 to 5 times", "2.178, 4.95", ""),
        ("1.5–2×", "2", ""),
        ("5.1 pJ", "float('nan') * 1e-12", "'5.1 pJ' is nan"),
    ],
)
def test_a_value_must_be_what_is_written_in_its_unit_and_digits(number, value, problem):
    names = (("half", "0.44"), ("peak", "4 * half"))
    entry = sources.Entry(number, "", "formula", value, value, names=names)
    found = sources.unlike(entry, {})
    assert found.startswith(problem) if problem else found == ""


@pytest.mark.parametrize(
    "table, problem",
    [
        ('number = "1 ms"', "one of formula, sheet"),
        ('number = "1 ms"\nposed = "x"\nformula = "1"', "one of formula, sheet"),
        ('number = "1 ms"\ndocument = "x.json"', "`row` says where it is there"),
    ],
)
def test_an_entry_says_one_source(table, problem, tmp_path):
    path = tmp_path / "figures.toml"
    path.write_text(f"[[10_small]]\n{table}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=problem):
        sources.entries(path)


def test_the_page_names_repository_commit_card_date_and_licence_of_each_row(tmp_path):
    source = {
        "repository": "https://github.com/someone/benches",
        "commit": "0123abcd",
        "licence": "MIT",
        "date": "2025-02",
        "card": "A100",
        "path": "results/a100.txt",
    }
    path = tmp_path / "cards.json"
    head = {"constructed": False, "date": "2026-01-01", "card": None, "note": "By others."}
    rows = {"roofline": [{"source": source}], "cache": [{"source": source}]}
    path.write_text(json.dumps({**head, "command": "make it", "rows": rows}), encoding="utf-8")
    table = "".join(sources._documents([sources.Document("10_small", path)]))
    whose = "[someone/benches](https://github.com/someone/benches) at 0123abcd"
    assert "Its originals are `results/a100.txt`." in table
    assert f"| `cards.json` | 10 | A100 | 2025-02 | roofline, cache | {whose} | MIT |" in table
