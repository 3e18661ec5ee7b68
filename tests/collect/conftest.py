"""A course in which nothing is handed in yet, for the tests of `proflab collect`."""

import pytest
from grading_course import copy_course


@pytest.fixture
def course(tmp_path, monkeypatch):
    place = tmp_path / "course"
    place.mkdir()
    copy_course(place, [])
    monkeypatch.chdir(place)
    return place
