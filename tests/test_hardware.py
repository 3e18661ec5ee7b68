"""The description of a machine, as lessons read it."""

import json
import math

import pytest

from proflab.lesson.hardware import Hardware, read_hardware


def test_a_machine_is_read_by_its_name(tmp_path):
    path = tmp_path / "machines.json"
    entry = {"peak_flops": 3e14, "bandwidth": 2e12, "source": "data sheet"}
    path.write_text(json.dumps({"A": entry}))
    assert read_hardware(path, "A") == Hardware(3e14, 2e12, "A", "data sheet")
    with pytest.raises(ValueError, match="does not describe 'B'"):
        read_hardware(path, "B")
    with pytest.raises(ValueError, match="nowhere.json cannot be read"):
        read_hardware(tmp_path / "nowhere.json", "A")
    path.write_text("{")
    with pytest.raises(ValueError, match="cannot be read as JSON"):
        read_hardware(path, "A")
    path.write_text(json.dumps({"A": {"peak_flops": 1}}))
    with pytest.raises(ValueError, match="'bandwidth' is missing"):
        read_hardware(path, "A")


@pytest.mark.parametrize("roofs", [(0, 1), (1, -1), (math.inf, 1), (1, math.nan)])
def test_roofs_are_positive_and_finite(roofs):
    with pytest.raises(ValueError, match="must be positive and finite"):
        Hardware(*roofs)
