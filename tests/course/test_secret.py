"""The course's secret and what is drawn from it."""

import os
import stat

import pytest

from proflab_course.course.layout import CourseError
from proflab_course.course.secret import course_secret, digest, draw, shuffled


def test_the_secret_is_made_once_and_is_its_owners(tmp_path):
    first = course_secret(tmp_path)
    assert len(first) == 32
    assert course_secret(tmp_path) == first
    assert os.listdir(tmp_path / "private") == ["secret"]
    assert stat.S_IMODE((tmp_path / "private/secret").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o700


def test_two_courses_have_two_secrets(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    assert course_secret(tmp_path / "a") != course_secret(tmp_path / "b")


def test_a_cut_secret_is_refused_without_a_byte_of_it(tmp_path):
    (tmp_path / "private").mkdir()
    (tmp_path / "private/secret").write_bytes(b"hunter2")
    with pytest.raises(CourseError, match="7 bytes in place of 32") as refused:
        course_secret(tmp_path)
    assert "hunter2" not in str(refused.value)


def test_draws_are_these_on_every_machine():
    secret = bytes(32)
    # The first 16 bytes of hmac.new(bytes(32), b"ada" + bytes(1) + b"02", "sha256").digest()
    value = 0x9E312370892AF0C7A8A1713D5965FDEF
    assert draw(secret, "ada", "02", low=0, high=2**128 - 1) == value
    assert draw(secret, "ada", "02", low=5, high=9) == 5 + value % 5


def test_words_are_kept_apart():
    assert draw(bytes(32), "ab", "c", low=0, high=2**64) != draw(
        bytes(32), "a", "bc", low=0, high=2**64
    )
    with pytest.raises(ValueError, match="NUL"):
        draw(bytes(32), "a\0b", low=0, high=1)


def test_every_number_of_a_range_is_drawn():
    drawn = {draw(bytes(32), str(k), low=3, high=6) for k in range(100)}
    assert drawn == {3, 4, 5, 6}


def test_an_order_has_all_items_and_depends_on_the_words():
    orders = {tuple(shuffled(bytes(32), str(k), items="abc")) for k in range(100)}
    assert len(orders) == 6
    assert all(sorted(order) == ["a", "b", "c"] for order in orders)


def test_the_digest_tells_secrets_apart():
    assert digest(bytes(32)) != digest(bytes(31) + b"\1")
