"""A track is an edition: what rests on exercises goes with them, and nothing names what is cut."""

import re
from pathlib import Path

import pytest
from chosen import chosen
from cohort.run import ROOT
from mini_course import FIRST, SECOND, exercise, given, graded, make_course, markdown
from shop_course import SHOP, TRACKS, make_shop

from proflab_course.build.class_tree import class_tree, track_page, write_pages
from proflab_course.build.edition import edition_mistakes
from proflab_course.build.prepare import prepare
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import Lesson
from proflab_course.course.passages import KEY, in_whole, resolve
from proflab_course.course.prose import join_sentences, split_sentences
from proflab_course.tracks.read import Tracks

SHORT = ("evening", "week", "weeks3", "weeks3-serving")


# ── one line ─────────────────────────────────────────────────────────────────────────────────

TEXT = """\
Always.
You draw it. <!-- with draw -->
Lesson 04 is next. <!-- with lesson 04 -->
Lesson 05 is next. <!-- with lesson 05, without lesson 04 -->

<!-- with section 2 -->
One.
Two.

| a | b |
|---|---|
| c | d | <!-- without draw -->

<!-- with section 2 -->
## Two

```
# no heading

```

### Two and a half

## Three"""


TABLE = "| a | b | |---|---|"


@pytest.mark.parametrize(
    ("there", "kept"),
    [
        ((), f"Always. {TABLE} | c | d | ## Three"),
        (("draw", "lesson 05"), f"Always. You draw it. Lesson 05 is next. {TABLE} ## Three"),
        (("lesson 04", "lesson 05"), f"Always. Lesson 04 is next. {TABLE} | c | d | ## Three"),
    ],
)
def test_a_line_stays_where_all_is_there_that_it_rests_on(there, kept):
    assert " ".join(resolve(TEXT, there.__contains__).split()) == kept


def test_the_whole_lesson_has_every_line_and_no_comment():
    whole = in_whole(TEXT)
    assert "<!--" not in whole and "Lesson 05" not in whole
    assert "One.\nTwo." in whole and "# no heading" in whole and "### Two and a half" in whole


# ── a lesson that does not say so ────────────────────────────────────────────────────────────

LIMITED = f"limits = true\n{TRACKS}".replace("summary = false\n", "")
COVER = "# 01 · A shop\n#\n# Prices, and in lesson 02 whole carts."
PLAIN = "# 01 · A shop\n#\n# Prices."
SUMMARY = "# Prices have taxes and discounts."
FOLLOWS = "# **Next.** Lesson 02 has carts. <!-- with lesson 02 -->"
MENTIONS = (
    "# What `tax` does, section 1 says, and section 3 more; `discount` is in lessons 01 and 02."
)


def mistakes(root: Path, *changes: tuple[str, str]) -> list[str]:
    """Return what is said of lesson 01 after changes to a text in which nothing is promised."""
    lesson = SHOP.replace(COVER, PLAIN).replace(MENTIONS, "# Sums.")
    lesson = lesson.replace(SUMMARY, f"{SUMMARY}\n#\n{FOLLOWS}")
    for old, new in changes:
        assert lesson.count(old) == 1, old
        lesson = lesson.replace(old, new)
    course = make_shop(root, LIMITED, lesson)
    return [each for each in edition_mistakes(course, ["01_shop"]) if "01_shop" in each]


def test_nothing_is_said_of_a_lesson_that_promises_nothing(tmp_path):
    assert mistakes(tmp_path) == []


PROMISES = {
    "'In this lesson you add discounts.' promises something": (
        PLAIN,
        f"{PLAIN}\n#\n# In this lesson you add discounts.",
    ),
    "'![A shop](shop.png)' promises something": (PLAIN, f"{PLAIN}\n#\n# ![A shop](shop.png)"),
    "'- Discounts are taken off.' is a line of the summary": (
        SUMMARY,
        "# - Discounts are taken off.",
    ),
    "'| dear | discount |' is a line of the summary": (
        SUMMARY,
        "# | what | why |\n# |---|---|\n# | dear | discount |",
    ),
    "in the track hour, it names 'section 3', which is not there": (SUMMARY, "# As in section 3."),
    "in the track hour, it names '`discount`', which is not there": (SUMMARY, "# See `discount`."),
    "in the track hour, it names 'lesson 02', which is not there": (SUMMARY, "# See lesson 02."),
    "in the track hour, it names 'demo_cheaper', which is not there": (
        SUMMARY,
        "# Look at `demo_cheaper`.",
    ),
    "in the track day, it has an optional passage without its exercise": (
        SUMMARY,
        "# **Optional: by weight.** What does a kilogram cost?",
    ),
    "a line of it rests on 'lesson 02 tax'; lesson 02 has no such exercise": (
        SUMMARY,
        f"{SUMMARY} <!-- with lesson 02 tax -->",
    ),
    "in the track day, it has no **Next.** for lesson 02, which is next": (FOLLOWS, "# Well done."),
    "in the track day, Next does not name lesson 02, which is next": (
        FOLLOWS,
        "# **Next.** You are done.",
    ),
    "in the track hour, it ends without anything of the student's own": (
        "mean([total([4]), total([8])])",
        "6.0",
    ),
}


@pytest.mark.parametrize("sentence", PROMISES)
def test_a_promise_that_does_not_say_what_it_rests_on_is_refused(tmp_path, sentence):
    told = mistakes(tmp_path, PROMISES[sentence])
    assert any(sentence in each and "modules/01_shop" in each for each in told), told
    assert all("\n" not in each for each in told)


@pytest.mark.parametrize(
    "change",
    [
        (PLAIN, f"{PLAIN}\n#\n# In this lesson you take discounts off. <!-- with discount -->"),
        (SUMMARY, "# - Discounts are in section 3. <!-- with section 3 -->"),
        (FOLLOWS, "# **Next.** Lesson 02 has wagons. <!-- with lesson 02 -->"),
        ("# Sums.", "# Carts hold them. <!-- with lesson 02 cart -->"),
        (SUMMARY, "# Look at `demo_cheaper`. <!-- with demo_cheaper -->"),
    ],
)
def test_a_promise_that_says_so_is_kept_and_goes_where_it_must(tmp_path, change):
    assert mistakes(tmp_path, change) == []
    said = change[1].removeprefix(PLAIN).strip("# \n").partition(" <!--")[0]
    for track, there in (("hour", False), ("term", True)):
        text = text_of(tmp_path, track)
        assert (said in text) is there and "<!--" not in text, track


def taken_of(root: Path, track: str) -> Lesson:
    return prepare(Course(root), track=track).taken["01_shop"].lesson


def text_of(root: Path, track: str) -> str:
    return "\n".join(cell.source for cell in taken_of(root, track).cells)


def test_a_line_that_rests_on_nothing_that_there_is_is_refused(tmp_path):
    course = make_shop(tmp_path, lesson=SHOP.replace(SUMMARY, f"{SUMMARY} <!-- with discout -->"))
    with pytest.raises(CourseError, match="rests on 'discout', which the lesson does not have"):
        prepare(course)


@pytest.mark.parametrize("begins", ["**Optional.** Whole prices.", "**Optional: whole prices.**"])
def test_an_optional_exercise_takes_its_passage_and_its_demo_along(tmp_path, begins):
    rounded = [
        markdown(begins),
        exercise(
            'def whole(price):\n    """Return it rounded."""\n'
            "    ### BEGIN SOLUTION\n    return round(price)\n    ### END SOLUTION\n",
            "whole",
        ),
        graded('expect("a half", whole(1.25), 1)', "test_whole", 0),
        given('print("whole", whole(3.75))', "demo_whole", ("demo",)),
    ]
    three = markdown("## 3 · Discounts\n\nEverything is cheaper.\n\n**Predict.** By how much?")
    assert SHOP.count(three) == 1
    lesson = SHOP.replace(three, "\n".join([*rounded, three]))
    minutes = LIMITED.replace("mean = 5\n", "mean = 5\nwhole = 5\n", 1)
    course = make_shop(tmp_path, minutes, lesson)
    short, whole = (
        {cell.name for cell in taken_of(course.root, track).cells} for track in ("hour", "term")
    )
    assert not {"whole", "demo_whole"} & short and "demo_sums" in short
    assert {"whole", "demo_whole"} <= whole
    assert begins not in text_of(course.root, "hour") and begins in text_of(course.root, "term")


def test_given_code_that_nothing_uses_is_not_shown(tmp_path):
    shown = LIMITED.replace("01_shop =", 'show = { 01_shop = ["3"] }\n01_shop =', 1)
    used = make_shop(tmp_path / "used", shown)
    cheaper = given(
        'guesses.compare("cheaper", guess_cheaper, discount(10))', "demo_cheaper", ("demo",)
    )
    assert cheaper in SHOP
    idle = make_shop(tmp_path / "idle", shown, SHOP.replace(cheaper, ""))
    for course, track, there in (
        (used, "hour", True),
        (idle, "hour", False),
        (idle, "term", True),
    ):
        names = {cell.name for cell in taken_of(course.root, track).cells}
        assert ("discount" in names) is there, (course.root, track)


def test_a_section_beside_a_marked_line_has_its_paragraphs_on_one_line(tmp_path):
    lesson = SHOP.replace("at the end of section 1.", "at the end. <!-- with tax -->")
    lesson = lesson.replace(MENTIONS, "# First.\n# Second.")
    assert "<!--" in lesson and "Second." in lesson
    make_shop(tmp_path, lesson=lesson)
    assert "First. Second." in text_of(tmp_path, "hour")


def test_a_picture_goes_with_the_cell_that_shows_it(tmp_path):
    shown = "Everything is cheaper.\n#\n# ![Prices, struck out.](cheaper.png)"
    course = make_shop(tmp_path, lesson=SHOP.replace("Everything is cheaper.", shown))
    course.module("01_shop").with_name("cheaper.png").write_bytes(b"a picture")
    for track, there in (("hour", False), ("term", True)):
        class_tree(course, None, tmp_path / track, "static", track)
        assert (tmp_path / track / "release/01_shop/cheaper.png").exists() is there, track


def test_a_course_without_tracks_has_every_line_and_no_comment(tmp_path):
    first = f"{FIRST}\n\n{markdown('Read on. <!-- with lesson 02 -->')}"
    course = make_course(tmp_path, {"01_first": first, "02_second": SECOND})
    last = prepare(course).taken["01_first"].lesson.cells[-3]
    assert last.source == "Read on." and KEY not in last.node.metadata


# ── the course's own tracks ──────────────────────────────────────────────────────────────────


@pytest.mark.whole
def test_the_default_track_keeps_every_line_of_the_lessons_that_it_has():
    plan = prepare(Course(ROOT))
    for lesson in plan.whole:
        if lesson.name not in plan.taken or not plan.taken[lesson.name].partial:
            continue
        taken = "\n".join(cell.source for cell in plan.taken[lesson.name].lesson.named("text"))
        there = set(split_sentences(taken).split("\n"))
        for cell in (each for each in lesson.named("text") if KEY in each.node.metadata):
            lines = {line for line in split_sentences(cell.source).split("\n") if line[:1] in "-|!"}
            assert lines <= there, (cell.where, lines - there)


@pytest.fixture(scope="module", params=chosen(SHORT, {"evening"}))
def plan(request):
    return prepare(Course(ROOT), track=request.param)


@pytest.mark.whole
def test_the_roofline_of_each_track_that_has_its_lesson_is_drawn(plan):
    if (taken := plan.taken.get("06_roofline")) is None:
        assert plan.track.name == "evening"
        return
    names = [cell.name for cell in taken.lesson.cells]
    assert names.index("measure_bandwidth") < names.index("demo_gpt2")
    assert "you draw this picture" in taken.lesson.cells[0].source


@pytest.mark.proves
def test_a_cover_shows_a_picture_only_where_the_lesson_says_that_it_is_drawn(plan):
    for name, taken in plan.taken.items():
        cover = taken.lesson.cells[0].source
        if re.search(r"\b(picture above|this picture|opening picture)\b", cover):
            assert "](" in cover and ".png)" in cover, name


def test_every_paragraph_of_a_track_is_on_one_line(plan):
    for taken in plan.taken.values():
        for cell in taken.lesson.named("text"):
            assert join_sentences(cell.source) == cell.source, cell.where


def test_the_minutes_of_a_lesson_are_those_of_its_headings(plan):
    for name, taken in plan.taken.items():
        text = "\n".join(cell.source for cell in taken.lesson.named("text"))
        minutes = sum(int(each) for each in re.findall(r"^## .*· (\d+) min", text, re.MULTILINE))
        hours, rest = re.search(r"\*\*Time\.\*\* About (?:(\d+) h)? ?(?:(\d+) min)?", text).groups()
        assert 60 * int(hours or 0) + int(rest or 0) == minutes, name


def test_what_rests_on_an_exercise_of_another_lesson_goes_with_it(plan):
    if (taken := plan.taken.get("09_optimization")) is None:
        return
    text = "\n".join(cell.source for cell in taken.lesson.named("text"))
    is_written = "amdahl" in plan.track.exercises["06_roofline"]
    assert ("Amdahl's law (lesson 06) says" in text) is is_written
    assert ("this is *Amdahl's law*" in text) is not is_written


# ── pages of a class's tree ──────────────────────────────────────────────────────────────────


def test_pages_of_a_tree_link_and_name_what_the_tree_has(plan, tmp_path):
    names = list(plan.taken)
    for name in names:
        (tmp_path / f"release/{name}").mkdir(parents=True)
        (tmp_path / f"release/{name}/{name}.ipynb").write_text("{}")
    (tmp_path / "docs").mkdir()
    for page in ("README.md", "docs/students.md"):
        (tmp_path / page).write_text((ROOT / "docs/students.md").read_text("utf-8"), "utf-8")
    write_pages(plan, names, tmp_path)
    numbers = {name[:2] for name in names}
    for page in (tmp_path / "README.md", tmp_path / "docs/students.md"):
        text = page.read_text("utf-8")
        for target in re.findall(r"\]\(([^)#\s]+)", text):
            assert target.startswith("https://") or (page.parent / target).exists(), target
        assert set(re.findall(r"[Ll]esson (\d\d)", text)) <= numbers
        for where in ("Open in the browser", "Open on Binder", "Open in Colab", "<!--"):
            assert where not in text, (page.name, where)


@pytest.mark.whole
def test_a_page_of_a_whole_tree_keeps_its_links(tmp_path):
    plan = prepare(Course(ROOT))
    names = [name for name in plan.taken if name < "08"]
    (tmp_path / "README.md").write_text((ROOT / "docs/students.md").read_text("utf-8"), "utf-8")
    write_pages(plan, names, tmp_path)
    text = (tmp_path / "README.md").read_text("utf-8")
    assert "Open in the browser" in text and "With lesson 07 in it" in text
    assert "Compare two programs" not in text and "python my_profiler.py compare" not in text


def test_a_page_that_rests_on_something_else_is_refused(tmp_path):
    (tmp_path / "README.md").write_text("Run it. <!-- with torch -->")
    with pytest.raises(CourseError, match="README.md: lines of this page rest on `links`"):
        write_pages(prepare(Course(ROOT), track="evening"), ["01_parameters"], tmp_path)


@pytest.mark.whole
def test_each_track_says_what_it_is():
    tracks = Tracks.read(ROOT)
    for name in SHORT:
        track = tracks.track(name)
        page = track_page(track, prepare(Course(ROOT), track=name), track.lessons)
        assert page.count("release/") == len(track.lessons)
