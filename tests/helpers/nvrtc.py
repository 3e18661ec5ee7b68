"""NVRTC, CUDA's compiler as a library: compiles a kernel for a card that need not be here.

It comes as the wheel nvidia-cuda-nvrtc-cu12, which needs neither a card nor a driver, and it is
what CuPy compiles a RawKernel with. What may not enter: what a lesson expects of its kernels.
"""

from __future__ import annotations

import ctypes
import platform
import re
import struct
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest

PACKAGE = "nvidia-cuda-nvrtc-cu12"
# On 7.5 and newer an instruction has 16 bytes. Its lowest 9 bits say what it does; the three above
# them, where its operands come from.
_INSTRUCTION, _OPCODE = 16, 0x1FF
_OPCODES = {0x023: "FFMA", 0x021: "FADD", 0x020: "FMUL", 0x181: "LDG", 0x186: "STG"}


@dataclass(frozen=True)
class Code:
    """What the compiler made of one kernel: PTX, the machine's instructions, what it needs.

    registers: of a thread. spilled: bytes that did not fit into registers, stored and loaded, and
    the stack frame. instructions: how many of each kind that `_OPCODES` names.
    """

    ptx: str
    registers: int
    spilled: int
    instructions: Counter


class CompileError(ValueError):
    """The kernel is no CUDA C; the text is the compiler's."""


@cache
def compile_kernel(source: str, entry: str, architecture: str) -> Code:
    """Return what a kernel becomes for a card such as "sm_75". Raises CompileError."""
    library, program = _library(), ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    options = [f"--gpu-architecture={architecture}".encode(), b"--ptxas-options=-v"]
    array = (ctypes.c_char_p * len(options))(*options)
    failed = library.nvrtcCompileProgram(program, len(options), array)
    log = _text(program, "ProgramLog").decode()
    if failed:
        raise CompileError(log)
    registers = re.search(r"Used (\d+) registers", log)
    spilled = re.search(r"(\d+) bytes stack frame, (\d+) \w+ \w+ \w+, (\d+) \w+ spill loads", log)
    machine = _section(_text(program, "CUBIN"), f".text.{entry}")
    code = Code(
        ptx=_text(program, "PTX").decode(),
        registers=int(registers[1]),
        spilled=sum(map(int, spilled.groups())),
        instructions=_count(machine),
    )
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return code


def _text(program: ctypes.c_void_p, what: str) -> bytes:
    """Return what NVRTC has of a program: its PTX, CUBIN or ProgramLog."""
    size = ctypes.c_size_t()
    getattr(_library(), f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(_library(), f"nvrtcGet{what}")(program, buffer)
    return buffer.raw if what == "CUBIN" else buffer.value


@cache
def _library() -> ctypes.CDLL:
    """Return NVRTC. Skips the test where no wheel of it exists, and nowhere else."""
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        pytest.skip(f"NVRTC has no wheel for {platform.system()} on {platform.machine()}")
    try:
        files = metadata.files(PACKAGE)
    except metadata.PackageNotFoundError:
        pytest.fail(f"{PACKAGE}, which compiles the kernels, is not installed: run `make setup`")
    [found] = (file for file in files if re.fullmatch(r"libnvrtc\.so\.\d+", file.name))
    return ctypes.CDLL(str(Path(found.locate())))


def _section(elf: bytes, name: str) -> bytes:
    """Return a section of a 64-bit ELF file, which a cubin is."""
    [start] = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    # name, type, flags, address, offset, length, …
    headers = [struct.unpack_from("<IIQQQQ", elf, start + size * at) for at in range(count)]
    texts = headers[names][4]
    for header in headers:
        if elf[texts + header[0] :].startswith(name.encode() + b"\0"):
            return elf[header[4] : header[4] + header[5]]
    raise ValueError(f"the compiled kernel has no section {name}")


def _count(machine: bytes) -> Counter:
    codes = (machine[at] | machine[at + 1] << 8 for at in range(0, len(machine), _INSTRUCTION))
    return Counter(_OPCODES.get(code & _OPCODE, "other") for code in codes)
