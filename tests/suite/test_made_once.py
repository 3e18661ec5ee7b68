"""What several tests look at is made once, however many ask for it at the same time."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from made_once import made_once


def test_who_asks_at_the_same_time_sees_one_and_the_same(tmp_path):
    made = []

    def make(place):
        made.append(place)
        (place / "thing").write_text("whole")

    def look(_):
        return (made_once(tmp_path, "course", make) / "thing").read_text()

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(look, range(8))] == ["whole"] * 8
    assert made == [tmp_path / "course"]


def test_what_could_not_be_made_is_tried_anew(tmp_path):
    def fail(place):
        (place / "half").write_text("half")
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        made_once(tmp_path, "course", fail)
    place = made_once(tmp_path, "course", lambda place: (place / "thing").touch())
    assert [path.name for path in place.iterdir()] == ["thing"]
