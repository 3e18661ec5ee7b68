"""Traces of a training loop on a card that does not exist, as torch.profiler would write them.

A host issues ops one after the other, a device works on what is queued: that alone makes the
gaps. How long each op and kernel takes stands in `construct_train.ASSUMED`.
"""

from __future__ import annotations

from solved import TRACES as events

MAIN, BACKWARD, LOADER = 1, 2, 3  # threads of the host
COMPUTE, COPIES = 7, 20  # streams of the device
_BETWEEN = 0.2  # µs from the end of an op to the next: none begins before another ends
LAYERS = ("conv1", "layer1", "layer2", "layer3", "layer4")
# Kernels of a layer: op, the op inside it, the kernel, share of the layer's time.
FORWARD = (
    ("aten::conv2d", "aten::cudnn_convolution", "turing_fp16_s1688cudnn_fp16_256x64", 0.55),
    ("aten::batch_norm", "aten::cudnn_batch_norm", "cudnn::bn_fw_tr_1C11_kernel_NHWC", 0.3),
    ("aten::relu", "aten::clamp_min", "vectorized_elementwise_kernel", 0.15),
)
BACKWARD_OF = {
    "aten::relu": ("ReluBackward0", "aten::threshold_backward"),
    "aten::batch_norm": ("CudnnBatchNormBackward0", "aten::cudnn_batch_norm_backward"),
    "aten::conv2d": ("ConvolutionBackward0", "aten::convolution_backward"),
}


# Ops that ask for memory before they launch: how often.
EMPTIES = {"aten::cudnn_batch_norm": 4, "aten::cudnn_batch_norm_backward": 4}


class Machine:
    """A host with a clock and a device with a queue for each stream; notes what they do."""

    def __init__(self, assumed: dict, random) -> None:
        self.assumed, self.random = assumed, random
        self.now, self.thread, self.count = 0.0, MAIN, 0
        self.free = {COMPUTE: 0.0, COPIES: 0.0}
        self.noted: list[dict] = []

    def host(self, name: str, us: float, inside=None, cat="cpu_op") -> None:
        """Let the host take `us` for an op, with what `inside` does in its middle."""
        start, half = self.now, self._noisy(us) / 2
        self.now += half
        if inside:
            inside()
        self.now += half
        self.noted.append(events.op(name, _us(start), _us(self.now - start), self.thread, cat))
        self.now += _BETWEEN

    def launch(self, kernel: str, us: float, stream: int = COMPUTE) -> None:
        """Queue a kernel: it starts when the device is free, and not before it has arrived."""
        self._call("cudaLaunchKernel", self.assumed["µs of a launch"])
        self._queue("kernel", kernel, self._noisy(us), stream)

    def copy(self, name: str, us: float, wait: bool, stream: int = COMPUTE) -> None:
        """Queue a copy; one of pageable memory keeps its caller until it is done (`wait`)."""
        self.count += 1
        done = self._queue("gpu_memcpy", name, self._noisy(us), stream)
        keeps = done - self.now if wait else self.assumed["µs of a launch"]
        self._note_call("cudaMemcpyAsync", keeps)
        if wait:
            self._call("cudaStreamSynchronize", self.assumed["µs of a wait that is over"])

    def wait(self) -> None:
        """Let the host wait until the device is done."""
        left = max(max(self.free.values()) - self.now, 0)
        self._call("cudaDeviceSynchronize", left + self.assumed["µs of a wait that is over"])

    def _call(self, name: str, us: float) -> None:
        self.count += 1
        self._note_call(name, us)

    def _note_call(self, name: str, us: float) -> None:
        self.noted.append(events.launch(_us(self.now), _us(us), self.count, name, self.thread))
        self.now += us

    def _queue(self, cat: str, name: str, us: float, stream: int) -> float:
        start = max(self.now + self.assumed["µs from a launch to its start"], self.free[stream])
        self.free[stream] = start + us
        self.noted.append(events.kernel(name, _us(start), _us(us), self.count, stream, cat))
        return self.free[stream]

    def _noisy(self, us: float) -> float:
        return us * (1 + abs(float(self.random.normal(0, self.assumed["noise"]))))


def trace(
    assumed: dict,
    random,
    steps: int,
    *,
    loader_us: float,
    workers: int,
    pin: bool,
    faults: tuple[str, ...],
) -> dict:
    """Return the trace of so many steps. loader_us: how long the host waits for a batch."""
    machine = Machine(assumed, random)
    for number in range(steps):
        name = f"ProfilerStep#{number}"
        machine.host(
            name,
            60.0,
            lambda: _step(machine, loader_us, workers, pin, faults),
            "user_annotation",
        )
    machine.wait()  # as the profiler does when it stops
    noted = sorted(machine.noted, key=lambda event: (event["ts"], -event["dur"]))
    return events.trace(*noted)


def _step(machine: Machine, loader_us: float, workers: int, pin: bool, faults) -> None:
    kind = "_MultiProcessingDataLoaderIter" if workers else "_SingleProcessDataLoaderIter"
    machine.host(f"enumerate(DataLoader)#{kind}.__next__", loader_us)
    assumed, host_us = machine.assumed, machine.assumed["µs of an op on the host"]
    rate = "pinned" if pin else "pageable"
    moved = assumed[f"µs to copy a batch from {rate} memory"]
    name = f"Memcpy HtoD ({'Pinned' if pin else 'Pageable'} -> Device)"
    stream = COPIES if pin else COMPUTE

    def transfer() -> None:
        machine.copy(name, moved, wait=not pin, stream=stream)

    def to() -> None:
        machine.host("aten::copy_", host_us, transfer)

    machine.host("aten::to", host_us, to)
    if pin:  # the compute stream waits for the copy, the host does not
        machine.free[COMPUTE] = max(machine.free[COMPUTE], machine.free[COPIES])
    _forward(machine)
    if "transfer" in faults:
        small = assumed["µs to copy the classes' weights"]
        fault = "Memcpy HtoD (Pageable -> Device)"
        machine.host("aten::to", host_us, lambda: machine.copy(fault, small, wait=True))
    loss = ("aten::cross_entropy_loss", "aten::log_softmax", "softmax_warp_forward")
    _op(machine, loss, assumed["µs of the loss"])
    _backward(machine)
    machine.host("Optimizer.step#SGD.step", 40.0, lambda: _optimizer(machine), "user_annotation")
    if "item" in faults:
        _item(machine)
        machine.now += assumed["µs to write the loss down"]


def _op(machine: Machine, names: tuple[str, str, str], kernel_us: float) -> None:
    outer, inner, kernel = names
    us = machine.assumed["µs of an op on the host"]

    def work() -> None:
        for _ in range(EMPTIES.get(inner, 0)):
            machine.host("aten::empty", machine.assumed["µs to ask for memory"])
        machine.launch(kernel, kernel_us)

    machine.host(outer, us, lambda: machine.host(inner, us, work))


def _forward(machine: Machine) -> None:
    for layer in LAYERS:
        each = machine.assumed["µs of a layer's kernels, forward"][layer]
        for *names, share in FORWARD:
            _op(machine, tuple(names), share * each)
    linear = ("aten::linear", "aten::addmm", "volta_fp16_s884gemm_fp16_64x64_ldg8")
    _op(machine, linear, machine.assumed["µs of the loss"])


def _backward(machine: Machine) -> None:
    machine.thread = BACKWARD
    us = machine.assumed["µs of an op on the host"]
    for layer in reversed(LAYERS):
        each = 2 * machine.assumed["µs of a layer's kernels, forward"][layer]
        for op, _, kernel, share in reversed(FORWARD):
            node, inner = BACKWARD_OF[op]
            names = (node, inner, kernel.replace("fw", "bw").replace("1688", "1688_dgrad"))
            evaluate = f"autograd::engine::evaluate_function: {node}"
            machine.host(evaluate, us, lambda n=names, d=share * each: _op(machine, n, d))
    machine.thread = MAIN


def _optimizer(machine: Machine) -> None:
    us = machine.assumed["µs of an op on the host"]
    for op in ("aten::_foreach_mul_", "aten::_foreach_add_", "aten::_foreach_add_"):
        kernel_us = machine.assumed["µs of an optimizer's kernel"]
        machine.host(op, us, lambda d=kernel_us: machine.launch("multi_tensor_apply_kernel", d))


def _item(machine: Machine) -> None:
    us = machine.assumed["µs of an op on the host"]
    back = "Memcpy DtoH (Device -> Pageable)"
    machine.host(
        "aten::item",
        us,
        lambda: machine.host(
            "aten::_local_scalar_dense", us, lambda: machine.copy(back, 2.0, wait=True)
        ),
    )


def _us(value: float) -> float:
    return round(value, 3)
