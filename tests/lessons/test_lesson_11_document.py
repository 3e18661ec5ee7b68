"""The document of training steps: what it must hold, and the sentence for what it must not."""

from __future__ import annotations

import copy
import datetime

import pytest
from cuda_on_cpu import fake_gpu
from lesson_demos import beside

from proflab.lesson.cuda import Record

doubles = beside("10_cuda_roofline", "kernel_doubles")
fake = beside("11_gpu_training", "trace_doubles")
train_document = beside("11_gpu_training", "train_document")
packed = beside("11_gpu_training", "packed")


def whole() -> dict:
    """Return a document with a row of every kind."""
    plain = {"batch": 8, "peak_bytes": 0, "switches": {}, "losses": [2.5, 2.0]}
    first = {"name": "as written", "ms": 4.0, "pairs": [], "against": None} | plain
    second = {"name": "AMP", "ms": 2.0, "pairs": [[4.0, 2.0]], "against": "as written"} | plain
    kernel = fake.kernel("gemm", 5, 10, 1)
    memory = {
        "name": "plain",
        "batch": 8,
        "history": [fake.alloc(512, 100, "conv1"), fake.free(512), fake.alloc(512, 8, "fc")],
        "segments": [fake.segment((512, "active_allocated"), (512, "inactive"))],
    }
    return doubles.document(
        step=[first, second],
        pairwise=[{"name": "neither", "ms": 4.0}, {"name": "both", "ms": 1.5}],
        trace=[{"name": "good", "steps": 1, "trace": fake.trace(fake.op("mm", 0, 9), kernel)}],
        profile=[
            {
                "name": "two",
                "steps": 2,
                "trace": fake.trace(fake.op("mm", 0, 9)),
                "table": {"mm": [9.0, 9.0]},
            }
        ],
        memory=[memory],
        loss=[{"name": "float16", "losses": [2.5, None]}],
        compile=[{"name": "eager", "compile_s": 0, "ms": 3.0, "recompiles": 0}],
        loader=[{"workers": 0, "pin": False, "images_s": 300.0}],
        allreduce=[{"backend": "gloo", "ranks": 2, "bytes": 8, "ms": [0.5]}],
    )


def test_a_document_with_every_kind_is_accepted_and_comes_back_the_same(tmp_path):
    train_document.save(whole(), tmp_path / "d.json")
    assert train_document.load(tmp_path / "d.json") == whole()
    assert set(whole()["rows"]) == set(train_document.KINDS)


def test_packed_traces_and_histories_are_unpacked_when_read(tmp_path):
    document = whole()
    [trace], [memory] = document["rows"]["trace"], document["rows"]["memory"]
    events = [e for e in trace.pop("trace")["traceEvents"] if "dur" in e]
    events[0]["args"] = {"Input Dims": [[2, 3], [3, 4]]}
    history = [fake.alloc(512, 100, "mm"), fake.free(512, 100), fake.alloc(512, 8, "mm")]
    trace["packed"], memory["packed"] = packed.pack(events), packed.pack_history(history)
    train_document.save(document, tmp_path / "d.json")
    found = train_document.load(tmp_path / "d.json")["rows"]
    assert [e["name"] for e in found["trace"][0]["trace"]["traceEvents"]] == ["mm", "gemm"]
    assert found["trace"][0]["trace"]["traceEvents"][0]["args"] == events[0]["args"]
    kernel = found["trace"][0]["trace"]["traceEvents"][1]
    assert (kernel["args"]["correlation"], kernel["args"]["stream"], kernel["dur"]) == (1, 7, 10)
    assert found["memory"][0]["history"] == history


@pytest.mark.parametrize(
    "column, value, sentence",
    [
        ("dur", "9", "columns of a packed trace differ in length"),
        ("name", "0 7", "event 1 of a packed trace names what is not there"),
        ("correlation", "", "event 1 of a packed trace names what is not there"),
        ("ts", "0 five", "invalid literal"),
    ],
)
def test_a_mistake_in_a_packed_trace_is_told(column, value, sentence, tmp_path):
    document = whole()
    [trace] = document["rows"]["trace"]
    events = [e for e in trace.pop("trace")["traceEvents"] if "dur" in e]
    trace["packed"] = packed.pack(events) | {column: value}
    train_document.save(document, tmp_path / "d.json")
    with pytest.raises(ValueError, match=f"d.json: .*{sentence}"):
        train_document.load(tmp_path / "d.json")


def changed(*path, value=None, drop=False) -> dict:
    """Return the whole document with one value replaced, or dropped."""
    document = copy.deepcopy(whole())
    *way, last = path
    place = document
    for key in way:
        place = place[key]
    if drop:
        del place[last]
    else:
        place[last] = value
    return document


EVENTS = ("rows", "trace", 0, "trace", "traceEvents")
MEMORY = ("rows", "memory", 0)
SENTENCES = [
    (changed("card", "name", value=3), "card.name must be a text"),
    (changed("rows", "gemm", value=[]), "rows.gemm is of no known kind"),
    (changed("rows", "step", 0, value=[]), r"rows.step\[0\] must be an object"),
    (changed("rows", "step", 0, "ms", value=0), "ms must be a positive number, not 0"),
    (changed("rows", "step", 0, "batch", value=True), "batch must be an int of at least 1"),
    (changed("rows", "step", 0, "losses", value=[]), "losses must be a list of numbers"),
    (changed("rows", "step", 0, "losses", value=["a"]), "losses must be a list of numbers"),
    (changed("rows", "step", 1, "pairs", 0, value=[1.0]), r"pairs\[0\] must be two positive"),
    (changed("rows", "step", 1, "pairs", value=[]), "pairs and against go together"),
    (changed("rows", "step", 1, "against", drop=True), "against is missing"),
    (changed("rows", "step", 1, "against", value=7), "against must be a text or null"),
    (changed("rows", "step", 1, "against", value="AMP"), "must name a step above it"),
    (changed("rows", "pairwise", 0, "ms", value=None), "ms must be a positive number"),
    (changed("rows", "trace", 0, "trace", value={}), "traceEvents must be a list"),
    (changed(*EVENTS, 2, value=7), r"traceEvents\[2\] has no ph"),
    (changed(*EVENTS, 2, "dur", value=-1.0), "dur must not be negative"),
    (changed(*EVENTS, 2, "ts", value="0"), "ts must be a number of µs"),
    (changed(*EVENTS, 2, "cat", drop=True), "cat must be a text"),
    (changed(*EVENTS, 3, "tid", drop=True), "pid or tid is missing"),
    (changed("rows", "profile", 0, "table", "mm", value=[9.0]), "table.mm must be two numbers"),
    (changed(*MEMORY, "history", value={}), "history must be a list"),
    (changed(*MEMORY, "history", 0, "action", value="get"), "must be alloc or free, not 'get'"),
    (changed(*MEMORY, "history", 0, "frame", drop=True), "frame must be a text"),
    (changed(*MEMORY, "history", 1, "addr", value=5), "frees an address that is not allocated"),
    (changed(*MEMORY, "history", 1, value=fake.alloc(512, 1, "x")), "that is still in use"),
    (changed(*MEMORY, "segments", 0, "total_size", value=9), "do not add up to total_size"),
    (changed(*MEMORY, "segments", 0, "blocks", 0, "state", value="free"), "state must be one of"),
    (changed("rows", "loss", 0, "losses", value=None), "losses must be a list"),
    (changed("rows", "compile", 0, "recompiles", drop=True), "recompiles is missing"),
    (changed("rows", "loader", 0, "pin", value=1), "pin must be true or false, not 1"),
    (changed("rows", "allreduce", 0, "ms", value=[0]), "ms must be a list of positive numbers"),
    (changed("rows", "step", 0, "peak_bytes", value=-1), "peak_bytes must be an int of at least 0"),
    (changed("rows", "trace", 0, "packed", value=[]), "packed must be an object"),
]


@pytest.mark.parametrize("document, sentence", SENTENCES, ids=[s for _, s in SENTENCES])
def test_a_mistake_is_told_in_a_sentence(document, sentence, tmp_path):
    with pytest.raises(ValueError, match=sentence) as caught:
        train_document.check(document)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError):
        train_document.save(document, tmp_path / "d.json")
    assert not (tmp_path / "d.json").exists()


def test_a_file_with_a_mistake_is_named(tmp_path):
    path = tmp_path / "d.json"
    train_document.save(whole(), path)
    path.write_text(path.read_text().replace('"against": "as written"', '"against": "later"'))
    with pytest.raises(ValueError, match="d.json: rows.step.1.: against must name a step above"):
        train_document.load(path)


def test_a_record_of_this_form_reads_measures_and_saves(tmp_path, capsys):
    train_document.save(whole(), tmp_path / "made.json")
    today = datetime.date(2026, 3, 4)
    record = Record(tmp_path / "made.json", find=fake_gpu, today=lambda: today, form=train_document)
    assert record._form.LESSON == "11_gpu_training"
    record.measure("loader", lambda gpu: iter([{"workers": 2, "pin": True, "images_s": 9.0}]))
    record.save(tmp_path / "recorded.json")
    found = train_document.load(tmp_path / "recorded.json")
    assert found["command"] == "the device cells of 11_gpu_training"
    assert found["rows"] == {"loader": [{"workers": 2, "pin": True, "images_s": 9.0}]}
    assert "1 loader rows measured" in capsys.readouterr().out
    elsewhere = Record(tmp_path / "made.json", form=train_document)
    assert elsewhere.rows("loader")[0]["workers"] == 2  # recorded.json goes before made.json
