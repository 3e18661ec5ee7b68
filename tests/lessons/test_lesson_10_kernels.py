"""Lesson 10's kernels: they compile for cards of three ages, do what they say, and are kept whole.

Nothing here needs a card. NVRTC compiles each kernel for three of them, and g++, where it is
installed, runs each thread by thread.
"""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
from cohort.run import ROOT, entries, solved
from cuda_on_cpu import GXX, RawKernel, fake_gpu, parameters
from lesson_cells import lesson_text
from lesson_demos import beside
from nvrtc import Code, CompileError, compile_kernel

from proflab.lesson.cuda import multiprocessor

doubles = beside("10_cuda_roofline", "kernel_doubles")
documents = beside("10_cuda_roofline", "roofline_document")
loops = beside("10_cuda_roofline", "loops")
workloads = beside("10_cuda_roofline", "workloads")

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")  # T4, A100, H100 and H200
needs_gxx = pytest.mark.skipif(not GXX, reason="g++ is not installed")
SCOPE = solved("lesson_10").scope
FMA_SOURCE = SCOPE["demos"].chains(SCOPE["GPU_FMA"], SCOPE["fma_lines"])
STREAM_SOURCE = SCOPE["demos"].streams(SCOPE["GPU_STREAM"], SCOPE["stream_line"])
TEXT = lesson_text(ROOT / "modules/10_cuda_roofline/10_cuda_roofline.py")
X, Y = 0.75, 0.5


def kernels() -> dict[str, str]:
    """Name of an entry → source, of every kernel that the lesson launches."""
    found = {f"fma_chains, {n}": FMA_SOURCE(n) for n in (1, 2, 4, 8)}
    found |= {f"stream, {name}": STREAM_SOURCE(name) for name in ("copy", "scale", "triad")}
    found |= {f"fmas_each, {n}": loops.SWEEP.substitute(fmas=n) for n in (1, 64, 1024)}
    return found | {"chain": workloads.FUSED_CHAIN, "nothing": loops.NOTHING}


KERNELS = kernels()


@pytest.fixture(params=ARCHITECTURES)
def compiled(request):
    """A function from a kernel's name, or a source and its entry, to what a card gets of it."""

    def compile_for(name: str, source: str = "") -> Code:
        return compile_kernel(source or KERNELS[name], name.split(",")[0], request.param)

    return compile_for


def chain_lengths(code: Code) -> list[int]:
    """How many FMAs of the unrolled loop wait for one another, for each accumulator."""
    first = code.ptx[code.ptx.index("fma.rn.f32") :]
    first = first[: first.index("bra")]
    depth: dict[str, int] = {}
    for out, read in re.findall(r"fma\.rn\.f32\s+%f(\d+), %f(\d+)", first):
        depth[out] = depth.pop(read, 0) + 1
    return list(depth.values())


# ── what the compiler makes of them ──────────────────────────────────────────────────────────


def test_what_is_no_cuda_is_not_compiled():
    with pytest.raises(CompileError, match="expected a"):
        compile_kernel(KERNELS["nothing"].replace("{}", "{ float a = ; }"), "nothing", "sm_75")


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_compiles_within_its_registers(compiled, name):
    code = compiled(name)
    assert f".visible .entry {name.split(',')[0]}(" in code.ptx
    assert code.spilled == 0
    # So that 1,024 threads of 65,536 registers can be on a multiprocessor at once.
    assert 0 < code.registers <= 64


@pytest.mark.parametrize("accumulators", [1, 2, 4, 8])
def test_every_fma_of_the_chains_is_in_the_code(compiled, accumulators):
    code = compiled(f"fma_chains, {accumulators}")
    # The loop is unrolled eight times, and once more for the turns that are left over.
    assert code.ptx.count("fma.rn.f32") == code.instructions["FFMA"] == 9 * accumulators
    assert chain_lengths(code) == [8] * accumulators
    assert code.instructions["STG"] == 1 and code.instructions["LDG"] == 0


@pytest.mark.parametrize("fmas", [1, 64, 1024])
def test_the_sweep_does_as_many_fmas_with_each_float_as_its_row_says(compiled, fmas):
    code = compiled(f"fmas_each, {fmas}")
    unrolled = min(fmas, 16)
    assert code.ptx.count("fma.rn.f32") == code.instructions["FFMA"] == 4 * unrolled
    assert code.ptx.count("ld.global.cg.v4.f32") == code.ptx.count("st.global.cg.v4.f32") == 1
    turns = re.findall(r"setp\.\w+\.[us]32\s+%p\d+, %r\d+, (\d+);", code.ptx)
    steps = re.findall(r"add\.[us]32\s+%r\d+, %r\d+, (\d+);", code.ptx)
    # A loop counts to what it is given in steps of 16; without one nothing is counted.
    assert (turns[-1:], steps[-1:]) == (([str(fmas)], ["16"]) if fmas > 16 else ([], []))


@pytest.mark.parametrize(
    "name, reads, work", [("copy", 1, {}), ("scale", 1, {"FMUL": 4}), ("triad", 2, {"FFMA": 4})]
)
def test_a_stream_moves_sixteen_bytes_at_once_past_l1(compiled, name, reads, work):
    code = compiled(f"stream, {name}")
    assert code.ptx.count("ld.global.cg.v4.f32") == code.instructions["LDG"] == reads
    assert code.ptx.count("st.global.cg.v4.f32") == code.instructions["STG"] == 1
    assert len(re.findall(r"(?:ld|st)\.(?:global|local)", code.ptx)) == reads + 1
    for kind in ("FFMA", "FMUL", "FADD"):
        assert code.instructions[kind] == work.get(kind, 0)


def test_the_fused_chain_reads_and_writes_each_float_once(compiled):
    found = compiled("chain").instructions
    assert (found["LDG"], found["STG"]) == (1, 1)


def test_a_kernel_that_does_nothing_has_no_memory_access_and_no_arithmetic(compiled):
    assert set(compiled("nothing").instructions) == {"other"}


def test_what_is_not_stored_is_not_computed(compiled):
    source = KERNELS["fma_chains, 4"]
    without = compiled("fma_chains", re.sub(r"out\[i\] = .*;", "", source))
    assert without.instructions["FFMA"] == 0
    without = compiled("fma_chains", source.replace("a0 + a1 + a2 + a3", "a0 + a2"))
    assert without.instructions["FFMA"] == 9 * 2


@pytest.mark.parametrize(
    "exercise, entry, argument",
    [
        ("fma_lines", "fma_chains", 4),
        ("stream_line", "stream", "scale"),
        ("stream_line", "stream", "triad"),
    ],
)
def test_other_right_lines_become_the_same_arithmetic(exercise, entry, argument):
    around = {
        "fma_lines": lambda lines: SCOPE["demos"].chains(SCOPE["GPU_FMA"], lines),
        "stream_line": lambda line: SCOPE["demos"].streams(SCOPE["GPU_STREAM"], line),
    }[exercise]
    wanted = compile_kernel(around(SCOPE[exercise])(argument), entry, "sm_75").instructions
    for sentence, code in entries("lesson_10", "ALTERNATES")[exercise].items():
        scope = dict(SCOPE)
        exec(code, scope)
        found = compile_kernel(around(scope[exercise])(argument), entry, "sm_75").instructions
        assert (found["FFMA"], found["FMUL"]) == (wanted["FFMA"], wanted["FMUL"]), sentence


# ── what the lesson says of the card's hardware ──────────────────────────────────────────────


def test_the_chains_registers_are_those_of_the_text_and_leave_room_for_all_threads():
    found = [
        compile_kernel(KERNELS[f"fma_chains, {n}"], "fma_chains", "sm_75").registers for n in (1, 8)
    ]
    assert f"{found[0]} registers a thread with one accumulator and {found[1]} with eight" in TEXT
    limits = multiprocessor({"name": "T4", "compute_capability": [7, 5]})
    assert {SCOPE["occupancy"](128, each, 0, limits) for each in found} == {1.0}


def test_a_stream_fetches_whole_sectors_and_an_fma_kernel_stores_them():
    float4, floats = [16 * i for i in range(32)], [4 * i for i in range(32)]
    assert SCOPE["warp_sectors"](float4, 16) * 32 == 16 * 32
    assert SCOPE["warp_sectors"](floats, 4) * 32 == 4 * 32


# ── what they do, thread by thread ───────────────────────────────────────────────────────────


@needs_gxx
@pytest.mark.parametrize("name", ["copy", "scale", "triad"])
def test_a_stream_kernel_does_its_line_to_every_element(name):
    n = 1000
    out = np.full(n, -1, np.float32)
    b, c = np.arange(n, dtype=np.float32), np.arange(n, dtype=np.float32)[::-1].copy()
    kernel = RawKernel(KERNELS[f"stream, {name}"], "stream")
    kernel((3,), (32,), (out, b, c, np.float32(2), np.int32(n // 4), np.int32(2)))
    assert np.array_equal(out, {"copy": b, "scale": 2 * b, "triad": b + 2 * c}[name])


@needs_gxx
@pytest.mark.parametrize("accumulators", [1, 4, 8])
def test_fma_chains_add_up_what_each_accumulator_holds(accumulators):
    out = np.zeros(64, np.float32)
    kernel = RawKernel(KERNELS[f"fma_chains, {accumulators}"], "fma_chains")
    kernel((2,), (32,), (out, np.float32(X), np.float32(Y), np.int32(10)))
    values = X + np.arange(64)[:, None] + np.arange(accumulators)
    for _ in range(10):
        values = values * X + Y
    assert np.allclose(out, values.sum(1), rtol=1e-5)


@needs_gxx
@pytest.mark.parametrize("fmas", [1, 64])
def test_the_sweep_does_so_many_fmas_with_each_float(fmas):
    here, there = np.linspace(-4, 4, 1024, dtype=np.float32), np.zeros(1024, np.float32)
    kernel = RawKernel(KERNELS[f"fmas_each, {fmas}"], "fmas_each")
    kernel((2,), (256,), (there, here, np.float32(X), np.float32(Y), np.int32(256)))
    wanted = here.astype(float)
    for _ in range(fmas):
        wanted = wanted * X + Y
    assert np.allclose(there, wanted, rtol=1e-5, atol=1e-6)


@needs_gxx
def test_the_fused_chain_is_the_chain():
    from proflab import Tensor
    from proflab.nn import functional as F

    here, there = np.linspace(-4, 4, 512, dtype=np.float32), np.zeros(512, np.float32)
    RawKernel(KERNELS["chain"], "chain")((2,), (256,), (there, here))
    assert np.allclose(there, workloads.chain(F, Tensor(here)).numpy(), rtol=1e-6)


def test_parameters_are_read_from_a_source():
    wanted = [("float4*", "out"), ("const float4*", "in"), ("float", "x")]
    assert parameters(KERNELS["fmas_each, 1"], "fmas_each")[:3] == wanted
    assert parameters(KERNELS["nothing"], "nothing") == []


@pytest.fixture
def gpu(monkeypatch):
    monkeypatch.setenv("PROFLAB_DEMO", "small")
    return fake_gpu()


def check(kind: str, rows: list[dict]) -> list[dict]:
    """The rows, which must be such as a document takes."""
    for number, row in enumerate(rows):
        documents._check_row(kind, row, f"{kind}[{number}]")
    assert rows
    return rows


def test_the_fma_cells_rows_all_do_the_same_work_a_thread(gpu, monkeypatch):
    monkeypatch.setattr("cuda_on_cpu.compiled", lambda *kernel: lambda *launch: None)
    rows = check("fma", list(loops.fma(gpu, FMA_SOURCE)))
    assert [row["accumulators"] for row in rows] == [1, 2, 4, 8] * 2
    assert {row["fmas"] * row["accumulators"] for row in rows} == {2**18}
    assert {row["threads"] for row in rows} == {2 * 128, 2 * 1024}


@pytest.mark.whole
def test_the_stream_cells_rows_go_from_cache_to_memory(gpu):
    rows = check("stream", list(loops.stream(gpu, STREAM_SOURCE)))
    copies = [row for row in rows if row["kernel"] == "copy"]
    moved = [SCOPE["stream_bytes"](r["elements"], 1, 1, 4) for r in copies]
    top = 3 * 2**23
    assert moved == [*(2**power for power in range(18, 25)), top]
    totals = [row["passes"] * size for row, size in zip(copies, moved, strict=True)]
    assert all(top / 2 < total <= top for total in totals)
    assert [(row["kernel"], row["reads"], row["passes"]) for row in rows[-2:]] == [
        ("scale", 1, 1),
        ("triad", 2, 1),
    ]
    triad = SCOPE["stream_bytes"](rows[-1]["elements"], 2, 1, 4)
    assert triad == top and all(row["elements"] % 4 == 0 for row in rows)


def test_the_in_flight_cells_rows_fill_a_multiprocessor(gpu, monkeypatch):
    launched = set()
    run = lambda grid, block, *rest: launched.add(grid * block)  # noqa: E731
    monkeypatch.setattr("cuda_on_cpu.compiled", lambda *kernel: run)
    for capability, room in (([7, 5], 1024), ([8, 0], 2048)):
        gpu.card = {**gpu.card, "compute_capability": capability}
        rows = check("in_flight", list(loops.in_flight(gpu, STREAM_SOURCE)))
        assert (rows[0]["threads"], rows[-1]["threads"]) == (32, room)
        if GXX:  # all of the last row's threads were launched
            assert max(launched) == room * gpu.card["multiprocessors"]


@pytest.mark.parametrize("l2_mib, largest_mib", [(4, 768), (50, 3072), (60, 3072)])
def test_the_largest_streams_are_far_larger_than_any_cards_cache(monkeypatch, l2_mib, largest_mib):
    """A T4 has 4 MiB, an H200 50 or, as its driver counts, 60: a few percent may still be in it."""
    monkeypatch.delenv("PROFLAB_DEMO", raising=False)
    card = SimpleNamespace(card={"l2_bytes": l2_mib * 2**20, "multiprocessors": 1})
    card.cupy = SimpleNamespace(ones=lambda *size, **kind: None, RawKernel=lambda *source: None)
    card.row = lambda what, launch, flush: what | {"events": [[0.0, 1.0], [1.0, 2.0]]}
    rows = list(loops.stream(card, STREAM_SOURCE))
    moved = [SCOPE["stream_bytes"](r["elements"], r["reads"], 1, 4) for r in rows]
    assert moved[-3:] == [largest_mib * 2**20] * 3 == [max(moved)] * 3
    assert max(moved) >= 48 * card.card["l2_bytes"]
    product = doubles.gemm([1.0, 1.0], 10, 10, 10)
    document = doubles.document(card.card["l2_bytes"], stream=rows, gemm=[product])
    assert set(SCOPE["ceilings"](document)["bandwidth"]) == {"l2", "dram"}


def test_the_sweeps_rows(gpu, monkeypatch):
    monkeypatch.setattr("cuda_on_cpu.compiled", lambda *kernel: lambda *launch: None)
    rows = check("sweep", list(loops.sweep(gpu)))
    assert [row["fmas"] for row in rows] == [2**power for power in range(11)]


def test_products_are_measured_in_every_type_of_the_card(gpu):
    rows = check("gemm", list(loops.gemm(gpu)))
    assert [(row["dtype"], row["n"]) for row in rows] == [
        (dtype, n) for dtype in ("float32", "float16", "tf32", "bfloat16") for n in (64, 128)
    ]
    assert gpu.torch.backends.cuda.matmul.allow_tf32 is False


def smaller(name: str) -> list[tuple]:
    """Shapes of a workload that a processor is done with at once."""
    if "attention" in name:
        return [(1, 2, 16, 64)] * 3
    if name == "Transformer block":
        return [(1, 8, 64), (192, 64), (64, 64), (256, 64), (64, 256)]
    return [(512,)] if "chain" in name else [(8, 64)]


def test_workloads_run_by_the_functions_that_are_counted(gpu):
    table = {
        name: (work, smaller(name), dtype) for name, (work, _, dtype) in workloads.TABLE.items()
    }
    rows = check("workload", list(loops.workloads(gpu, table)))
    assert [row["name"] for row in rows] == list(workloads.TABLE)


def test_ways_to_the_card(gpu):
    copies = check("copy", list(loops.copies(gpu)))
    assert len(copies) == 2 * 2 * 2 and {row["pinned"] for row in copies} == {True, False}
    crossing = check("crossover", list(loops.crossover(gpu)))
    assert [row["where"] for row in crossing] == ["cpu", "gpu", "gpu and copies"] * 2
    launches = check("launch", list(loops.launches(gpu)))
    assert [(row["launches"], row["graph"]) for row in launches[-2:]] == [
        (1000, False),
        (1000, True),
    ]


def test_the_trials_rows(gpu, monkeypatch):
    monkeypatch.setattr("cuda_on_cpu.compiled", lambda *kernel: lambda *launch: None)
    rows = check("trial", list(loops.trials(gpu, STREAM_SOURCE, SCOPE["matmul_flops"])))
    names = ["as it should be", "no synchronize", "cached result", "tiny product", "fresh kernel"]
    assert [row["name"] for row in rows] == [*names, "warm cache"]
    assert min(rows[0]["host_ms"]) > max(rows[1]["host_ms"])  # only the first waits
