"""Lesson 11's training loop: what the double of torch counts, and that torch learns the same."""

from __future__ import annotations

import numpy as np
import pytest
from cohort.lesson_11_loop import ALTERNATES, MUTANTS
from cohort.run import solved
from lesson_demos import beside

import proflab

loops = beside("11_gpu_training", "counted_loop")


@pytest.fixture(scope="module")
def scope():
    return solved("lesson_11").scope


def counts(loop, **how) -> list:
    """Return what a loop makes the card wait for: reads, sends, lengths, clips read, copies."""
    found = loops.count_waits(loop, **how)
    return [found[key] for key in ("read_backs", "sent", "lengths", "read_here", "copy_waits")]


def changed(scope, sentence: str):
    """Return the mended loop with one of its faults again."""
    names = dict(scope)
    body = "\n".join("    " + line for line in MUTANTS["train_epoch"][sentence].splitlines())
    exec(f"def train(torch, model, optimizer, clips, device, batch=4):\n{body}", names)
    return names["train"]


def test_the_slow_loop_waits_in_each_step_and_the_mended_one_in_none(scope):
    slow, mended = scope["slow_epoch"], scope["train_epoch"]
    assert counts(slow) == [
        5,
        18,
        [19, 35, 36, 38, 40],
        24,
        15,
    ]  # after the last step, nobody waits
    assert counts(mended) == [0, 13, [40], 0, 0]
    before, after = loops.count_waits(slow), loops.count_waits(mended)
    assert before["losses"] == pytest.approx(after["losses"])
    assert before["weights"] == pytest.approx(after["weights"])


@pytest.mark.parametrize(
    "sentence, place, count",
    [
        ("a number is read in each step", 0, 5),
        ("it waits for the card in each step", 0, 5),
        ("the weights are sent in each step", 1, 18),
        ("each batch has a length of its own", 2, [19, 35, 36, 38, 40]),
        ("the clips are read in the loop", 3, 24),
        ("copies from pageable memory", 4, 10),
        ("pinned, and waited for", 4, 10),
        ("the loader is to pin arrays", 4, 10),
        ("x alone is queued", 4, 5),
    ],
)
def test_each_fault_moves_its_own_count(scope, sentence, place, count):
    expected = [0, 13, [40], 0, 0]
    expected[place] = count
    found = counts(changed(scope, sentence))
    if place == 1:
        found[4] = 0  # what is sent too often is waited for, too
    assert found == expected


@pytest.fixture
def played():
    notes = loops.Notes()
    return notes, loops.Torch(notes)


@pytest.mark.parametrize(
    "read",
    [float, bool, str, repr, "{:.2f}".format, lambda x: x.item(), lambda x: x.cpu(),
     lambda x: x.tolist(), lambda x: x.to("cpu"), lambda x: (x + 1).item()],
)  # fmt: skip
def test_whatever_reads_a_tensor_on_the_card_is_noted(played, read):
    notes, torch = played
    read(torch.tensor(2.0))
    assert notes.events == []
    on_card = torch.ones((), device="cuda") * 2
    assert notes.events == []
    read(on_card)
    assert notes.events == ["read"]


@pytest.mark.parametrize(
    "send, waits",
    [
        (lambda x: x.to("cuda"), 1),
        (lambda x: x.cuda(), 1),
        (lambda x: x.to("cuda", non_blocking=True), 1),
        (lambda x: x.pin_memory().to("cuda"), 1),
        (lambda x: x.pin_memory().to("cuda", non_blocking=True), 0),
        (lambda x: x.pin_memory().cuda(non_blocking=True), 0),
        (lambda x: (x.pin_memory() + 1).to("cuda", non_blocking=True), 1),
    ],
)
def test_a_copy_is_waited_for_unless_it_is_queued_from_pinned_memory(played, send, waits):
    notes, torch = played
    assert send(torch.tensor([1.0, 2.0])).is_cuda
    assert notes.events == ["send", *["wait"] * waits]


def test_tensors_of_two_devices_do_not_meet(played):
    notes, torch = played
    with pytest.raises(RuntimeError, match="same device"):
        torch.tensor([1.0, 2.0]) + torch.tensor([1.0, 2.0], device="cuda")
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        torch.zeros(3, device="cuda").numpy()
    assert notes.events == ["send", "wait"]  # zeros are made on the card
    assert (torch.tensor([1.0], device="cuda") * 2 + torch.tensor(1.0)).device == "cuda"


def test_zeros_behind_a_clip_change_nothing():
    clips, made = loops.Clips(5, seed=2), loops.network(proflab.nn, proflab.relu, 0)
    samples = [clips[n] for n in range(5)]
    short, long = (proflab.tensor(loops.pad(samples, n)[0]) for n in (None, 90))
    assert long.shape[1] == 90
    assert np.allclose(made(short).tolist(), made(long).tolist(), atol=1e-6)
    with pytest.raises(ValueError, match="does not fit into 3"):
        loops.pad(samples, 3)


def test_a_clip_is_the_same_whoever_reads_it():
    clip, label = loops.Clips(9, seed=4)[7]
    again, other = loops.Clips(9, seed=4)[7]
    assert np.array_equal(clip, again) and label == other and clip.shape[1] == loops.WIDTH


def test_where_torch_is_missing_a_line_says_so(scope, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    said = loops.on_torch(scope["slow_epoch"], scope["train_epoch"])
    assert said == "torch is not installed: the loop has run on its double alone."


# ── torch itself ─────────────────────────────────────────────────────────────────────────────


def on_torch(torch, loop, clips: int, batch: int) -> tuple[list, list]:
    """Return the losses and the last weights of a loop on torch, begun as the double begins."""
    model = loops.network(torch.nn, torch.relu, 0)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = loop(torch, model, sgd, loops.Clips(clips), "cpu", batch)
    return losses, list(model.parameters())[-1].tolist()


@pytest.mark.torch
@pytest.mark.parametrize("style", ["the solution", *ALTERNATES["train_epoch"]])
def test_torch_learns_what_its_double_learns(scope, style):
    torch = pytest.importorskip("torch")
    names = dict(scope)
    if style in ("zeros are put behind on the card", "threads read ahead"):
        pytest.skip("it asks for CUDA by name")
    if style != "the solution":
        import textwrap

        body = textwrap.indent(textwrap.dedent(ALTERNATES["train_epoch"][style]), "    ")
        exec(f"def train_epoch(torch, model, optimizer, clips, device, batch=4):\n{body}", names)
    expected = loops.count_waits(names["train_epoch"], clips=10, batch=4)
    losses, weights = on_torch(torch, names["train_epoch"], 10, 4)
    assert losses == pytest.approx(expected["losses"], abs=1e-5)
    assert weights == pytest.approx(expected["weights"], abs=1e-5)
    slow, _ = on_torch(torch, scope["slow_epoch"], 10, 4)
    assert slow == pytest.approx(losses, abs=1e-5)


@pytest.mark.torch
def test_the_device_cell_runs_both_loops_on_torch(scope, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("PROFLAB_DEMO", "small")
    said = loops.on_torch(scope["slow_epoch"], scope["train_epoch"])
    assert said.startswith("torch, ") and said.endswith("after; the same losses")
    with pytest.raises(AssertionError, match="not return the same losses"):
        loops.on_torch(scope["slow_epoch"], changed(scope, "all classes weigh the same"))
