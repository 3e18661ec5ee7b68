"""`--seed` is a word beside the secret: from a release nobody works out what is hidden."""

import random
import re
from hashlib import sha256

import nbformat
import pytest
from concept_course import CONCEPTS, LESSON, concept_course, questions_in
from linked_course import linked_course
from mini_course import FIRST, SECOND, make_course

from proflab_classroom.questions.exam import make_exam
from proflab_course.build.command import build
from proflab_course.build.draw import drawn
from proflab_course.build.prepare import prepare
from proflab_course.cli import main
from proflab_course.course.concepts import parse_concepts, read_concepts
from proflab_course.course.layout import Course
from proflab_course.course.secret import PLACE, seeded_key

SEED = 4711
LESSONS = ("02_flops", "07_scaling")
OLD = 'expect("a long thin one", area(long_side, 2), 15_838)'
VARIED = '# vary: 9 in 10..9_999, 4 in 10..9_999\nexpect("varied", area(9, 4), 36)'


def shown_order(text, concept):
    """Read off a released question the order of its options, as anybody can."""
    options = re.findall(r"^- \*\*\w\*\* · (.*)$", text.replace(r"\$", "$"), re.MULTILINE)
    letters = {option: letter for letter, option in concept.options.items()}
    return "".join(letters[option] for option in options)


@pytest.fixture(scope="module")
def orders(tmp_path_factory):
    """The questions of two released lessons, each with the order that students see."""
    course = linked_course(tmp_path_factory.mktemp("attacked"))
    plan = prepare(course, LESSONS, seed=SEED)
    found = []
    for name in LESSONS:
        texts = questions_in(plan.taken[name].lesson.notebook)
        there = [each for each in read_concepts(course, name) if each.id in texts]
        found += [(each, shown_order(texts[each.id], each)) for each in there]
    return found


def as_before(number, concept):
    """The order that the build once drew from a seed, and from nothing else."""
    free = [letter for letter in "ABCD" if letter not in concept.fixed]
    random.Random(f"{number} {concept.id}").shuffle(free)
    return "".join([*free, *concept.fixed])


GUESSED = {
    "the seed alone, by Python's generator": as_before,
    "the seed as the key": lambda n, concept: concept.order(f"seed {n}".encode()),
    "its digest as the key": lambda n, concept: concept.order(sha256(b"seed %d" % n).digest()),
}


def attack(orders, guess, numbers):
    """Return the seeds that explain every order that was released."""
    return [n for n in numbers if all(guess(n, concept) == order for concept, order in orders)]


@pytest.mark.proves("a seed is not found from two releases")
@pytest.mark.parametrize("guess", GUESSED)
def test_the_seed_is_not_found_from_the_orders_of_two_released_lessons(orders, guess):
    assert len(orders) >= 6 and len({order for _, order in orders}) > 3
    assert attack(orders, GUESSED[guess], range(SEED - 2_000, SEED + 2_000)) == []


@pytest.mark.soak
@pytest.mark.parametrize("guess", GUESSED)
def test_nor_among_all_numbers_that_an_instructor_would_choose(orders, guess):
    assert attack(orders, GUESSED[guess], range(10**6)) == []


def test_the_attack_finds_a_seed_that_is_the_key():
    concepts = parse_concepts(CONCEPTS.encode(), LESSON)
    for guess in GUESSED.values():
        orders = [(each, guess(SEED, each)) for each in concepts]
        assert SEED in attack(orders, guess, range(SEED - 99, SEED + 99))


def varied_course(root):
    course = make_course(root, {"01_first": FIRST.replace(OLD, VARIED), "02_second": SECOND})
    course.module("01_first").with_name("concepts.toml").write_text(CONCEPTS, encoding="utf-8")
    return course


def hidden_case(course):
    node = nbformat.read(course.source("01_first"), as_version=4)
    return re.search(r'^expect\("varied".*$', "\n".join(c.source for c in node.cells), re.M)[0]


@pytest.mark.whole
def test_by_another_secret_the_same_seed_draws_something_else(tmp_path):
    first, second = (varied_course(tmp_path / name) for name in "ab")
    (first.root / "private").mkdir()
    (first.root / PLACE).write_bytes(bytes(32))
    for course in (first, second):
        build(course, ["01"], "static", seed=SEED)
    assert hidden_case(first) != hidden_case(second)
    once = hidden_case(second)
    build(second, ["01"], "static", seed=SEED)
    assert hidden_case(second) == once
    capstone = linked_course(tmp_path / "c").module("13_faster").parent
    keys = [seeded_key(course.root, "build", SEED) for course in (first, second)]
    assert drawn(capstone, keys[0]).shapes != drawn(capstone, keys[1]).shapes


@pytest.mark.whole
def test_an_examination_shows_nothing_of_a_build_with_its_seed(tmp_path, orders):
    course = linked_course(tmp_path)
    (tmp_path / PLACE).parent.mkdir()
    (tmp_path / PLACE).write_bytes(bytes(32))
    exam = make_exam(course, "02_flops", SEED)
    key = seeded_key(tmp_path, "build", SEED)
    asked = {question.id: question.order for question in exam.questions}
    built = {each.id: each.order(key) for each in read_concepts(course, "02_flops")}
    assert asked.keys() == built.keys() and asked != built
    assert make_exam(course, "02_flops", SEED) == exam
    (tmp_path / PLACE).write_bytes(bytes(31) + b"1")
    other = make_exam(course, "02_flops", SEED)
    assert {call.code for call in other.calls} != {call.code for call in exam.calls}


def test_without_a_seed_a_build_needs_no_secret(tmp_path):
    course = varied_course(tmp_path)
    build(course, audit="static")
    assert not (tmp_path / PLACE).exists()
    assert hidden_case(course) == VARIED.splitlines()[1]


def test_a_check_without_the_secret_is_refused_and_makes_none(tmp_path, monkeypatch, capsys):
    course = varied_course(tmp_path)
    build(course, ["01"], "static", seed=SEED)
    (course.root / PLACE).unlink()
    monkeypatch.chdir(course.root)
    assert main(["build", "01", "--check", "--seed", str(SEED)]) == 2
    assert "private/secret, which is missing: put your copy of it back" in capsys.readouterr().err
    assert not (course.root / PLACE).exists()


def is_permuted(course, seed):
    key = seeded_key(course.root, "build", seed)
    return any(each.order(key) != "ABCD" for each in read_concepts(course, LESSON))


def test_a_class_tree_has_the_options_by_which_its_hand_ins_are_graded(
    tmp_path, monkeypatch, capsys
):
    course = concept_course(tmp_path / "course")
    seed = next(n for n in range(9) if is_permuted(course, n))
    build(course, audit="static", seed=seed)
    monkeypatch.chdir(course.root)
    words = ["build", "--through", "2", "-o", str(tmp_path / "tree"), "--audit", "static"]
    assert main(words) == 2
    assert "01_first: options of its questions stand in another order" in capsys.readouterr().err
    assert not (tmp_path / "tree").exists()
    assert main([*words, "--seed", str(seed)]) == 0
    made, released = (
        nbformat.read(each.release(LESSON), as_version=4)
        for each in (Course(tmp_path / "tree"), course)
    )
    asked = [[c.source for c in each.cells if "- **A** ·" in c.source] for each in (made, released)]
    assert asked[0] == asked[1] != []


def test_a_lesson_that_is_drawn_otherwise_than_before_is_named(tmp_path, monkeypatch, capsys):
    course = concept_course(tmp_path)
    monkeypatch.chdir(course.root)
    said = []
    for words in ([], ["--seed", "1"], ["--seed", "1"], ["--seed", "2"], ["--seed", "3"]):
        assert main(["build", "--audit", "static", *words]) == 0
        said.append("drawn anew" in capsys.readouterr().out)
    assert said[:3] == [False] * 3 and any(said[3:])
