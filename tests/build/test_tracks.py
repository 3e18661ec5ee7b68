"""Tracks: what a class writes in the time that it has, what it is given, and what it never sees."""

import os

import nbformat
import pytest
from handed_in import WHOLE, filled, graded
from shop_course import SHOP, TRACKS, declare_privately, make_shop

from proflab.lesson.outline import Outline
from proflab_course.build.command import build, check
from proflab_course.build.prepare import prepare
from proflab_course.cli import main
from proflab_course.course.layout import CourseError
from proflab_course.course.notebook import read_notebook
from proflab_course.course.sections import sections

URL = "https://github.com/someone/mini-course/blob/v0.3.0/release"


# ── what a track makes of a lesson ───────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    return make_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="module")
def hour(shop):
    return prepare(shop, track="hour")


def test_an_optional_exercise_that_nothing_uses_goes_with_its_paragraph(tmp_path):
    optional = SHOP.replace("The mean, too.", "**Optional.** The mean, too.")
    optional = optional.replace('"points": 10,', '"points": 0,', 1)
    assert optional.count('"points": 0,') == 1
    for used in (True, False):
        lesson = (
            optional if used else optional.replace("mean([total([4]), total([8])])", "total([4])")
        )
        course = make_shop(tmp_path / str(used), lesson=lesson)
        taken = prepare(course, track="hour").taken["01_shop"]
        text = "".join(cell.source for cell in taken.lesson.named("text"))
        assert ("mean" in taken.given, "**Optional.**" in text) == (used, used)


def test_the_rest_becomes_given_code_in_its_place(hour):
    [lesson] = hour.lessons
    named = [(cell.name, cell.role) for cell in lesson.cells if cell.name]
    assert named == [
        ("shop_imports", "given"),
        ("rate", "given"),
        ("tax", "given"),
        ("total", "exercise"),
        ("test_total", "test"),
        ("mean", "given"),
        ("demo_sums", "demo"),
        ("where_am_i", "demo"),
    ]
    tax = next(cell for cell in lesson.cells if cell.name == "tax")
    assert tax.source.splitlines()[0] == "# Given: lesson 01, section 1."
    assert "return price * RATE" in tax.source and "SOLUTION" not in tax.source
    assert tax.tags == ["given"] and tax.node.metadata["jupyter"] == {"source_hidden": True}
    assert hour.taken["01_shop"].given == ("tax", "mean")
    assert hour.taken["01_shop"].gone == ("1", "3", "Reflect", "Summary")


def test_the_text_is_cut_at_headings_and_says_what_is_given(hour):
    [lesson] = hour.lessons
    text = "\n".join(cell.source for cell in lesson.named("text"))
    assert "Words at the end" not in text and "Hint" not in text and "a break" not in text
    assert "The mean, too." in text and "**Predict.** How much are the two?" in text
    assert "Given here, from [section 1](" in text
    assert "*An hour*: 1 of this lesson's 4 exercises" in text
    assert "Binder" not in text and "30 min" not in text


def test_minutes_are_those_of_writing_and_reading_and_points_those_that_are_left(hour):
    [lesson] = hour.lessons
    found = {section.name: (section.heading, section.minutes) for section in sections(lesson)}
    assert found["2"] == ("2 · Sums · 15 min · 40 points", 15)
    assert "About 15 min · 40 points" in lesson.cells[1].source


def test_what_is_not_there_is_linked_and_what_is_there_is_not(hour, shop):
    [lesson] = hour.lessons
    text = "\n".join(cell.source for cell in lesson.named("text"))
    first, second = f"{URL}/01_shop/01_shop.ipynb", f"{URL}/02_cart/02_cart.ipynb"
    assert f"in [lesson 02]({second}) whole carts" in text
    assert f"What `tax` does, [section 1]({first}) says, and [section 3]({first}) more" in text
    assert f"[`discount`]({first}) is in lessons 01 and [02]({second})." in text
    whole = prepare(shop).lessons[0]
    assert "](http" not in "".join(cell.source for cell in whole.cells[2:])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('compare("two", guess_two', 'compare("two, as in lesson 02", guess_two'),
        ("guesses.compare", "# as in lesson 02\nguesses.compare"),
    ],
)
def test_a_mention_in_code_cannot_be_linked_and_is_refused(tmp_path, old, new):
    lesson = SHOP.replace('print("tax", tax(100))', 'print("tax")')
    lesson = lesson.replace(old, new, 1)
    course = make_shop(tmp_path, lesson=lesson)
    assert prepare(course, track="day").lessons
    with pytest.raises(CourseError, match="cell demo_sums: `lesson 02` is not in this track"):
        prepare(course, track="hour")


def test_guesses_and_the_demos_that_answer_them_come_together(hour, tmp_path):
    assert [c.source for c in hour.lessons[0].cells if "guess" in c.tags] == [
        "guess_two = None  # your guess"
    ]
    moved = SHOP.replace("guess_two, mean(", "guess_cheaper, mean(")
    moved = moved.replace('"cheaper", guess_cheaper, d', '"cheaper", guess_two, d')
    [lesson] = prepare(make_shop(tmp_path, lesson=moved), track="hour").lessons
    cells = [cell.source for cell in lesson.cells]
    at = cells.index("guess_cheaper = None  # your guess")
    assert cells[at - 1] == "**Predict.** By how much?"
    assert not any("guess_two =" in source or "How much are the two" in source for source in cells)


def test_the_task_of_an_essay_goes_with_it(tmp_path):
    shown = TRACKS.replace("summary = false\n", 'show = { 01_shop = ["Reflect"] }\n')
    [lesson] = prepare(make_shop(tmp_path, shown), track="hour").lessons
    text = [cell.source for cell in lesson.named("text")]
    assert "## Reflect · 5 min" in text and "Who pays the tax?" not in text


def test_an_idea_that_the_track_lacks_is_to_be_read_first(tmp_path):
    course = make_shop(tmp_path, TRACKS.replace('["01 §2"]', '["01 §3"]'))
    only = '[track.carts]\ntitle = "C"\ntext = "C."\nhours = 1\nsummary = false\n'
    declare_privately(course, f'{only}show = {{ 02_cart = ["1"] }}\n02_cart = ["cart"]\n')
    first = prepare(course, track="carts").lessons[0].cells[1].source
    assert f"Read first: [lesson 01, section 3]({URL}/01_shop/01_shop.ipynb)." in first


def test_an_essay_stays_where_the_track_has_it(shop):
    plan = prepare(shop, track="day")
    assert [cell.name for cell in plan.taken["01_shop"].lesson.named("manual")] == ["essay_shop"]
    text = "\n".join(cell.source for cell in plan.taken["01_shop"].lesson.named("text"))
    assert "## Reflect · 10 min · " in text  # those of the essay
    assert plan.taken["01_shop"].gone == ("3",)


def test_a_track_that_takes_everything_is_the_whole_lesson(shop):
    plan = prepare(shop)
    for whole in plan.whole:
        taken = plan.taken[whole.name]
        assert not taken.partial and not taken.given and not taken.gone
        assert taken.lesson is whole


# ── the published course ─────────────────────────────────────────────────────────────────────

SHORTER = TRACKS.replace("except = {}", 'except = { 01_shop = ["mean"] }')


@pytest.mark.whole
def test_what_the_default_leaves_out_is_given_and_it_links_to_no_fuller_lesson(
    tmp_path, monkeypatch, capsys
):
    course = make_shop(tmp_path / "course", SHORTER)
    build(course, audit="static")
    release = read_notebook(course.release("01_shop"), "01_shop")
    text = "\n".join(cell.source for cell in release.named("text"))
    assert "This class takes" not in text and "whole lesson" not in text and URL not in text
    [mean] = [cell for cell in release.cells if cell.name == "mean"]
    assert mean.tags == ["given"] and "return sum(prices) / len(prices)" in mean.source
    outline = Outline.read(course.release("01_shop").parent)
    assert (outline.track, outline.given, outline.more) == ("", ("mean",), 0)
    assert check(course, audit="static") == []
    monkeypatch.chdir(course.root)
    assert main(["check", "01"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "Given: mean." in lines and not any("whole lesson" in line for line in lines)
    words = ["build", "--through", "1", "-o", str(tmp_path / "tree"), "--audit", "static"]
    assert main(words) == 0
    assert "A term" not in (tmp_path / "tree/README.md").read_text()


def test_a_shorter_track_counts_what_the_published_lesson_has(tmp_path):
    plan = prepare(make_shop(tmp_path, SHORTER), track="hour")
    assert "*An hour*: 1 of this lesson's 3 exercises" in plan.lessons[0].cells[1].source
    assert plan.taken["01_shop"].more == ("tax", "discount")


# ── the command ──────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def tree(shop, tmp_path_factory):
    """The tree of the track "hour", made with the full audit."""
    output = tmp_path_factory.mktemp("class") / "tree"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(shop.root)
        assert main(["build", "--track", "hour", "-o", str(output)]) == 0
    return output


@pytest.mark.proves
def test_the_tree_holds_the_tracks_lessons_and_no_secret(tree):
    assert {path.name for path in (tree / "release").iterdir()} == {"01_shop", "given.py"}
    page = (tree / "README.md").read_text()
    assert page.startswith("# An hour: 1 hour\n\nAdd up prices.")
    assert "| [01 · A shop](release/01_shop/01_shop.ipynb) | `total` | 15 min |" in page
    text = "".join(path.read_text() for path in (tree / "release").rglob("*") if path.is_file())
    for secret in ("price + tax(price)", "76_804", "31_337", "86_028", "in the end"):
        assert secret not in text
    lesson = "".join(path.read_text() for path in (tree / "release/01_shop").iterdir())
    assert "price / 2" not in lesson
    assert "sum(prices) / len(prices)" in text  # given


def test_lesson_json_says_what_is_given(tree):
    outline = Outline.read(tree / "release/01_shop")
    assert (outline.track, outline.given, outline.more) == ("An hour", ("tax", "mean"), 3)
    assert list(outline.exercises) == ["total"]


def test_the_last_cell_says_what_the_whole_lesson_has_more(tree, monkeypatch, capsys):
    monkeypatch.chdir(tree)
    assert main(["check", "01"]) == 0
    shown = capsys.readouterr().out
    assert "So far 0 of 40 points" in shown and "⬜ total" in shown and "⬜ mean" not in shown
    assert "Track: An hour. Given: tax, mean. The whole lesson has 3 exercises more." in shown


def test_a_list_of_the_tracks(shop, monkeypatch, capsys):
    monkeypatch.chdir(shop.root)
    assert main(["build", "--track"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "hour 1 h 1 lessons 1 exercises 40 points An hour",
        "day 8 h 2 lessons 3 exercises 170 points A day",
        "term 20 h 2 lessons 5 exercises 200 points A term (in use)",
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--track", "hour"], "--track NAME and -o FOLDER go together"),
        (["--track", "hour", "-o", "x", "01"], "--track NAME takes the track's lessons"),
        (["--track", "decade", "-o", "x"], "there is no track 'decade' (there is hour, day, term)"),
        (["--track", "day", "--through", "7", "-o", "x"], "modules/ holds no lesson 7"),
        (["--track", "day", "--check", "-o", "x", "01"], "do not name a lesson"),
    ],
)
def test_what_makes_no_tree_is_refused(shop, monkeypatch, capsys, words, sentence):
    monkeypatch.chdir(shop.root)
    assert main(["build", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert not (shop.root / "x").exists()


def test_through_cuts_a_track_short(shop, tmp_path, monkeypatch):
    monkeypatch.chdir(shop.root)
    words = ["--track", "day", "--through", "1", "-o", str(tmp_path / "tree"), "--audit", "static"]
    assert main(["build", *words]) == 0
    assert [path.name for path in (tmp_path / "tree/release").glob("0*")] == ["01_shop"]


def test_the_courses_own_track_is_what_the_build_makes_and_checks(tmp_path):
    course = make_shop(tmp_path)
    declare_privately(course, 'use = "day"')
    assert build(course, audit="static") == ["01_shop", "02_cart"]
    cells = nbformat.read(course.release("01_shop"), 4).cells
    names = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in cells]
    assert "test_tax" in names and "test_mean" not in names and "colab_setup" in names
    text = (course.release("02_cart").parent / "built.py").read_text()
    assert "def mean" in text and "{'01_shop': ['tax', 'total']}" in text  # mine.py may replace
    assert check(course, audit="static") == []
    declare_privately(course, 'use = "term"')
    assert any("01_shop.ipynb is out of step" in line for line in check(course, audit="static"))
    declare_privately(course, 'use = "hour"')
    with pytest.raises(CourseError, match="the track hour does not have 02_cart"):
        build(course, ["02"])


# ── hand-ins ─────────────────────────────────────────────────────────────────────────────────


def test_whoever_hands_in_the_whole_lesson_earns_the_tracks_points(tmp_path):
    course = make_shop(tmp_path)
    build(course, audit="static")
    handed_in = filled(
        read_notebook(course.release("01_shop"), "01_shop"),
        read_notebook(course.source("01_shop"), "01_shop"),
    )
    declare_privately(course, 'use = "hour"')
    build(course, audit="static")
    source = read_notebook(course.source("01_shop"), "01_shop")
    found = graded(handed_in, source.notebook, course.release("01_shop").parent)
    assert found == ({"test_total": 40.0}, [], [WHOLE])


def test_the_grader_and_its_pages_follow_the_courses_track(tmp_path, monkeypatch, capsys):
    course = make_shop(tmp_path)
    declare_privately(course, 'use = "hour"')
    build(course, audit="static")
    release = read_notebook(course.release("01_shop"), "01_shop")
    notebook = filled(release, prepare(course).whole[0])
    handed_in = course.root / "submitted/ada/01_shop/01_shop.ipynb"
    handed_in.parent.mkdir(parents=True)
    nbformat.write(notebook, handed_in)
    monkeypatch.setenv("PATH", os.environ["PATH"])  # whoever opens a gradebook changes it
    monkeypatch.chdir(course.root)
    assert main(["grade", "01", "--no-sandbox"]) == 0
    assert "40" in capsys.readouterr().out
    assert main(["report", "01"]) == main(["report"]) == 0
    for name, title in {"01_shop": "01_shop, An hour", "term": "An hour"}.items():
        assert f"<h1>{title}: results</h1>" in (course.root / f"reports/{name}.html").read_text()


def test_minutes_are_computed_where_a_table_has_them_and_typed_where_none_has(tmp_path):
    course = make_shop(tmp_path)
    computed = {s.name: s.minutes for s in sections(prepare(course).taken["01_shop"].lesson)}
    assert computed["1"] == 10 and computed["Summary"] is None
    make_shop(tmp_path, lesson=SHOP.replace("## 1 · Taxes", "## 1 · Taxes · 25 min"))
    with pytest.raises(CourseError, match="the heading `1 · Taxes · 25 min` types its minutes"):
        prepare(course)
    (course.root / "modules/tracks.toml").unlink()
    typed = {s.name: s.minutes for s in sections(prepare(course).taken["01_shop"].lesson)}
    assert typed["1"] == 25


# ── a course that changes its track ──────────────────────────────────────────────────────────


@pytest.fixture
def changed_track(tmp_path, monkeypatch):
    """A course built in a track of two lessons that now takes one of a single lesson."""
    course = make_shop(tmp_path)
    build(course, audit="static")
    declare_privately(course, 'use = "hour"')
    monkeypatch.chdir(course.root)
    return course


def test_lessons_of_a_former_track_are_named_and_removed_when_asked_for(changed_track, capsys):
    assert main(["build", "--audit", "static"]) == 0
    assert (
        "note: source/ and release/ have 02_cart, which the track does" in capsys.readouterr().out
    )
    assert main(["build", "--audit", "static", "--remove-former"]) == 0
    assert "source/02_cart and release/02_cart are removed" in capsys.readouterr().out
    assert changed_track.lessons("source") == changed_track.lessons("release") == ["01_shop"]
    assert main(["build", "--audit", "static"]) == 0
    assert "02_cart" not in capsys.readouterr().out


@pytest.mark.parametrize("other", [["--check"], ["--track", "hour", "-o", "x"], ["--sizes"]])
def test_nothing_is_removed_beside_an_option_that_changes_nothing(changed_track, capsys, other):
    assert main(["build", "--remove-former", *other]) == 2
    assert "--remove-former goes with a build of source/ and" in capsys.readouterr().err
    assert changed_track.source("02_cart").exists()


def test_a_former_lesson_that_was_handed_in_stays(changed_track, capsys):
    (changed_track.root / "submitted/anna/02_cart").mkdir(parents=True)
    assert main(["build", "--audit", "static", "--remove-former"]) == 0
    assert "note: 02_cart: there are hand-ins, so these lessons stay" in capsys.readouterr().out
    assert changed_track.source("02_cart").exists()


def test_a_lesson_that_a_track_like_the_courses_own_adds_is_not_former(changed_track, capsys):
    more = '[track.more]\ntitle = "More"\ntext = "Carts."\nhours = 2\nlike = "hour"\n'
    declare_privately(changed_track, f'use = "hour"\n{more}02_cart = ["cart"]\n')
    assert main(["build", "--audit", "static"]) == 0
    assert "the track does not have" not in capsys.readouterr().out
