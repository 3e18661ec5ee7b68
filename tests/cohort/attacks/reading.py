"""Attacks that read what is not the student's. The canaries are named in the test."""

import importlib._bootstrap_external
import os
import sys

from cohort.attacks.attack import attack

SEARCH = """
def peek(path, most=200_000):
    try:
        with open(path, "rb") as file:
            return file.read(most).decode("latin-1")
    except (OSError, ValueError) as error:
        return type(error).__name__
"""

attack(
    "environment",
    SEARCH,
    """
import os, subprocess
print(dict(os.environ), peek("/proc/self/environ"), peek("/proc/1/environ"))
print(subprocess.run(["env"], capture_output=True, text=True).stdout)
print("tried")
""",
)
attack(
    "source, gradebook and other submissions",
    SEARCH,
    """
for start in ("{course}", "../../..", "../..", "..", "/proc/self/root/{course}", "/proc/1/cwd"):
    for name in ("source/01_x/01_x.ipynb", "gradebook.db", "submitted/other/01_x/01_x.ipynb"):
        print(peek(f"{start}/{name}"))
print("tried")
""",
)
attack(
    "running the instructor's notebook",
    "%run {course}/source/01_x/01_x.ipynb",
    "!cat {course}/source/01_x/*\nprint('tried')",
    raises=("Exception",),  # IPython says so: there is no such file
    always=("not found", "No such file"),
)
attack(
    "every file that can be opened",
    SEARCH,
    """
import os
skip = ("/usr", "/proc", "/sys", "/lib", "/bin", "/sbin")
for parent, folders, names in os.walk("/"):
    folders[:] = [f for f in folders if not os.path.join(parent, f).startswith(skip)
                  and f not in ("lib", "lib64", "bin")]
    for name in names:
        text = peek(os.path.join(parent, name))
        if "canary" in text:
            print(parent, name, text)
print("tried")
""",
)
attack(
    "symbolic links in the submission",
    """
import os
for name in ("notes.txt", "all/etc/passwd", "data/gradebook.db"):
    try:
        print(open(name).read())
    except OSError as error:
        print(error)
print(os.listdir("."))
print("tried")
""",
    files={
        "notes.txt": ("link", "{course}/source/01_x/01_x.ipynb"),
        "all": ("link", "/"),
        "data": ("link", "{course}"),
    },
)
if os.name == "posix" and os.geteuid() == 0:  # only root can make such a link for the test
    attack(
        "a hard link to another's file",
        "import os\nprint(os.listdir('.'))\nfor name in os.listdir('.'):\n"
        "    if os.path.isfile(name):\n        print(open(name).read())\nprint('tried')",
        files={"mine.txt": ("hard link", "{course}/submitted/other/secret.txt")},
    )
attack(
    "memory of every process",
    SEARCH,
    """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
buffer = ctypes.create_string_buffer(65536)
for pid in [os.getppid(), 1, *range(1, 300)]:
    for name in ("mem", "maps", "environ", "cmdline", "stack", "syscall", "auxv"):
        text = peek(f"/proc/{pid}/{name}")
        if name in ("maps", "environ") and len(text) > 20 and pid != os.getpid():
            print(text)
    local, remote = Vector(ctypes.addressof(buffer), 65536), Vector(0x400000, 65536)
    got = libc.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0)
    if got > 0 and pid != os.getpid():
        print("memory was read", buffer.raw)
print("tried")
""",
    never=("memory was read",),
)
attack(
    "ptrace and borrowed descriptors",
    """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for pid in (1, os.getppid()):
    for request in (16, 0x4206):
        if libc.ptrace(request, pid, 0, 0) == 0:
            print("traced")
    pidfd = libc.syscall(434, pid, 0)
    for number in range(64):
        if pidfd >= 0 and libc.syscall(438, pidfd, number, 0) >= 0:
            print("descriptor was taken")
print("tried")
""",
    never=("traced", "descriptor was taken"),
)
attack(
    "inherited descriptors",
    """
import os, stat
for number in range(4096):
    try:
        about = os.fstat(number)
    except OSError:
        continue
    print("open", number, stat.S_IFMT(about.st_mode))
    if number > 3:
        try:
            print(os.read(number, 100))
        except OSError:
            pass
print("tried")
""",
    never=("open 4 ", "open 5 ", "open 6 "),
)
attack(
    "a child Python",
    """
import subprocess, sys
code = "import os, sys; print(dict(os.environ), sys.argv, os.listdir('/'), os.listdir('.'))"
code += "; import proflab_course.grading"
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True))
print("tried")
""",
    always=("ModuleNotFoundError",),
)
attack(
    "the grader's own modules",
    """
import importlib
for name in ("proflab_course", "proflab_course.grading", "proflab_course.cases.reader",
             "proflab_course.cli"):
    try:
        importlib.import_module(name)
        print("found", name)
    except ImportError:
        pass
print("tried")
""",
    never=("found proflab",),
)
attack(
    "a numpy.py and a json.py beside the notebook",
    "import importlib, sys\nfor name in ('numpy', 'json', 'random', 'bdb'):\n"
    "    sys.modules.pop(name, None) if name == 'bdb' else None\n"
    "    print('tried', getattr(importlib.import_module(name), '__file__', ''))",
    "def square_sum(values):\n    return 0",
    files={f"{name}.py": "print('shadowed')\n" for name in ("numpy", "json", "random", "bdb")},
    never=("shadowed",),
)
attack(
    "a built.py of one's own",
    "import built\nprint(built.ORIGIN)\nprint('tried')",
    files={"built.py": "ORIGIN = 'forged'\n"},
    never=("forged",),
    always=("genuine",),
)
FORGED = "ORIGIN = 'forged'\n"
LOOK = "import built\nprint(built.ORIGIN, built.__file__)\nprint('tried')"
COMPILED = bytes(
    importlib._bootstrap_external._code_to_hash_pyc(
        compile(FORGED, "built.py", "exec"), bytes(8), False
    )
)
for name, path, content in (
    ("a package in the place of built.py", "built/__init__.py", FORGED),
    ("a library in the place of built.py", "built.so", b"\x7fELF"),
    ("a stable library in the place of built.py", "built.abi3.so", b"\x7fELF"),
    ("byte code in the place of built.py", "built.pyc", COMPILED),
    (
        "byte code that is not checked",
        f"__pycache__/built.{sys.implementation.cache_tag}.pyc",
        COMPILED,
    ),
):
    attack(name, LOOK, files={path: content}, never=("forged",), always=("genuine",))
