"""The file of tracks: what it may say, and what is wrong in it as one sentence."""

import shutil

import pytest
from mini_course import make_course
from shop_course import TRACKS, declare_privately, make_shop

from proflab_course.build.prepare import prepare
from proflab_course.cli import main
from proflab_course.course.layout import CourseError
from proflab_course.tracks.read import Tracks

URL = "https://github.com/someone/mini-course/blob/v0.3.0/release"


WRONG = {
    "modules/tracks.toml is not TOML (": ("[track.hour]", "[track.hour"),
    "modules/tracks.toml has an entry 'trakc'; it may have lesson, limits, self_study, track": (
        "[track.term]",
        "[trakc.term]",
    ),
    "track hour has an entry 'hour'; it may have ": ("hours = 1\n", "hour = 1\n"),
    "track hour: hours must be a number, 0 or more, not '1'": ("hours = 1\n", 'hours = "1"\n'),
    "hours must be a number, 0 or more, not -5": ("hours = 1\n", "hours = -5\n"),
    "hours must be a number, 0 or more, not nan": ("hours = 1\n", "hours = nan\n"),
    "hours must be a number, 0 or more, not True": ("hours = 1\n", "hours = true\n"),
    "track hour: summary must be true or false, not 'no'": (
        "summary = false\n",
        'summary = "no"\n',
    ),
    "track day: essays must be a list of names in quotes, not [['01']]": (
        'essays = ["01_shop"]',
        'essays = [["01"]]',
    ),
    "track day: there is no lesson 99 (there is 01_shop, 02_cart)": (
        'essays = ["01_shop"]',
        'essays = ["99"]',
    ),
    'track hour: weight must be one of "points", "minutes", not \'words\'': (
        "hours = 1\n",
        'hours = 1\nweight = "words"\n',
    ),
    "track hour: title is missing: give it a text in quotes": ('title = "An hour"\n', ""),
    "track hour: 01_shop has no exercise sum (there is tax, total, mean, discount)": (
        '["total"]',
        '["sum"]',
    ),
    "track day: there is no lesson 03_cart (there is 01_shop, 02_cart)": (
        '02_cart = ["cart"]',
        '03_cart = ["cart"]',
    ),
    "track hour: 01_shop must be a list of names in quotes": ('["total"]', '"total"'),
    "track term: a track lists exercises by lesson or what it leaves out": ("except = {}\n", ""),
    "track hour has total, and day below it has not": ('["tax", "total"]', '["tax", "mean"]'),
    "track day: no exercise of 02_cart is in it, so it shows none of it": (
        '02_cart = ["cart"]',
        'show = { 02_cart = ["1"] }',
    ),
    "track hour: plan names each of its lessons once, in order (01), as in plan = ": (
        "hours = 1\n",
        'hours = 1\nplan = { "Day 1" = ["02"] }\n',
    ),
    "lesson 02_cart: it needs '02'; write an earlier lesson": ('["01 §2"]', '["02"]'),
    "lesson 01_shop: minutes.tax must be whole minutes, not 1.5": ("tax = 10", "tax = 1.5"),
    "lesson 02_cart: needs must be a list of texts": ('needs = ["01 §2"]', 'needs = "01"'),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_what_is_wrong_in_the_file_is_one_sentence(tmp_path, sentence):
    old, new = WRONG[sentence]
    assert old in TRACKS
    course = make_shop(tmp_path, TRACKS.replace(old, new, 1))
    with pytest.raises(CourseError) as error:
        Tracks.read(course.root)
    assert sentence in str(error.value) and "\n" not in str(error.value)


AWRY = {
    "gives no minutes for mean, an exercise of 01_shop": ("mean = 5\n", ""),
    "gives minutes for price, which 01_shop does not have": ("mean = 5\n", "mean = 5\nprice = 5\n"),
    "lists the exercises of 01_shop in another order": (
        "tax = 10\ntotal = 15\n",
        "total = 15\ntax = 10\n",
    ),
    "track hour: 01_shop has no section '7' to show": (
        "summary = false\n",
        'show = { 01_shop = ["7"] }\n',
    ),
    "track day: 02_cart has no essay": ('essays = ["01_shop"]', 'essays = ["02_cart"]'),
}


@pytest.mark.parametrize("sentence", AWRY)
def test_where_file_and_lessons_part_the_build_says_so(tmp_path, sentence):
    old, new = AWRY[sentence]
    assert old in TRACKS
    course = make_shop(tmp_path, TRACKS.replace(old, new, 1))
    with pytest.raises(CourseError) as error:
        prepare(course)
    assert sentence in str(error.value)


def test_a_lesson_that_the_course_no_longer_has_is_no_mistake(tmp_path, monkeypatch, capsys):
    course = make_shop(tmp_path)
    shutil.rmtree(course.module("02_cart").parent)
    assert prepare(course, track="day").wanted == ["01_shop"]
    monkeypatch.chdir(course.root)
    assert main(["build", "--track"]) == 0
    assert "1 lessons    2 exercises" in capsys.readouterr().out


def test_a_lesson_without_minutes_is_whole_in_the_longest_track(tmp_path, monkeypatch, capsys):
    day, cart = TRACKS.index("[track.day]"), TRACKS.index("[lesson.02_cart]")
    listed = TRACKS[:day] + TRACKS[TRACKS.index("[track.term]") : cart]
    course = make_shop(tmp_path, listed)
    plan = prepare(course)
    assert plan.wanted == ["01_shop", "02_cart"] and not plan.taken["02_cart"].partial
    assert prepare(course, track="hour").wanted == ["01_shop"]
    monkeypatch.chdir(course.root)
    assert main(["build", "--track"]) == 0
    assert "2 lessons    5 exercises    200 points" in capsys.readouterr().out


def test_a_private_track_stands_over_a_public_one_and_need_not_nest(tmp_path):
    course = make_shop(tmp_path)
    own = '[track.hour]\ntitle = "Ours"\ntext = "Means."\nhours = 1\n01_shop = ["mean"]\n'
    declare_privately(course, f'use = "hour"\n\n{own}')
    track = Tracks.read(course.root).track()
    assert (track.title, track.exercises) == ("Ours", {"01_shop": ("mean",)})
    declare_privately(course, 'use = "decade"')
    with pytest.raises(CourseError, match="private/tracks.toml declares no track 'decade'"):
        Tracks.read(course.root)
    declare_privately(course, 'use = ["hour"]')
    said = r"private/tracks.toml: use must be a text in quotes, not \['hour'\]"
    with pytest.raises(CourseError, match=said):
        Tracks.read(course.root)


def test_a_file_that_an_editor_saved_with_a_byte_order_mark_is_read(tmp_path):
    course = make_shop(tmp_path)
    declare_privately(course, '\ufeffuse = "hour"')
    assert Tracks.read(course.root).track().name == "hour"


def test_an_essay_is_named_by_its_lessons_number_too(tmp_path):
    course = make_shop(tmp_path, TRACKS.replace('essays = ["01_shop"]', 'essays = ["01"]'))
    assert Tracks.read(course.root).track("day").essays == {"01_shop"}


def test_a_track_made_from_another_adds_exercises_and_may_leave_a_lesson_out(tmp_path):
    course = make_shop(tmp_path)
    made = '[track.carts]\ntitle = "Carts"\ntext = "Carts alone."\nhours = 1\nlike = "day"\n'
    declare_privately(course, f"{made}01_shop = []\n")
    track = Tracks.read(course.root).track("carts")
    assert (track.lessons, track.essays) == (["02_cart"], frozenset())
    assert list(prepare(course, track="carts").taken) == ["02_cart"]
    declare_privately(course, f'{made}01_shop = ["mean"]\nplan = {{ Day = ["01", "02"] }}\n')
    track = Tracks.read(course.root).track("carts")
    assert track.exercises["01_shop"] == ("tax", "total", "mean") and track.essays == {"01_shop"}


def test_a_course_may_declare_no_tracks(tmp_path, monkeypatch, capsys):
    course = make_course(tmp_path)
    assert Tracks.read(course.root) is None
    monkeypatch.chdir(course.root)
    assert main(["build", "--track", "week", "-o", str(tmp_path / "tree")]) == 2
    assert "the course declares no tracks in modules/tracks.toml" in capsys.readouterr().err
    declare_privately(course, 'use = "term"')
    with pytest.raises(CourseError, match="private/tracks.toml needs modules/tracks.toml"):
        Tracks.read(course.root)
