"""What lesson 08's demo cells run: the classifier as it ships, its versions, sensors."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from cohort.run import ROOT, solved
from lesson_demos import demos_of, module_at

from proflab.lesson.digits import DATA, accuracy


@pytest.fixture(scope="module")
def demos():
    return demos_of("08_benchmarking")


@pytest.fixture(scope="module")
def digits(demos):
    return demos.load_digits()


@pytest.fixture(scope="module")
def versions(demos, digits):
    return demos.versions(digits, solved("lesson_08").scope["quantize"])


def script():
    """The script that trained the classifier, as a module."""
    return module_at(ROOT / "docs" / "digits" / "train.py")


def test_the_shipped_images_are_those_that_the_script_does_not_train_on(digits):
    train_images, images, train_labels, labels = script().split()
    assert np.array_equal(digits.images * 16, images) and np.array_equal(digits.labels, labels)
    seen = {image.tobytes() for image in train_images}
    assert len(seen & {image.tobytes() for image in images}) <= 1
    assert len(train_labels) + len(labels) == 1797


def test_the_shipped_classifier_is_as_good_as_the_lesson_says(digits):
    assert sum(array.size for array in [*digits.weights, *digits.biases]) == 17_226
    assert accuracy(digits, digits.weights) == pytest.approx(354 / 360)
    assert DATA.stat().st_size < 80_000


def test_the_script_trains_a_classifier(monkeypatch):
    """With fewer passes than the shipped one got, and the same data."""
    train = script()
    monkeypatch.setattr(train, "EPOCHS", 3)
    train_images, images, train_labels, labels = train.split()
    model = train.train(train_images, train_labels)
    assert train.accuracy(model, images, labels) > 0.85


def test_every_version_names_nearly_all_images(versions, digits):
    right = {
        name: float(np.mean(version.classify(digits.images) == digits.labels))
        for name, version in versions.items()
    }
    assert list(right) == ["baseline", "quantized", "pruned", "cached"]
    assert right["cached"] == right["baseline"] and min(right.values()) > 0.96
    assert versions["quantized"].bytes < versions["baseline"].bytes / 3
    assert versions["pruned"].bytes == versions["baseline"].bytes < versions["cached"].bytes


def test_the_quantized_version_multiplies_integers(demos, digits):
    asked = []

    def spy(weights, axis=None):
        asked.append(axis)
        return solved("lesson_08").scope["quantize"](weights, axis)

    demos.versions(digits, spy)["quantized"].classify(digits.images[:2])
    assert asked == [1, 1, 1, None, None, None]  # three weights, and the inputs of three layers


def test_pruning_keeps_the_larger_half(demos):
    weight = np.array([[1.0, -4.0], [-2.0, 3.0]])
    assert demos.prune(weight, 0.5).tolist() == [[0, -4], [0, 3]]


def test_the_cache_computes_an_image_once(demos, digits, monkeypatch):
    computed = []
    honest = demos.classify

    def spy(images, *rest):
        computed.append(len(images))
        return honest(images, *rest)

    monkeypatch.setattr(demos, "classify", spy)
    cache: dict = {}
    for images in (digits.images[:3], digits.images[:5]):
        expected = honest(images, digits.weights, digits.biases)
        assert np.array_equal(demos.look_up(images, digits, cache), expected)
    assert computed == [3, 2]


def test_calls_are_counted_and_timed(demos):
    calls = []
    times = demos.time_calls(calls.append, 7, count=4)
    assert calls == [7] * 5 and len(times) == 4 and min(times) >= 0


# ── power ────────────────────────────────────────────────────────────────────────────────────


def test_without_a_sensor_it_says_so(demos, monkeypatch):
    monkeypatch.setattr(demos, "find_sensor", lambda: None)
    record = demos.watch_power(lambda: None, 0.1)
    assert record.samples == [] and "nothing was measured" in record.source


def test_a_sensor_is_read_while_the_work_runs(demos, monkeypatch):
    monkeypatch.setattr(demos, "find_sensor", lambda: ("a sensor", lambda: 40.0))
    record = demos.watch_power(lambda: time.sleep(0.01), 0.6)
    assert record.source == "Power by a sensor" and record.idle_watts == 40.0
    seconds = [second for second, _ in record.samples]
    assert record.calls > 0 and seconds == sorted(set(seconds)) and len(seconds) >= 2


def test_rapl_gives_power_from_its_counter_also_when_it_begins_anew(demos, tmp_path, monkeypatch):
    counter, now = tmp_path / "energy_uj", [0.0]
    (tmp_path / "max_energy_range_uj").write_text("10000000")
    counter.write_text("1000000")
    monkeypatch.setattr(demos.time, "perf_counter", lambda: now[0])
    _, read = demos._find_rapl(str(counter))
    readings = [(2.0, 5_000_000, 2.0), (3.0, 9_000_000, 4.0), (4.0, 2_000_000, 3.0)]
    for second, energy, watts in readings:
        now[0] = second
        counter.write_text(str(energy))
        assert read() == pytest.approx(watts)


def test_no_sensor_is_no_error(demos, monkeypatch):
    monkeypatch.setattr(demos, "_find_rapl", lambda: open("/no/such/counter"))
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert demos.find_sensor() is None


# ── results of several days ──────────────────────────────────────────────────────────────────


def test_a_result_carries_its_environment_and_comes_back_on_another_day(
    demos, tmp_path, monkeypatch
):
    monkeypatch.chdir(ROOT / "modules" / "08_benchmarking")
    monkeypatch.delenv("PROFLAB_DEMO", raising=False)
    kept = tmp_path / "kept" / "days.jsonl"
    first, second = demos.days(8, 6, kept), demos.days(8, 6, kept)
    assert [each["when"] for each in second[: len(first)]] == [each["when"] for each in first]
    assert len(second) == len(first) + 1 and len(kept.read_text("utf-8").splitlines()) == 2
    environment = second[-1]["environment"]
    assert environment["seed"] == 8 and environment["threads"] == 1
    assert environment["versions"]["numpy"] == np.__version__
    assert {len(each["times"]) for each in second} == {6} and min(second[-1]["times"]) > 0


def test_recorded_days_are_compared_only_within_one_environment(demos, monkeypatch):
    monkeypatch.chdir(ROOT / "modules" / "08_benchmarking")
    days = json.loads(Path("days.json").read_text("utf-8"))
    compare = solved("lesson_08").scope["compare_results"]
    found = [compare(a, b, 0.05) for a, b in zip(days, days[1:], strict=False)]
    verdicts = [each["verdict"] for each in found]
    assert verdicts == ["not compared", "slower", "faster", "not compared"]
    assert found[0]["differs"] == ["machine", "threads", "seed", "versions"]  # nobody noted them
    assert found[-1]["differs"] == ["versions"]
    assert all(each["doubtful"] == ["governor", "load"] for each in found)
    told = [demos.told(a, b | c) for a, b, c in zip(days, days[1:], found, strict=False)]
    assert told[1].endswith("slower\n    doubtful: governor, load")
    days = [days[0], *(day | each for day, each in zip(days[1:], found, strict=True))]
    picture = demos.over_days(days, "Days")
    joined = [line for line in picture.figure.axes[0].lines if len(set(line.get_xdata())) == 2]
    assert len(joined) == 2 and "0.57 ms, slower" in picture.alt
