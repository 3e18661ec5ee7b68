"""What lesson 05 works with: tensors' memory, recorders, doubles."""

from __future__ import annotations

import os
import random
import re
import runpy
import sys
import threading
import time
import types

import numpy as np
import pytest
from cohort.run import ROOT, entries, solved
from lesson_demos import beside

from proflab import Tensor, dispatch, nn
from proflab.lesson import doubles
from proflab.lesson.hardware import Hardware
from proflab.lesson.recording import (
    Recorder,
    Rows,
    as_model,
    column,
    columns,
    elementwise_kind,
    region,
    row_name,
    work_and_traffic,
)
from proflab.lesson.tensor_memory import bytes_by_memory, each_op, memory_of, present

profiled = beside("05_profiler", "profiled")
counters = beside("05_profiler", "counters")

X = Tensor([[1.0, 2.0]])
SEARCH, CODE = "the shortest that holds it", "def self_times(spans):\n    pass"


@pytest.mark.parametrize("meta", [False, True])
def test_bytes_of_views_count_once_and_never_more_than_there_are(meta):
    whole = Tensor.meta((4, 6)) if meta else Tensor(np.ones((4, 6)))
    left, right = whole.chunk(2, 1)
    other = Tensor.meta((3,)) if meta else Tensor([1.0, 2.0, 3.0])
    assert memory_of(left) == memory_of(right.mT) == memory_of(whole) != memory_of(other)
    assert bytes_by_memory([left]) == bytes_by_memory([left, left]) == {memory_of(whole): 48}
    both = {memory_of(whole): 96, memory_of(other): 12}
    assert bytes_by_memory([left, right, other, other]) == both
    assert bytes_by_memory([other, left, whole, whole.mT]) == both
    assert bytes_by_memory([other.expand(9, 3)]) == {memory_of(other): 12}
    assert bytes_by_memory([]) == {}


def test_present_is_a_list_without_none():
    x = Tensor([1.0])
    assert present(x) == [x] and present((None, x)) == [x] and present([None]) == []


class Told(Recorder):
    def watch(self, call):
        result = call()
        self.rows.append(call.op)
        return result

    def end_region(self, first, start, end, facts):
        self.rows.append((facts["module"], self.rows[first:], end >= start, self.rows.depth))


def test_a_region_is_told_to_each_recorder_around_it():
    x = Tensor([1.0])
    with Told() as outer, region("a"):
        x.exp()
        with pytest.raises(ValueError, match="inner"), Told() as inner, region("b"):
            x.tanh()
            raise ValueError("inner")
    assert inner.rows == ["tanh", ("b", ["tanh"], True, 0)]
    b = ("b", ["tanh"], True, 1)
    assert outer.rows == ["exp", "tanh", b, ("a", ["exp", "tanh", b], True, 0)]
    assert Recorder.active == [] and dispatch.hooks == ()


def test_work_and_traffic_add_up_and_a_tensor_can_be_called():
    rows = doubles.made_up(
        "op matmul_flops elementwise_flops bytes_read bytes_written",
        ("linear", 100, 20, 3, 4),
        ("region", 0, 0, 0, 0),
        ("module a.b", 1, 0, 0, 5),
    )
    assert work_and_traffic(rows) == (121, 12)
    assert columns(rows, "op", "module") == [["linear", "m"], ["region", "m"], ["module", "a.b"]]
    x = Tensor([1.0])
    assert as_model(x)(None) is x and isinstance(as_model(nn.ReLU()), nn.ReLU)


def test_the_calls_and_layers_of_the_test_cells_do_what_they_say():
    pace = []
    layer = profiled.Paced(lambda x: pace.append(x.shape), nn.Linear(3, 2), back=True)
    out = layer(Tensor(np.ones((4, 3))))
    out.sum().backward()
    assert pace == [(4, 2), (4, 2)] and layer.inner.weight.grad.shape == (2, 3)
    seen = profiled.on_the_way_back(lambda call, result: call.op, lambda x, y, z: (x * z).sum())
    assert seen == [["mul"]]
    a = Tensor(np.ones((2, 3)), requires_grad=True)
    ops = each_op(
        lambda call, _: (call.op, call.phase),
        lambda: profiled.Product.apply(a, Tensor(np.ones((3, 4)))).sum().backward(),
    )
    assert ops.count(("matmul", "forward")) == 2


@pytest.fixture
def notebook(monkeypatch):
    """A module in the place of the notebook, with an exercise in it."""
    made = types.ModuleType("__main__")
    made.op_bytes = "the student's"
    monkeypatch.setitem(sys.modules, "__main__", made)
    return made


def test_before_puts_answers_in_the_place_of_earlier_exercises_alone(notebook):
    before = profiled.Before(
        "op_facts", {("exp", "forward"): profiled.facts(elementwise=2, read=8, written=8)}
    )
    moved = before(each_op, lambda call, result: notebook.op_bytes(call, result), lambda: X.exp())
    assert moved == [(8, 8)]
    assert vars(notebook)["op_bytes"] == "the student's" and not hasattr(notebook, "op_facts")
    with pytest.raises(ZeroDivisionError):
        before(lambda: 1 / 0)
    assert vars(notebook)["op_bytes"] == "the student's"


def test_before_answers_with_the_figures_that_it_was_given(notebook):
    exp = profiled.facts(matmul_flops=3, elementwise=2, read=8, written=16)
    figures = {("exp", "forward"): exp, ("tanh", "forward"): None}
    before = profiled.Before("profile_forward_pass", figures, {(5, 24): "compute"})
    rows = Rows()

    def run():
        with dispatch.hook(lambda call: notebook.record(call, rows)):
            X.exp().sum()
        return [notebook.find_bottleneck(*work, "a machine") for work in ((5, 24), (5, 23))]

    assert before(run) == ["compute", "asked about 5 FLOPs and 23 bytes"]
    assert columns(rows, "op", "matmul_flops", "bytes_written") == [["exp", 3, 16], ["sum", 0, 0]]
    assert before(lambda: notebook.find_bottleneck(5, 24, None)) is None
    with pytest.raises(NotImplementedError, match="tanh"):
        before(lambda: dispatch.hook(lambda call: notebook.record(call, rows))(X.tanh)())


def test_before_a_layers_profile_a_pass_follows_from_its_input(notebook):
    before, layer = profiled.Before("profile_layer"), nn.Linear(2, 3)
    found = before(
        lambda: notebook.profile_forward_pass(layer, X, Hardware(1e9, 1e9, "a card"), 1, 2)
    )
    assert found["parameters"] == 9 and found["latency_ms"] == 2 / 7
    assert found["bottleneck"] == "limited by a card"
    given = {"shape": (1, 2), "dtype": "float32", "data": True, "machine": "a card"}
    assert before.passes == [given]


def test_errors_and_failures_are_told_by_their_names():
    assert doubles.errors(int, [("x",), ("4",)]) == ["ValueError", "no error, but 4"]
    with pytest.raises(NotImplementedError):
        doubles.errors(lambda: (_ for _ in ()).throw(NotImplementedError()), [()])


@pytest.mark.whole
def test_a_recording_by_a_students_record_says_how_it_ended(notebook):
    def keeps(call, rows):
        rows.depth += 1  # and never takes it back
        result = call()
        notebook.add_row(rows, 2, 1_000_000, 3_000_000, notebook.op_facts(call, result))
        return result

    clock = doubles.Clock()
    rows = clock.run(profiled.recorded, keeps, lambda: X.exp().tanh(), lambda: clock.advance(2))
    assert (column(rows, "op"), rows.depth, rows.error) == (["exp", "tanh"], 2, "")
    assert column(rows, "ms") == [2.0, 2.0] and rows.by_thread() == []
    failed = profiled.recorded(keeps, lambda: X @ X)
    assert (list(failed), failed.depth, failed.error) == ([], 1, "ValueError")
    stopped = profiled.recorded(keeps, profiled.Around(profiled.interrupted))
    assert (list(stopped), stopped.depth, stopped.error) == ([], 1, "KeyboardInterrupt")
    unknown = profiled.recorded(keeps, lambda: X.exp(), unknown="exp")
    assert unknown.error == "NotImplementedError"

    def unwritten(call, rows):
        raise NotImplementedError()

    with pytest.raises(NotImplementedError):
        profiled.recorded(unwritten, lambda: X.exp())


def test_the_given_row_has_the_facts_and_its_times_in_ms():
    add_row, facts = solved("lesson_05").scope["add_row"], {"op": "exp", "module": "a"}
    rows = Rows()
    rows.start, rows.depth = 7_000_000, 1
    assert add_row(rows, 9_500_000, 9_623_457, facts) is None
    add_row(rows, 9_623_457, 9_623_457, {"op": "region"})
    times = {"start_ms": 2.5, "ms": 0.123457, "self_ms": None, "depth": 1}
    assert rows[0] == facts | times and list(facts) == ["op", "module"]
    assert column(rows, "op") == ["exp", "region"] and rows[1]["ms"] == 0.0
    assert rows.by_thread() == [(rows, [(9_500_000, 9_623_457), (9_623_457, 9_623_457)])]


def test_self_times_are_filled_in_when_a_recording_ends():
    scope = solved("lesson_05").scope
    with scope["OpRecorder"]() as recorder, region("a"):
        X.exp()
        assert recorder.rows[0]["self_ms"] is None
    exp, a = recorder.rows
    assert exp["self_ms"] == exp["ms"] and a["self_ms"] == pytest.approx(a["ms"] - exp["ms"])
    with pytest.raises(ValueError, match="inner"), recorder, region("b"):
        X.tanh()
        raise ValueError("inner")
    assert column(recorder.rows, "module") == ["", "b"]
    assert all(row["self_ms"] >= 0 for row in recorder.rows)


def test_each_thread_of_a_recording_has_self_times_and_depths_of_its_own(monkeypatch):
    """The thread's region begins inside the main one and ends after it, with an op in each."""
    now, began, ended = [0], threading.Event(), threading.Event()
    monkeypatch.setattr(time, "perf_counter_ns", lambda: now[0])  # one clock for both

    def advance(ms):
        now[0] += ms * 1_000_000

    def load():
        with region("load"):
            advance(5)
            with region("read"):
                advance(2)
            began.set()
            assert ended.wait(60)
            advance(1)
            profiled.paced(lambda: advance(3), X.tanh)

    thread = threading.Thread(target=load)
    with solved("lesson_05").scope["OpRecorder"]() as recorder:
        with region("step"):
            advance(10)
            thread.start()
            assert began.wait(60)
            profiled.paced(lambda: advance(4), X.exp)
        ended.set()
        thread.join()
    rows = recorder.rows
    assert {row_name(row): (row["ms"], row["self_ms"], row["depth"]) for row in rows} == {
        "read": (2.0, 2.0, 1),
        "exp": (4.0, 4.0, 1),
        "step": (21.0, 17.0, 0),
        "tanh": (3.0, 3.0, 1),
        "load": (15.0, 10.0, 0),
    }
    assert [column(own, "module") for own, _ in rows.by_thread()] == [
        ["read", "", "load"],
        ["", "step"],
    ]


def test_two_ways_to_self_times_agree_on_drawn_nestings():
    scope, draw = dict(solved("lesson_05").scope), random.Random(5)
    other = entries("lesson_05", "ALTERNATES")["self_times"][SEARCH]

    def nest(start, end, depth):
        spans, at = [(start, end)], start
        while depth and (at := at + draw.randrange(4)) < end:
            until = min(end, at + draw.randrange(1, 9))
            spans += nest(at, until, depth - 1)
            at = until
        return spans

    drawn = [nest(0, draw.randrange(1, 40), 3) for _ in range(300)]
    for spans in drawn:
        draw.shuffle(spans)
    found = [scope["self_times"](spans) for spans in drawn]
    exec(other, scope)
    assert found == [scope["self_times"](spans) for spans in drawn]
    lengths = [max(end for _, end in spans) for spans in drawn]  # all begin at 0
    assert [sum(times) for times in found] == lengths


def test_elementwise_work_has_the_name_of_its_row_in_the_table():
    layer, norm, x = nn.Linear(2, 3), nn.BatchNorm1d(2), Tensor([[1.0, 2.0], [4.0, 3.0]])
    kinds = each_op(
        lambda call, _: elementwise_kind(call),
        lambda: [layer(x).exp(), nn.Linear(2, 1, bias=False)(x), x @ x.T, norm(x), norm.eval()(x)],
    )
    assert kinds == ["bias", "exp", None, None, None, "batch_norm_train", "batch_norm"]


def test_recorded_runs_are_of_each_kind(monkeypatch):
    monkeypatch.chdir(ROOT / "modules" / "05_profiler")
    triage, (runs, disk_rate) = solved("lesson_05").scope["triage"], counters.recorded_runs()
    found = {name: triage(run, disk_rate) for name, run in runs.items()}
    assert list(found.values()) == ["cpu", "waiting", "disk", "cpu", "waiting", "gpu", None]
    assert all(run["source"] and (run["user_s"] or 0) <= run["real_s"] for run in runs.values())


@pytest.mark.skipif(sys.platform != "linux", reason="it records what Linux counts")
def test_the_runs_can_be_recorded_anew(tmp_path, monkeypatch):
    """With small programs: their form and names, of numbers apart, are those of the lesson's."""
    monkeypatch.chdir(tmp_path)
    script = runpy.run_path(str(ROOT / "docs" / "record_runs.py"))
    small = {"turns": 20_000, "others": 1, "size": 10**6, "answers": 2, "delay": 0.05}
    script["main"](tmp_path / "runs.json", **small, first=("nice",), rate=lambda file: 2e8)
    runs, disk_rate = counters.recorded_runs()
    monkeypatch.chdir(ROOT / "modules" / "05_profiler")
    there, _ = counters.recorded_runs()

    def plain(name):
        return re.sub(r"\d[\d.]*| \(.+\)", "", name)

    assert [*map(plain, runs)] == [*map(plain, there)] and disk_rate == 2e8
    assert list(runs.items())[5:] == list(there.items())[5:]  # on a card: published traces
    for run, other in zip(runs.values(), there.values(), strict=True):
        assert {key: type(value) for key, value in run.items()} == {
            key: type(value) for key, value in other.items()
        }
        assert len(counters.line(run)) == len(counters.HEAD)
    waiting = list(runs.values())[4]
    assert waiting["real_s"] >= 0.1 and waiting["gpu_busy"] is None
    assert not [*tmp_path.glob(".record-*")]


@pytest.mark.skipif(not hasattr(os, "wait4"), reason="the system does not tell these counters")
def test_a_run_of_this_machine_is_counted():
    """The loop computes ten times as long as Python takes to start, which varies by itself."""
    work = "sum(i * i for i in range(3_000_000))"
    runs = counters.runs_here(loop=work, sleep="time.sleep(0.2)")
    assert list(runs) == ["loop, here", "sleep, here"]
    loop, sleep = runs.values()
    # Both kinds, for the system splits what it counted by samples, one every few milliseconds.
    used = [run["user_s"] + run["sys_s"] for run in (loop, sleep)]
    assert used[0] > used[1] and sleep["real_s"] >= 0.2
    assert (
        solved("lesson_05").scope["triage"](sleep | {"user_s": 0.0, "sys_s": 0.0}, 1e12)
        == "waiting"
    )


def test_what_was_not_measured_is_shown_as_such():
    nothing = dict.fromkeys(["user_s", "sys_s", "bytes_read", "gpu_busy"])
    assert counters.line({"real_s": 1.5} | nothing).split() == ["1.500", "–", "–", "–", "–"]
    known = {"real_s": 1.5, "user_s": 1.0, "sys_s": 0.25, "bytes_read": 0, "gpu_busy": 0.0}
    assert counters.line(known).split() == ["1.500", "1.000", "0.250", "0", "0%"]
    assert len(counters.line(known)) == len(counters.HEAD)


def test_without_measured_roofs_there_is_no_verdict(capsys):
    scope = solved("lesson_05").scope
    layer = nn.Linear(2, 2)
    assert scope["Profiler"]().hardware is None
    assert scope["quick_profile"](layer, X)["bottleneck"] is None
    assert "no verdict on what limits it" in capsys.readouterr().out
    roofs = Hardware(1e9, 1e9, "a measured one")
    assert scope["quick_profile"](layer, X, roofs)["bottleneck"] in ("compute", "memory")
    assert "on a measured one" in capsys.readouterr().out
