"""The notebook behind a lesson's page: outputs of demo cells and nothing else of the solved one."""

import nbformat
import pytest
from lesson_demos import module_at
from mini_course import make_course
from site_pages import SITE

from proflab_course.build.command import build
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import SOLUTION, regions

LESSON = "01_first"
DRAWN = """\
from proflab.lesson import demo, plot

print("the size is", demo.demo_size("full", "small"))
plot.bars({"field": area(90, 120)}, title="Areas")
"""


@pytest.fixture
def lessons(monkeypatch):
    monkeypatch.syspath_prepend(str(SITE))
    import lessons

    return lessons


@pytest.fixture
def course(tmp_path):
    course = make_course(tmp_path / "course")
    build(course, audit="static")
    return course


def add_demo(course, source):
    """Let a demo cell follow the last one, in the release and in the source."""
    for path in (course.release(LESSON), course.source(LESSON)):
        notebook = nbformat.read(path, as_version=4)
        last = max(i for i, c in enumerate(notebook.cells) if c.id == "first_guess")
        locked = {"grade_id": "more", "locked": True, "grade": False, "solution": False}
        metadata = {"tags": ["demo"], "nbgrader": {**locked, "schema_version": 3, "task": False}}
        cell = nbformat.v4.new_code_cell(source, metadata=metadata, id="more")
        notebook.cells.insert(last + 1, cell)
        nbformat.write(notebook, path)


@pytest.mark.whole
def test_what_demo_cells_print_draw_and_say_is_on_the_page(lessons, course, tmp_path):
    add_demo(course, DRAWN)
    shown = lessons.demo_outputs(course, LESSON, tmp_path / "runs", "full")
    page = lessons.lesson_page(course, LESSON, shown, tmp_path / "files")
    cells = {cell.id: cell for cell in page.cells}
    assert cells["first_demo"].outputs[0].text == "1 1\n2 4\n3 9\n"
    assert "you made no guess" in str(cells["first_guess"].outputs)
    assert cells["more"].outputs[0].text == "the size is full\n"
    assert cells["more"].outputs[1].data["text/html"].startswith('<img alt="Areas')
    assert 'src="more-2.png"' in cells["more"].outputs[1].data["text/html"]
    assert (tmp_path / "files/more-2.png").read_bytes().startswith(b"\x89PNG")
    of_others = [c for c in page.cells if "demo" not in c.metadata.tags and c.get("outputs")]
    assert of_others == []
    text = nbformat.writes(page)
    for secret in ("surface = width", "7_919", "isoperimetric", "google.colab", "data:image"):
        assert secret not in text


def test_what_prints_a_line_of_the_solution_or_sets_up_colab_is_not_on_the_page(
    lessons, course, tmp_path
):
    add_demo(course, "from types import SimpleNamespace\nrace = SimpleNamespace(table=str)\n"
                     "print(race.table('the line `return width * height`'))\n"
                     "import sys\nprint('a warning', file=sys.stderr)")  # fmt: skip
    shown = lessons.demo_outputs(course, LESSON, tmp_path / "runs", "full")
    assert "width * height" in str(shown) and "a warning" not in str(shown)
    page = lessons.lesson_page(course, LESSON, shown, tmp_path / "files")
    [more] = [cell for cell in page.cells if cell.id == "more"]
    assert more.outputs == [] and "google.colab" not in nbformat.writes(page)


def test_the_links_of_the_map_lead_to_headings_as_the_site_names_them(lessons, course, tmp_path):
    page = lessons.lesson_page(course, LESSON, [], tmp_path)
    [text] = [cell.source for cell in page.cells if "you will build" in cell.source]
    assert "[`area`](#1--rectangles--10-min--60-points)" in text and "cell-id" not in text
    from myst_parser.slugs import github_slugify

    assert github_slugify("1 · Rectangles · 10 min · 60 points") in text


def test_a_run_is_kept_until_the_lesson_changes(lessons, course, tmp_path):
    runs = tmp_path / "runs"
    shown = lessons.demo_outputs(course, LESSON, runs, "small")
    [kept] = runs.iterdir()
    kept.write_text("[]")
    assert lessons.demo_outputs(course, LESSON, runs, "small") == []
    add_demo(course, "print('more')")
    assert len(lessons.demo_outputs(course, LESSON, runs, "small")) == len(shown) + 1
    assert [path.name for path in runs.iterdir()] != [kept.name]
    assert len(list(runs.iterdir())) == 1


def test_a_demo_cell_that_fails_stops_the_site(lessons, course, tmp_path):
    add_demo(course, "1 / 0")
    with pytest.raises(CourseError, match="01_first: the solved notebook raises ZeroDivisionError"):
        lessons.demo_outputs(course, LESSON, tmp_path / "runs", "small")
    assert not (tmp_path / "runs").exists()


def test_the_sites_audit_finds_the_solutions_of_each_lesson_on_a_page(course, tmp_path):
    html = tmp_path / "html"
    html.mkdir()
    for lesson in course.lessons():
        cells = nbformat.read(course.source(lesson), as_version=4).cells
        told = [line for cell in cells for r in regions(cell.source, SOLUTION) for line in r]
        (html / f"{lesson}.html").write_text("\n".join(told))
    found = "\n".join(module_at(SITE / "build.py").audit(course, html))
    for lesson, exercise in (("01_first", "area"), ("02_second", "volume")):
        where = f"modules/{lesson}/{lesson}.py, cell {exercise}"
        assert f"html/{lesson}.html shows students the solution of {where}" in found
