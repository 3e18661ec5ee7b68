"""A training loop's data and network, and torch and a card played for it, which count.

`count_waits(train)` runs a loop on `Torch`, whose tensors are ProfLab's with a device: it notes
what is read from the card, what is sent to it, how long the batches are, and who reads the clips.
`on_torch` runs two loops on torch itself. What may not enter: a bound, or an expected loss.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import proflab
from proflab.lesson.demo import demo_size
from proflab.nn import functional

WIDTH, CLASSES, HIDDEN = 6, 3, 8  # numbers in a moment of a clip, its classes, the layer between


# ── data and network, for torch and for its double ───────────────────────────────────────────


def pad(
    samples: Sequence[tuple[np.ndarray, int]],
    length: int | None = None,
    to: Callable[[np.ndarray], Any] = np.asarray,
) -> tuple[Any, Any]:
    """Return samples as a batch: clips (n, length, WIDTH) with zeros behind, and classes (n,).

    length: None for that of the longest clip among them. to: what makes of the two arrays what is
    returned, such as torch.as_tensor. Raises ValueError for a clip that is longer.
    """
    most = max(len(clip) for clip, _ in samples)
    length = most if length is None else length
    if most > length:
        raise ValueError(f"a clip of {most} moments does not fit into {length}")
    x = np.zeros((len(samples), length, WIDTH), np.float32)
    for row, (clip, _) in zip(x, samples, strict=True):
        row[: len(clip)] = clip
    return to(x), to(np.array([label for _, label in samples]))


class Clips:
    """Clips of different lengths, float32 (moments, WIDTH), and their classes; some work to read.

    longest: moments of the longest. weights: one for each class, as a list of floats. pad: the
    function above.
    """

    pad = staticmethod(pad)

    def __init__(self, count: int, longest: int = 40, seed: int = 0, work: int = 1) -> None:
        random = np.random.default_rng(seed)
        self.lengths = random.integers(longest // 4, longest + 1, count).tolist()
        self.weights = [round(float(w), 3) for w in random.uniform(0.5, 2, CLASSES)]
        self.longest, self.seed, self.work = max(self.lengths), seed, work

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, number: int) -> tuple[np.ndarray, int]:
        """Return clip `number` and its class."""
        if not 0 <= number < len(self):
            raise IndexError(number)
        random = np.random.default_rng([self.seed, number])
        clip = random.normal(0, 1, (self.work, self.lengths[number], WIDTH)).mean(0)  # "decoded"
        label = int(random.integers(CLASSES))
        return (clip * self.work**0.5 + label / 2).astype(np.float32), label


def network(nn: Any, relu: Callable, seed: int, hidden: int = HIDDEN) -> Any:
    """Return a network that sums over a clip's moments, so that zeros behind it change nothing."""

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.each = nn.Linear(WIDTH, hidden, bias=False)
            self.out = nn.Linear(hidden, CLASSES)

        def forward(self, x: Any) -> Any:
            return self.out(relu(self.each(x)).sum(1) / 8)

    made, random = Network(), np.random.default_rng([seed, 1])
    for parameter in made.parameters():
        values = random.normal(0, 0.2, tuple(parameter.shape)).astype(np.float32)
        _set(parameter, values)
    return made


def _set(parameter: Any, values: np.ndarray) -> None:
    if isinstance(parameter, proflab.Tensor):
        parameter.array[...] = values
    else:
        import torch

        parameter.data = torch.from_numpy(values)


# ── torch and a card, counted ────────────────────────────────────────────────────────────────


class Notes:
    """Hold a run's events in order ("read", "send", "wait", "step", "load"), and its lengths.

    A "wait" is a copy to the card that is waited for. lengths: of the batches.
    """

    def __init__(self) -> None:
        self.events: list[str] = []
        self.lengths: list[int] = []
        self.main, self.by_worker = threading.get_ident(), False

    def add(self, what: str) -> None:
        """Note an event."""
        self.events.append(what)

    def before_last_step(self, what: str) -> int:
        """Return how often something happened before the last step began."""
        steps = [at for at, event in enumerate(self.events) if event == "step"]
        return self.events[: steps[-1] if steps else None].count(what)

    def after_first_step(self, what: str) -> int:
        """Return how often something happened once the first step had begun."""
        return self.events[self.events.index("step") :].count(what) if "step" in self.events else 0


class OnDevice:
    """A tensor of the double: one of ProfLab's, with a device; reading it from the card is noted.

    What is not named here is ProfLab's, on the same device.
    """

    def __init__(
        self, inner: proflab.Tensor, device: str, notes: Notes, pinned: bool = False
    ) -> None:
        self._inner, self._device, self._notes, self._pinned = inner, device, notes, pinned

    @property
    def device(self) -> str:
        """Return "cuda" or "cpu"."""
        return proflab.device(self._device)

    @property
    def is_cuda(self) -> bool:
        """Return True on the card."""
        return self._device == "cuda"

    def to(self, *given: Any, **named: Any) -> OnDevice:
        """Return the tensor on another device, of another type, or both."""
        named.pop("copy", None)
        device, queued = named.pop("device", None), named.pop("non_blocking", False)
        rest = []
        for value in given:
            if isinstance(value, str) or isinstance(value, OnDevice):
                device = value.device if isinstance(value, OnDevice) else value
            elif isinstance(value, bool):
                queued = value
            else:
                rest.append(value)
        inner = self._inner.to(*rest, **named) if rest or named else self._inner
        place = _place(device) if device is not None else self._device
        return self._moved(inner, place, queued and inner is self._inner)

    def cuda(self, device: Any = None, non_blocking: bool = False, **named: Any) -> OnDevice:
        """Return the tensor on the card."""
        return self._moved(self._inner, "cuda", non_blocking)

    def cpu(self) -> OnDevice:
        """Return the tensor in the host's memory."""
        return self._moved(self._inner, "cpu")

    def pin_memory(self, *given: Any) -> OnDevice:
        """Return the tensor in memory that the card reads itself; RuntimeError on the card."""
        if self.is_cuda:
            raise RuntimeError("cannot pin a tensor on the card: only one of the host")
        return OnDevice(self._inner, "cpu", self._notes, pinned=True)

    def is_pinned(self) -> bool:
        """Return True for what pin_memory or a loader with pin_memory=True has made."""
        return self._pinned

    def numpy(self) -> np.ndarray:
        """Return the array of a tensor in the host's memory; TypeError on the card, as in torch."""
        if self.is_cuda:
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()")
        return self._inner.numpy()

    def _moved(self, inner: proflab.Tensor, device: str, queued: bool = False) -> OnDevice:
        """Note a copy between host and card; one from pageable memory cannot be queued."""
        if device == self._device:
            return OnDevice(inner, device, self._notes, self._pinned and inner is self._inner)
        self._notes.add("send" if device == "cuda" else "read")
        if device == "cuda" and not (queued and self._pinned):
            self._notes.add("wait")
        return OnDevice(inner, device, self._notes)

    def _read(self) -> proflab.Tensor:
        if self.is_cuda:
            self._notes.add("read")
        return self._inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name in ("item", "tolist", "nonzero", "equal", "allclose"):
            self._read()
        return _wrapped(found, self._device, self._notes)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._inner, name, _inner(value, []))


def _reading(name: str) -> Callable:
    return lambda self, *given: getattr(self._read(), name)(*given)


def _operator(name: str) -> Callable:
    def operator(self: OnDevice, *given: Any) -> Any:
        return _called(getattr(self._inner, name), self._notes, given, {}, [self._device])

    return operator


for _name in ("__float__", "__int__", "__bool__", "__index__", "__repr__", "__format__"):
    setattr(OnDevice, _name, _reading(_name))
_ARITHMETIC = ("add", "sub", "mul", "truediv", "pow", "matmul", "floordiv", "mod")
for _name in (
    *(f"__{side}{name}__" for name in _ARITHMETIC for side in ("", "r", "i")),
    *(f"__{name}__" for name in ("neg", "lt", "le", "gt", "ge", "eq", "ne", "getitem", "setitem")),
    *("__len__", "__iter__"),
):
    if hasattr(proflab.Tensor, _name):
        setattr(OnDevice, _name, _operator(_name))


class Torch:
    """torch as far as a training loop needs it; all that is not named here is ProfLab's."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self.nn = _Names(proflab.nn, notes, functional=_Names(functional, notes))
        self.utils = _Given(data=_Given(DataLoader=self._loader))
        self.cuda = _Given(
            is_available=lambda: True,
            synchronize=lambda *_: notes.add("read"),
            current_device=lambda: 0,
        )

    def device(self, name: Any, *number: int) -> Any:
        """Return the device of this name."""
        return proflab.device(_place(name))

    def _loader(
        self, dataset: Any, batch_size: int = 1, shuffle: bool = False, **how: Any
    ) -> _Loader:
        return _Loader(self, self._notes, dataset, batch_size, shuffle, **how)

    def __getattr__(self, name: str) -> Any:
        found = getattr(proflab, name)
        if name not in _MAKERS:
            return _wrapped(found, "cpu", self._notes)

        def make(*given: Any, device: Any = None, pin_memory: bool = False, **named: Any) -> Any:
            places: list[str] = []
            made = found(*_inner(given, places), **_inner(named, places))
            place = _place(device) if device is not None else (places or ["cpu"])[0]
            if name in _FROM_HOST and place == "cuda" and "cuda" not in places:
                self._notes.add("send")
                self._notes.add("wait")
            pinned = pin_memory and place == "cpu"
            return OnDevice(made, place, self._notes, pinned)

        return make


_FROM_HOST = ("tensor", "as_tensor")
_MAKERS = (*_FROM_HOST, "zeros", "ones", "full", "empty", "arange", "zeros_like", "ones_like")


class _Loader:
    """torch.utils.data.DataLoader: with workers, samples are read elsewhere.

    With pin_memory=True it pins a batch's tensors; arrays stay where they are, as in torch.
    """

    def __init__(
        self,
        torch: Torch,
        notes: Notes,
        data: Any,
        batch_size: int,
        shuffle: bool,
        *,
        num_workers: int = 0,
        collate_fn: Callable | None = None,
        drop_last: bool = False,
        pin_memory: bool = False,
        **others: Any,
    ) -> None:
        known = {"prefetch_factor", "persistent_workers", "timeout", "multiprocessing_context"}
        if set(others) - known:
            raise TypeError(f"DataLoader has no argument {min(set(others) - known)!r} here")
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative")
        self.torch, self.notes, self.data, self.batch_size = torch, notes, data, batch_size
        self.dataset, self.num_workers = data, num_workers
        self.shuffle, self.collate, self.drop_last = shuffle, collate_fn, drop_last
        self.pin_memory = pin_memory

    def __len__(self) -> int:
        whole, rest = divmod(len(self.data), self.batch_size)
        return whole + bool(rest and not self.drop_last)

    def __iter__(self) -> Iterator[Any]:
        order = list(range(len(self.data)))
        if self.shuffle:
            np.random.default_rng(len(order)).shuffle(order)
        for number in range(len(self)):
            part = order[number * self.batch_size : (number + 1) * self.batch_size]
            before = self.notes.by_worker
            self.notes.by_worker = before or self.num_workers > 0
            try:
                samples = [self.data[n] for n in part]
                batch = self.collate(samples) if self.collate else _stacked(samples)
            finally:
                self.notes.by_worker = before
            batch = batch if self.collate else tuple(map(self.torch.as_tensor, batch))
            yield _pinned(batch) if self.pin_memory else batch


def _pinned(batch: Any) -> Any:
    if isinstance(batch, (list, tuple)):
        return type(batch)(map(_pinned, batch))
    if isinstance(batch, dict):
        return {key: _pinned(each) for key, each in batch.items()}
    return batch.pin_memory() if isinstance(batch, OnDevice) else batch


def _stacked(samples: list) -> tuple[np.ndarray, np.ndarray]:
    lengths = [len(clip) for clip, _ in samples]
    if len(set(lengths)) > 1:
        raise RuntimeError(f"stack expects each tensor to be equal size, but got {lengths}")
    return pad(samples)


class _Given:
    """Names as given, and no others."""

    def __init__(self, **names: Any) -> None:
        self.__dict__.update(names)


class _Names:
    """A module of ProfLab's whose functions take and return the double's tensors."""

    def __init__(self, module: Any, notes: Notes, **others: Any) -> None:
        self._module, self._notes = module, notes
        self.__dict__.update(others)

    def __getattr__(self, name: str) -> Any:
        return _wrapped(getattr(self._module, name), "cpu", self._notes)


def _place(device: Any) -> str:
    return "cuda" if isinstance(device, int) or str(device).startswith("cuda") else "cpu"


def _inner(value: Any, places: list[str]) -> Any:
    """Return a value with ProfLab's tensors in place of the double's; adds their devices."""
    if isinstance(value, OnDevice):
        if value.shape:  # torch lets a single number of the host take part
            places.append(value._device)
        elif value.is_cuda:
            places.append("cuda")
        return value._inner
    if isinstance(value, (list, tuple)):
        return type(value)(_inner(each, places) for each in value)
    if isinstance(value, dict):
        return {key: _inner(each, places) for key, each in value.items()}
    return value


def _wrapped(value: Any, device: str, notes: Notes) -> Any:
    if isinstance(value, proflab.Tensor):
        return OnDevice(value, device, notes)
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], proflab.Tensor):
        return type(value)(OnDevice(each, device, notes) for each in value)
    if callable(value) and not isinstance(value, type):
        return lambda *given, **named: _called(value, notes, given, named, [device])
    return value


def _called(what: Callable, notes: Notes, given: Any, named: Any, places: list[str]) -> Any:
    """Call a function of ProfLab's; RuntimeError where tensors of two devices meet, as in torch."""
    own = places if getattr(what, "__self__", None) is not None else []
    inner, kept = _inner(given, own), _inner(named, own)
    if len(set(own)) > 1:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            "cuda:0 and cpu!"
        )
    return _wrapped(what(*inner, **kept), (own or ["cpu"])[0], notes)


class _OnCard:
    """A network on the card; its parameters are, too."""

    def __init__(self, inner: Any, notes: Notes) -> None:
        self._inner, self._notes = inner, notes

    def __call__(self, x: Any) -> OnDevice:
        if not isinstance(x, OnDevice) or not x.is_cuda:
            raise RuntimeError("the network is on the card, and its input is not")
        self._notes.lengths.append(x.shape[1])
        return OnDevice(self._inner(x._inner), "cuda", self._notes)

    def parameters(self) -> Iterator[OnDevice]:
        """Yield the parameters, on the card."""
        return (OnDevice(each, "cuda", self._notes) for each in self._inner.parameters())

    def train(self, mode: bool = True) -> _OnCard:
        """Return the network."""
        return self


class _Optimizer:
    """SGD with momentum, whose steps are noted."""

    def __init__(self, inner: Any, notes: Notes) -> None:
        self._inner, self._notes = inner, notes

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Take away the gradients."""
        self._inner.zero_grad()

    def step(self) -> None:
        """Change the parameters."""
        self._inner.step()
        self._notes.add("step")


class _NotedClips(Clips):
    def __init__(self, notes: Notes, *given: Any) -> None:
        super().__init__(*given)
        self._notes = notes

    def __getitem__(self, number: int) -> tuple[np.ndarray, int]:
        if threading.get_ident() == self._notes.main and not self._notes.by_worker:
            self._notes.add("load")
        return super().__getitem__(number)


def count_waits(
    train: Callable, clips: int = 24, batch: int = 4, longest: int = 40, seed: int = 0
) -> dict[str, Any]:
    """Run train(torch, model, optimizer, clips, device, batch) on the double; return the counts.

    The dict's keys:
        losses: what it returned
        weights: the last layer's bias after it
        read_backs: how often a tensor was read from the card before the last step
        sent: how often one was sent to the card
        copy_waits: copies to the card that were waited for, once the first step had begun: all but
            those from pinned memory with non_blocking=True
        lengths: the lengths of the batches that the model saw, each once, sorted
        read_here: clips that this thread read itself
    """
    notes = Notes()
    inner = network(proflab.nn, functional.relu, seed)
    optimizer = proflab.optim.SGD(inner.parameters(), lr=0.1, momentum=0.9)
    data = _NotedClips(notes, clips, longest, seed)
    model, sgd = _OnCard(inner, notes), _Optimizer(optimizer, notes)
    losses = train(Torch(notes), model, sgd, data, proflab.device("cuda"), batch)
    return {
        "losses": losses,
        "weights": [float(value) for value in list(inner.parameters())[-1].array],
        "read_backs": notes.before_last_step("read"),
        "sent": notes.events.count("send"),
        "copy_waits": notes.after_first_step("wait"),
        "lengths": sorted(set(notes.lengths)),
        "read_here": notes.events.count("load"),
    }


# ── torch itself ─────────────────────────────────────────────────────────────────────────────


def on_torch(slow: Callable, train: Callable) -> str:
    """Run two loops on torch itself, in turns, and return a line on their times and losses.

    On a card if there is one, else on the processor, where no queue runs empty. Where torch is not
    installed the line says so. Raises AssertionError where the losses differ.
    """
    try:
        import torch
    except ImportError:
        return "torch is not installed: the loop has run on its double alone."
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = Clips(demo_size(640, 32), demo_size(200, 20), work=20)
    ms: dict[Callable, list[float]] = {slow: [], train: []}
    losses: dict[Callable, list[float]] = {}
    for _ in range(demo_size(6, 2)):
        for loop, times in ms.items():
            model = network(torch.nn, torch.relu, 0, 512).to(device)
            sgd = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9)
            begin = time.perf_counter()
            with warnings.catch_warnings():  # a loader that shall pin memory, without a card
                warnings.filterwarnings("ignore", ".*pin_memory.*")
                losses[loop] = loop(torch, model, sgd, data, device, 16)
            times.append(1e3 * (time.perf_counter() - begin))
    if not np.allclose(losses[slow], losses[train], rtol=1e-2, atol=1e-3):
        raise AssertionError("the two loops do not return the same losses")
    before, after = (float(np.median(times)) for times in ms.values())
    where = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    return f"torch, {where}: {before:.0f} ms an epoch before, {after:.0f} after; the same losses"
