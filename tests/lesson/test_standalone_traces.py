"""The profiler in one file reads traces as others write them, and compares two of them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cohort.run import ROOT, solved
from lesson_demos import beside

from proflab.standalone import main
from proflab.standalone.torch_files import read_trace
from proflab.standalone.torch_memory import read_snapshot

TRACES = ROOT / "tests/data/traces"  # small files, each with one thing that once was misread
# What such a file is to say: op → (calls, ms, own ms, and own ms of the card where there is one).
LAUNCHED = {
    "aten::linear": ["1", "0.100", "0.040", "0.000"],
    "aten::addmm": ["1", "0.060", "0.060", "0.080"],
}
READ = {
    "begin_end.json": LAUNCHED,
    "open_end.json": LAUNCHED,
    "xpu.json": LAUNCHED,
    "control_character.json": {
        "aten::linear": LAUNCHED["aten::linear"],
        "aten::�lu": LAUNCHED["aten::addmm"],
    },
    "args_null.json": {
        "aten::linear": LAUNCHED["aten::linear"],
        "aten::addmm": ["1", "0.060", "0.060", "0.000"],
        "gemm": ["–", "0.000", "0.000", "0.080"],
    },
    "overlap.json": {"outer": ["1", "0.010", "0.010"], "late": ["1", "0.030", "0.030"]},
    **dict.fromkeys(
        ("mtia.json", "counters.json", "unwatched.json"),
        {"aten::linear": ["1", "0.100", "0.040"], "aten::addmm": ["1", "0.060", "0.060"]},
    ),
}
SAID = {
    "open_end.json": "note: the list of events has no end",
    "args_null.json": "note: a card's work of which no launch is noted: 1, each its own row",
    "mtia.json": "note: left out, of the category 'mtia_ccp_events': 1",
    "counters.json": "note: left out, of the category 'cuda_profiler_range': 1",
}
# What is said of a card whose work is not in the trace, or not in a form that is read.
UNKNOWN = {
    "mtia.json": "how long a card worked is not known: its events are of 'mtia_ccp_events'",
    "counters.json": "how long a card worked is not known: its events are of 'cuda_profiler_range'",
    "unwatched.json": "kernels were launched and none is noted: the profiler did not watch the",
    "overlap.json": "no kernel is noted: nothing waited for a card",
}
# Other makers' files: what each is, and what is to be given.
EXPORT = "give the JSON that torch.profiler's export_chrome_trace writes"
REFUSED = {
    "corrupt.json.gz": ("is a damaged .gz file", "copy it anew"),
    "viztracer.json": ("viztracer, which notes functions of Python: vizviewer", EXPORT),
    "browser.json": ("no op of torch, among 3 events of 'toplevel', 'gpu': another prog", EXPORT),
    "execution.json": ("is an execution trace: it has ops and no times", EXPORT),
    "snapshot.json": ("is a snapshot of a card's memory", "the command memory reads it"),
    "timeline.raw.json.gz": ("is a memory timeline", f"{EXPORT}, with profile_memory=True"),
    "systrace.html": ("is a page of systrace, about a whole system", EXPORT),
    "ftrace.txt": ("is a trace of Linux's ftrace, about a whole system", EXPORT),
}


@pytest.fixture(scope="module")
def names():
    scopes = [solved(f"lesson_{number}").scope for number in ("02", "08", "11")]
    return {k: v for scope in scopes for k, v in scope.items()} | {"__file__": "my_profiler.py"}


def table(text: str) -> dict[str, list[str]]:
    """The rows of the table of ops, by their first column."""
    lines = text.split("\nop ", 1)[1].split("\n\n")[0].splitlines()[1:]
    return {cells[0]: cells[1:] for cells in (re.split(r"\s{2,}", line) for line in lines)}


def write(path: Path, events: object) -> str:
    path.write_text(json.dumps(events), encoding="utf-8")
    return str(path)


def op(name, start, dur, tid=1, **args):
    place = {"pid": 9, "tid": tid, "ts": start, "dur": dur}
    return {"ph": "X", "cat": "cpu_op", "name": name} | place | {"args": args}


def test_every_case_is_read_or_refused():
    assert {path.name for path in TRACES.iterdir()} == {*READ, *REFUSED}


@pytest.mark.parametrize("file", READ)
def test_a_trace_is_read_as_it_is_meant(names, capsys, file):
    assert main(names, {}, ["trace", str(TRACES / file)]) == 0
    said = capsys.readouterr().out
    assert table(said) == READ[file]
    assert SAID.get(file, "") in said and ("note:" in said) == (file in SAID)


@pytest.mark.parametrize("file", UNKNOWN)
def test_a_card_is_said_to_be_idle_only_where_its_work_would_be_noted(names, capsys, file):
    assert main(names, {}, ["trace", str(TRACES / file)]) == 0
    said = capsys.readouterr().out
    assert UNKNOWN[file] in said
    assert ("nothing waited" in said) == (file == "overlap.json")


@pytest.mark.parametrize("file", REFUSED)
def test_another_makers_file_is_named_and_the_right_one_asked_for(names, capsys, file):
    assert main(names, {}, ["trace", str(TRACES / file)]) == 2
    said = capsys.readouterr().err
    what, advice = REFUSED[file]
    assert what in said and said.endswith(f"{advice}\n") and said.count("\n") == 1


@pytest.mark.parametrize(
    ("file", "sentence"),
    [
        ("viztracer.json", "it is a trace, for which there is the command trace"),
        ("timeline.raw.json.gz", 'it has no "segments" and "device_traces"; give what torch'),
        ("systrace.html", "about a whole system: give what torch.cuda.memory._dump_snapshot"),
    ],
)
def test_memory_says_what_a_file_is_instead(names, capsys, file, sentence):
    assert main(names, {}, ["memory", str(TRACES / file)]) == 2
    assert sentence in capsys.readouterr().err


def test_memory_knows_a_trace_as_torch_writes_it_and_what_torch_saves(names, tmp_path, capsys):
    """The first begins with a space, and the second is an archive."""
    (tmp_path / "trace.json").write_text(' {\n  "schemaVersion": 1, "traceEvents": []}')
    (tmp_path / "model.pt").write_bytes(b"PK\x03\x04\x00\x00model/data.pkl\x80\x02.")
    for file, what in (("trace.json", "there is the command trace"), ("model.pt", "torch.save")):
        assert main(names, {}, ["memory", str(tmp_path / file)]) == 2
        assert what in capsys.readouterr().err


def test_a_trace_of_annotations_alone_says_why(names, tmp_path, capsys):
    """As of a program that does its work in threads, which the profiler does not see."""
    around = op("ProfilerStep#1", 0, 9) | {"cat": "user_annotation"}
    assert main(names, {}, ["trace", write(tmp_path / "trace.json", [around])]) == 0
    assert "no op is noted: the profiler sees only the thread" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"traceEvents": [{"ph": "X", "na', "is cut off, damaged or no JSON"),
        ("[" * 100_000, "too deeply|is cut off"),
        ('{"events": []}', 'it has no list "traceEvents"'),
        ('[{"ph": "M", "name": "process_name"}]', "holds no op of torch, among 1 event: anoth"),
        (" ", "is empty"),
        ("<html></html>", "is a page for a browser"),
        ("PK\x03\x04 and more", "is a .zip archive: unpack it"),
        ("[[1, 2], [3, 4]]", "none of its entries is an event: give the JSON"),
        ('[{"traceEvents": []}, {"traceEvents": []}]', "none of its entries is an event"),
        ("some words", "is no JSON: give the JSON"),
        ('\ufeff{"events": []}', 'it has no list "traceEvents"'),  # as PowerShell writes a file
        ('{"schemaVersion": 1, "traceEvents": [{"ph": "i"}]}', "let the profiler run around"),
        # ops without a phase, with texts for numbers, with durations below 0
        ('[{"cat": "cpu_op", "name": "a", "ts": 1, "dur": 2}]', "holds ops, but none has"),
        ('[{"ph": "X", "cat": "kernel", "name": "a", "ts": "1", "dur": "2"}]', "in numbers"),
        ('[{"ph": "X", "cat": "Operator", "name": "a", "ts": 1, "dur": -1}]', "of at least 0"),
    ],
)
def test_a_refusal_says_what_is_the_matter(names, tmp_path, capsys, text, sentence):
    (tmp_path / "trace.json").write_text(text, encoding="utf-8")
    assert main(names, {}, ["trace", str(tmp_path / "trace.json")]) == 2
    assert re.search(sentence, capsys.readouterr().err)


def test_an_end_is_that_of_the_innermost_op_of_its_name(names, tmp_path, capsys):
    half = {"cat": "cpu_op", "name": "block", "pid": 9, "tid": 1}
    events = [half | {"ph": ph, "ts": ts} for ph, ts in zip("BBEE", (0, 1, 3, 10), strict=True)]
    assert main(names, {}, ["trace", write(tmp_path / "trace.json", events)]) == 0
    calls, _, own = table(capsys.readouterr().out)["block"]
    assert (calls, own) == ("2", "0.010")


def test_what_cannot_be_used_is_left_out_and_said(names, tmp_path, capsys):
    odd = [7, op("late", float("nan"), 3), op("never", 1, -4), op(5, 1, 2) | {"pid": None}]
    other = op("fft", 0, 2) | {"cat": "hpu_op"}
    begun = {"ph": "B", "cat": "cpu_op", "name": "open", "pid": 9, "tid": 1, "ts": 3}
    file = write(tmp_path / "trace.json", [op("a", 0, 9, correlation=[1]), *odd, other, begun])
    assert main(names, {}, ["trace", file]) == 0
    said = capsys.readouterr().out
    assert table(said) == {"a": ["1", "0.009", "0.009"]}
    for note in (
        "left out, as they are no events: 1",
        "left out, without a name, a start or a duration of at least 0: 3",
        "left out, of the category 'hpu_op': 1",
        "left out, as they begin and never end: 1",
    ):
        assert f"note: {note}\n" in said


@pytest.mark.parametrize(
    "args",
    [
        {"Input Dims": [[4, 8], [8, 2]] + [[]] * 7, "Concrete Inputs": [1, None, {}, 4, 5, 6, 7]},
        {"Input Dims": [[1, "x"], [None]], "Concrete Inputs": None},
        {"Input Dims": [[True, 2.5], [[2]]], "stream": {}, "device": []},
        {"Input Dims": "[[1, 2]]", "correlation": {}},
        {"Input Dims": [[2, -3], [-3, 4]]},
    ],
)
@pytest.mark.parametrize("name", ["aten::mm", "aten::convolution", "aten::mkldnn_rnn_layer"])
def test_arguments_of_another_form_give_no_number(names, tmp_path, capsys, name, args):
    odd = op(name, 20, 3) | {"args": args}
    notes = [
        {"Addr": 1, "Bytes": 8, "Device Type": [1]},
        {"Addr": [1], "Bytes": 8, "Device Type": 0},
        {"Addr": 1, "Bytes": 10**400, "Device Type": 0},
        "none",
    ]
    marks = [{"ph": "i", "name": "[memory]", "ts": 5, "pid": 1, "tid": 1, "args": n} for n in notes]
    huge = op("late", 10**400, 3)
    file = write(tmp_path / "trace.json", [op("a", 0, 9), odd, huge, *marks])
    assert main(names, {}, ["trace", file]) == 0
    said = capsys.readouterr().out
    assert {"a", name} == set(table(said)) and "no block of memory is noted" in said
    assert "-48" not in said


def test_no_own_time_is_negative_however_ops_cross(names, tmp_path):
    crossing = [op("a", 0, 30), op("b", 5, 20), op("c", 20, 30), op("d", 22, 3), op("e", 28, 40)]
    rounded = [op("f", 100, 10), op("g", 105, 5.5)]
    trace = read_trace(Path(write(tmp_path / "trace.json", [*crossing, *rounded])))
    rows = {r["name"]: r["self_cpu_us"] for r in names["ops_table"]({"traceEvents": trace.events})}
    assert rows == {"a": 10, "b": 20, "c": 27, "d": 3, "e": 40, "f": 5, "g": 5}


def test_shapes_and_flops_are_those_of_the_calls(names, tmp_path, capsys):
    """Each count by hand: 2 FLOPs a multiply-add."""
    pair = [[4, 8], [8, 16]]
    image, weight = [2, 8, 6, 6], [16, 2, 3, 3]  # in four groups
    settings = ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "4"]
    forward = {"Input Dims": [image, weight], "Concrete Inputs": settings}
    settings = ["", "", "", "", "", "", "", "False", "", "4", "[True, True, False]"]
    backward = {"Input Dims": [[2, 16, 6, 6], image, weight], "Concrete Inputs": settings}
    query = [[1, 2, 5, 4]] * 3
    events = [
        op("aten::mm", 0, 5, **{"Input Dims": pair}),
        op("aten::mm", 10, 5, **{"Input Dims": pair}),
        op("aten::mm", 20, 5, **{"Input Dims": [[4, 4], [4, 4]]}),
        op("aten::addmm", 30, 5, **{"Input Dims": [[16], *pair]}),
        op("aten::convolution", 40, 5, **forward),
        op("aten::convolution_backward", 50, 5, **backward),
        op("aten::_scaled_dot_product_flash_attention_for_cpu", 60, 5, **{"Input Dims": query}),
        op("aten::add", 70, 5, **{"Input Dims": [[4, 4], [4, 4], []]}),
    ]
    file = write(tmp_path / "trace.json", events)
    assert main(names, {}, ["trace", file]) == 0
    found = {
        name.removeprefix("aten::"): row for name, row in table(capsys.readouterr().out).items()
    }
    assert found["mm"] == ["3", "0.015", "0.015", f"{2 * 1024 + 128:,}", "4×8, 8×16 and 1 more"]
    one = 2 * (2 * 6 * 6) * (2 * 3 * 3) * 16
    assert {name: row[3] for name, row in found.items()} == {
        "mm": "2,176",
        "addmm": "1,024",
        "convolution": f"{one:,}",
        "convolution_backward": f"{2 * one:,}",
        "_scaled_dot_product_flash_attention_for_cpu": f"{2 * 2 * 2 * 5 * 5 * 4:,}",
        "add": "–",
    }
    assert main(names, {}, ["trace", file, "--shapes"]) == 0
    by_shape = table(capsys.readouterr().out)
    assert by_shape["aten::mm (4×8, 8×16)"][::3] == ["2", "2,048"]
    assert by_shape["aten::mm (4×4, 4×4)"][::3] == ["1", "128"]


# ── several processes, several cards ─────────────────────────────────────────────────────────


def rank(process, card, delay, numbers):
    """A process that launches three kernels of 100 µs, each so late, on a card."""
    found = []
    for n, number in enumerate(numbers):
        start = 1000 * n
        launch = {"cat": "cuda_runtime", "name": "cudaLaunchKernel"}
        kernel = {"cat": "kernel", "name": "gemm", "pid": card, "tid": 7}
        args = {"correlation": number, "device": card, "stream": 7}
        found += [
            op(f"aten::mm{process}", start, 50 + delay) | {"pid": process},
            op("", start + delay, 5, correlation=number) | launch | {"pid": process},
            op("", start + delay + 20, 100) | kernel | {"args": args},
        ]
    return found


def waits(text: str) -> dict[str, list[str]]:
    lines = text.split("\nwhat it waited for")[1].split("\n\n")[0].splitlines()
    rows = [line.split() for line in lines]
    return {cells[0]: cells[1:] for cells in rows}


@pytest.mark.parametrize("numbers", [(1, 2, 3), (11, 12, 13)])
def test_each_card_waits_for_the_process_that_launches_there(names, tmp_path, capsys, numbers):
    """Both processes may number their launches alike, but for one that only one of them has."""
    first, second = rank(70, 0, 300, (1, 2, 4)), rank(80, 1, 100, numbers)
    args = {"Device Type": 1, "Device Id": 0, "Addr": 64, "Bytes": 2**20}
    marks = [{"ph": "i", "name": "[memory]", "ts": 1, "pid": p, "args": args} for p in (70, 80)]
    file = write(tmp_path / "trace.json", [*first, *second, *marks])
    assert main(names, {}, ["trace", file]) == 0
    said = capsys.readouterr().out
    assert "6 ops, 6 kernels, of 2 processes" in said and "note:" not in said
    assert "\ncard 0 worked 0.30 ms and waited 2.12 ms (88%)" in said
    assert "\ncard 1 worked 0.30 ms and waited 1.92 ms (86%)" in said
    found = waits(said)
    assert "what it waited for  card 0, ms  card 1, ms" in said
    assert found["launch"] == ["0.96", "0.36"]  # three times the delay and 20 µs
    ops = table(said)
    assert ops["aten::mm70"][3] == ops["aten::mm80"][3] == "0.300"
    for process in (70, 80):  # one address, two blocks
        assert f"memory of the card, process {process}: 1.00 MB at the peak" in said


def test_what_nothing_tells_apart_is_said(names, tmp_path, capsys):
    alike = [*rank(70, 0, 300, (1, 2, 3)), *rank(80, 1, 100, (1, 2, 3))]
    assert main(names, {}, ["trace", write(tmp_path / "alike.json", alike)]) == 0
    said = capsys.readouterr().out
    for card in "01":
        note = "counts as that of process 70; 80 launched under the same numbers"
        assert f"note: work of card {card} {note}\n" in said
    shared = [*rank(70, 0, 300, (1, 2, 3)), *rank(80, 0, 100, (4, 5, 6))]
    assert main(names, {}, ["trace", write(tmp_path / "shared.json", shared)]) == 0
    said = capsys.readouterr().out
    assert "processes 70, 80 launch on card 0: it waits for each\nthe card worked 0.60 ms" in said


@pytest.mark.parametrize("later", [0, 10**10])
def test_two_real_traces_in_one_file_are_those_apart(names, tmp_path, capsys, later):
    """Two processes of one training; put together, each card's figures are its trace's own."""
    form, pair = beside("11_gpu_training", "train_document"), "v100_pair.json"
    rows = form.load(ROOT / "modules/11_gpu_training" / pair)["rows"]
    apart, together = [], []
    for place, row in enumerate(rows["trace"][:2]):
        events = row["trace"]["traceEvents"]
        assert main(names, {}, ["trace", write(tmp_path / "one.json", events)]) == 0
        apart += re.findall(r"the card worked (.+)", capsys.readouterr().out)
        for event in events:
            move = {"pid": f"rank {place}: {event['pid']}", "ts": event["ts"] + place * later}
            together.append(event | move)
    assert main(names, {}, ["trace", write(tmp_path / "both.json", together)]) == 0
    said = capsys.readouterr().out
    assert len(apart) == 2 and apart == re.findall(r"^card .+ worked (.+)", said, re.M)


# ── two traces ───────────────────────────────────────────────────────────────────────────────


def test_two_traces_are_compared_in_the_gates_words(names, tmp_path, capsys):
    def trace(name, slow, fewer):
        events = []
        for call in range(40):
            start = 100 * call
            events += [op("mm", start, 10 + slow + call % 3), op("relu", start + 30, 5 + call % 2)]
            events += [op("cat", start + 50, 4)] * (call < 40 - fewer)
        return write(tmp_path / name, events)

    before, after = trace("before.json", 0, 0), trace("after.json", 10, 20)
    assert main(names, {}, ["trace", "--diff", before, after]) == 0
    found = table(capsys.readouterr().out)
    assert found["mm"][:2] == ["40", "40"] and found["mm"][-1] == "slower"
    assert found["relu"][-1] == "same"
    assert found["cat"][:2] == ["40", "20"] and found["cat"][-1] == "unclear"
    assert main(names, {}, ["trace", "--diff", after, before]) == 0
    said = capsys.readouterr().out
    assert table(said)["mm"][-1] == "faster" and "are shared by 3 ops;" in said
    one = write(tmp_path / "one.json", [op("aten::mm", 0, 2)])
    assert main(names, {}, ["trace", "--diff", one, one]) == 0
    assert "are shared by 1 op;" in capsys.readouterr().out


def test_a_kernels_long_name_leaves_a_table_narrow(names, tmp_path, capsys):
    kernel = op("void cutlass::Kernel2<" + "half, " * 80, 0, 2)
    file = write(tmp_path / "trace.json", [kernel, op("aten::mm", 4, 2)])
    for words in [file], ["--diff", file, file]:
        assert main(names, {}, ["trace", *words]) == 0
        said = capsys.readouterr().out
        assert "void cutlass::Kernel2<half, half, " in said and "…  " in said
        assert max(map(len, said.split("\n\n")[1].splitlines())) < 160


def test_a_comparison_asks_for_two_traces_and_the_gate(names, tmp_path, capsys):
    file = str(TRACES / "xpu.json")
    with pytest.raises(SystemExit):
        main(names, {}, ["trace", "--diff", file])
    assert "two traces with --diff" in capsys.readouterr().err
    assert main(names, {"gate": "08_benchmarking"}, ["trace", "--diff", file, file]) == 2
    assert "still lacks gate (08_benchmarking)" in capsys.readouterr().err
    assert main(names, {"gate": "08_benchmarking"}, ["trace", file]) == 0


# ── whose memory it is ───────────────────────────────────────────────────────────────────────


def mark(start, address, size, total):
    args = {"Device Type": 0, "Addr": address, "Bytes": size, "Total Allocated": total}
    place = {"pid": 9, "tid": 1, "ts": start}
    return {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]"} | place | {"args": args}


def test_memory_of_a_trace_names_layer_and_line_and_what_was_there(names, tmp_path, capsys):
    python = [
        op("/home/me/net.py(12): forward", 0, 90),
        op("nn.Module: Linear_0", 5, 80),
        op("/x/site-packages/torch/nn/modules/linear.py(134): forward", 6, 70),
    ]
    events = [e | {"cat": "python_function"} for e in python]
    events += [op("aten::addmm", 10, 20), mark(12, 64, 2**20, 5 * 2**20)]
    events += [mark(95, 8, -(2**21), 3 * 2**20)]
    assert main(names, {}, ["trace", write(tmp_path / "trace.json", events)]) == 0
    said = capsys.readouterr().out
    assert "4.00 MB were there before the recording began" in said
    assert "5.00 MB at the peak, 3.00 MB left at the end" in said
    assert "\naten::addmm, Linear_0, net.py line 12  1.00\n" in said


def test_a_snapshot_that_began_late_says_what_was_there(tmp_path, names, capsys):
    frames = [
        {"filename": "/x/site-packages/torch/nn/modules/conv.py", "line": 548, "name": "forward"},
        {"filename": "/home/me/net.py", "line": 12, "name": "step"},
    ]
    history = [
        {"action": "free_completed", "addr": 0, "size": 2**21, "frames": []},
        {"action": "alloc", "addr": 0, "size": 2**20, "frames": frames},
    ]
    blocks = [(2**20, "active_allocated"), (2**20, "inactive"), (2**22, "active_allocated")]
    segment = {"device": 0, "address": 0, "total_size": 6 * 2**20, "stream": 0}
    segment["blocks"] = [{"size": size, "state": state} for size, state in blocks]
    file = write(tmp_path / "s.json", {"segments": [segment], "device_traces": [history]})
    [card] = read_snapshot(Path(file))
    assert {e["addr"]: e["size"] for e in card["history"][:2]} == {0: 2**21, 2**21: 2**22}
    assert main(names, {}, ["memory", file]) == 0
    said = capsys.readouterr().out
    assert "6.00 MB were there before the recording began" in said
    assert "6.00 MB at the peak, 5.00 MB left at the end" in said
    assert "\nbefore the recording  6.00\n" in said


def test_the_memory_of_each_of_two_cards_has_its_number_though_another_is_idle(
    tmp_path, names, capsys
):
    step = {"action": "alloc", "addr": 0, "size": 2**20, "frames": []}
    both = {"segments": [], "device_traces": [[], [step], [step | {"size": 2**21}]]}
    assert main(names, {}, ["memory", write(tmp_path / "s.json", both)]) == 0
    said = capsys.readouterr().out
    assert "\nmemory of card 1: 1.00 MB at" in said and "\nmemory of card 2: 2.00 MB at" in said
