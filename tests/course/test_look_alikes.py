"""Ids that look alike are named, with what tells them apart; others are not."""

import doctest

import pytest

from proflab_course.course import look_alikes
from proflab_course.course.look_alikes import notes_on_look_alikes


@pytest.mark.parametrize(
    "other",
    [
        "\uff41\uff4c\uff49\uff43\uff45",  # full width
        "\u0430lice",  # a Cyrillic a
        "alic\u0435",
        "al\u0456ce",
        "alice\u200b",  # a space of no width
        "alice\u034f",  # a mark that is not seen
        "\u202ealice",  # a sign that turns the direction
        "Alice",
    ],
)
def test_two_ids_that_look_alike_are_named(other):
    [note] = notes_on_look_alikes(["bo", "alice", other, "alice2"])
    assert "look alike: see whether they are two students" in note
    assert (
        note.isascii()
        and "alice" in note
        and other.encode("ascii", "backslashreplace").decode() in note
    )


def test_ids_that_differ_are_not_named():
    ids = ["s1", "s2", "muller", "müller", "王小明", "王小红", "ann lee", "ann-lee", "siobhán"]
    assert notes_on_look_alikes(ids) == []


def test_only_groups_with_the_students_asked_about_are_named():
    ids = ["alice", "\u0430lice", "bob", "b\u043eb"]
    assert len(notes_on_look_alikes(ids)) == 2
    [note] = notes_on_look_alikes(ids, among=["bob"])
    assert note.startswith("b\\u043eb and bob") or note.startswith("bob and b\\u043eb")


def test_the_example_holds():
    assert doctest.testmod(look_alikes).failed == 0
