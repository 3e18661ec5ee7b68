"""Attacks that use up what others need. Each has limits of its own; see Attack.runner."""

from cohort.attacks.attack import attack

ZERO = "def square_sum(values):\n    return 0"
LATE = ("timed out",)
DEAD = ("process died",)
OOM = ("out of memory",)

CPU = ("CPU seconds",)
SLOW = ("did not end within",)
FULL = ("of memory",)

attack(
    "CPU",
    "while True: pass",
    ZERO,
    statuses=LATE,
    ends=CPU,
    raises=("KeyboardInterrupt",),
    runner="cpu",
)
attack(
    "CPU, signals ignored",
    """
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    try:
        while True: pass
    except BaseException:
        pass
""",
    statuses=LATE,
    ends=CPU,
    runner="cpu",
)
attack(
    "CPU in children",
    """
import os, time
for _ in range(2):
    if os.fork() == 0:
        while True: pass
while True:
    time.sleep(0.01)
""",
    ZERO,
    statuses=LATE,
    ends=CPU,
    raises=("KeyboardInterrupt",),
    runner="cpu",
)
attack(
    "CPU in the exercise itself",
    "def square_sum(values):\n    print('tried')\n    while True: pass",
    statuses=LATE,
    runner="cpu",
)
attack(
    "sleep",
    "import time\ntime.sleep(10**6)",
    ZERO,
    statuses=LATE,
    ends=SLOW,
    raises=("KeyboardInterrupt",),
    runner="wall",
)
attack(
    "SIGSTOP to itself",
    "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    statuses=LATE,
    ends=SLOW,
    runner="wall",
)
attack(
    "a lock that nobody opens",
    "import threading\nlock = threading.Lock()\nlock.acquire()\n"
    "while True:\n    try:\n        lock.acquire()\n    except KeyboardInterrupt:\n        pass",
    statuses=LATE,
    ends=SLOW,
    runner="wall",
)
attack(
    "memory at once",
    "import numpy as np\nx = np.ones(10**10)",
    ZERO,
    statuses=OOM,
    ends=FULL,
    raises=("MemoryError",),
)
attack(
    "memory slowly",
    "hoard = []\nwhile True:\n    hoard.append(bytearray(b'x' * 10**7))",
    ZERO,
    statuses=OOM,
    ends=FULL,
    raises=("MemoryError",),
)
attack(
    "memory in children",
    """
import os, time
for _ in range(8):
    if os.fork() == 0:
        hoard = bytearray(b"x" * 200_000_000)
        time.sleep(1000)
time.sleep(1000)
""",
    statuses=OOM,
    ends=FULL,
)
attack(
    "shared memory",
    """
import mmap, time
hoard = []
while True:
    piece = mmap.mmap(-1, 50_000_000)
    piece.write(b"x" * 50_000_000)
    hoard.append(piece)
""",
    statuses=OOM,
    ends=FULL,
)
attack(
    "buffers of sockets",
    """
import os, socket, time
for _ in range(24):
    if os.fork() == 0:
        pairs = [socket.socketpair() for _ in range(100)]
        for end in (end for pair in pairs for end in pair):
            end.setblocking(False)
            try:
                while True: end.send(bytes(4096))
            except BlockingIOError:
                pass
        time.sleep(1000)
time.sleep(1000)
""",
    statuses=OOM,
    ends=FULL,
)
attack(
    "processes",
    """
import os, time
count = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(1000)
            os._exit(0)
        count += 1
except OSError as error:
    print("stopped", count < 64)
print("tried")
""",
    ZERO,
    statuses=("finished", "process died", "out of memory"),
    always=("stopped True",),
)
attack(
    "a fork bomb",
    "!echo tried; bomb() { bomb | bomb & }; bomb",
    "import os\ntry:\n    while True: os.fork()\nexcept OSError:\n    pass",
    statuses=("finished", "process died", "tampered", "timed out", "out of memory"),
    ends=(*SLOW, *FULL, "ended", "not asked"),
    raises=("BlockingIOError", "OSError", "KeyboardInterrupt"),
    runner="wall",
)
attack(
    "a larger share of the processors",
    """
import os, subprocess
def session():
    return int(open("/proc/self/stat").read().rpartition(")")[2].split()[3])
cores, own = os.sched_getaffinity(0), session()
os.sched_setaffinity(0, range(os.cpu_count()))
child = subprocess.run(["cut", "-d", " ", "-f", "6", "/proc/self/stat"], start_new_session=True,
                       stdout=subprocess.PIPE, text=True)
if os.sched_getaffinity(0) != cores:
    print("it moved to other cores")
if int(child.stdout) != own:
    print("it has a second session")
print("tried")
""",
    never=("it moved", "it has"),
)
attack(
    "another process first when memory runs out",
    """
import ctypes
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # else its files in /proc are not its own
print("tried")
try:
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("0")
    print("it is not the first")
except PermissionError:
    pass
""",
    never=("it is not",),
)
attack(
    "threads",
    """
import threading, time
count = 0
try:
    while True:
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        count += 1
except RuntimeError:
    print("stopped", count < 1000)
print("tried")
""",
    ZERO,
    statuses=("finished", "process died"),
    always=("stopped True",),
)
attack(
    "a thread that goes on",
    "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()\n"
    "print('tried', threading.active_count() > 1)",
    ZERO,
    always=("tried True",),
)
attack(
    "disk, one file",
    """
try:
    with open("big", "wb") as file:
        while True: file.write(b"x" * 2**20)
except OSError as error:
    print("stopped")
print("tried")
""",
    ZERO,
    always=("stopped",),
)
attack(
    "disk, many places",
    """
import os
try:
    for folder in (".", "/tmp", "/dev/shm"):
        for number in range(50):
            with open(os.path.join(folder, f"part{number}"), "wb") as file:
                for _ in range(20): file.write(b"x" * 2**20)
except OSError as error:
    print("stopped")
print("tried")
""",
    ZERO,
    always=("stopped",),
)
attack(
    "inodes",
    """
import os
try:
    for number in range(10**6): os.close(os.open(f"f{number}", os.O_CREAT | os.O_WRONLY))
except OSError as error:
    print("stopped")
print("tried")
""",
    ZERO,
    always=("stopped",),
)
attack(
    "descriptors",
    """
import os
held = []
try:
    while True: held.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    print("stopped")
print("tried")
""",
    ZERO,
    statuses=("finished", "process died"),
    always=("stopped",),
)
attack(
    "output in one line",
    "print('tried')\nprint('x' * 30_000_000)",
    ZERO,
    always=("was cut",),
)
attack(
    "output in many lines",
    "print('tried')\nfor number in range(400_000): print(number, 'x' * 20)",
    ZERO,
    always=("was cut",),
)
attack(
    "output in many displays",
    "publish = get_ipython().display_pub.publish\nprint('tried')\n"
    "for _ in range(22_000): publish({'text/html': ''})",
    ZERO,
    always=("was cut",),
)
attack(
    "output cell after cell",
    *["print('tried', 'y' * 1_900_000)"] * 14,
    ZERO,
    always=("was cut",),
)
attack(
    "an exception with a message of 100 MB",
    "print('tried')\nraise ValueError('x' * 10**8)",
    ZERO,
    raises=("ValueError",),
    always=("was cut",),
)
attack(
    "recursion without a limit",
    "import sys\nsys.setrecursionlimit(10**9)\nprint('tried')\ndef f(n): return f(n + 1) + 1\nf(0)",
    ZERO,
    statuses=("process died", "out of memory", "finished"),
    ends=("crashed", *FULL),
    raises=("RecursionError", "MemoryError"),
)
attack("os._exit", "import os\nos._exit(5)", ZERO, statuses=DEAD, ends=("status 5",))
attack(
    "os._exit in the exercise",
    "import os\ndef square_sum(values):\n    os._exit(6)",
    statuses=DEAD,
    ends=("status 6",),
)
attack(
    "a segmentation fault",
    "import ctypes\nctypes.string_at(0)",
    ZERO,
    statuses=DEAD,
    ends=("segmentation fault",),
)
attack("abort", "import os\nos.abort()", statuses=DEAD, ends=("aborted",))
attack(
    "SIGKILL to itself",
    "import os\nos.kill(os.getpid(), 9)",
    statuses=DEAD,
    ends=("was killed",),
)
attack(
    "the channel closed",
    "import os\nos.closerange(0, 256)",
    statuses=DEAD,
    ends=("ended itself (exit status 1)",),
)
attack(
    "the channel duplicated and dropped",
    """
import os, socket, time
if os.fork() == 0:
    time.sleep(1000)  # holds the channel
ours, theirs = socket.socketpair()
os.dup2(theirs.fileno(), 3)
os._exit(7)
""",
    statuses=DEAD,
    ends=("status 7",),
)

# Each child computes for a moment and is gone before anybody has looked at it. All together take
# five times the limit; so few that their parent, whose own time counts, stays far below it.
NOBODY_WAITS = """
import ctypes, os, signal, time
class Action(ctypes.Structure):
    _fields_ = [("handler", ctypes.c_void_p), ("flags", ctypes.c_ulong),
                ("restorer", ctypes.c_void_p), ("mask", ctypes.c_ulong)]
call = ctypes.CDLL(None).syscall
for number in (17, 17 | 1 << 32):
    for handler, flags in ((1, 0), (0, 2), (0, 2 | 0x10000000)):  # SIG_IGN, SA_NOCLDWAIT
        call(13, ctypes.c_long(number), ctypes.byref(Action(handler, flags)), None, 8)
def compute():
    reader, writer = os.pipe()
    if os.fork() == 0:
        until = time.process_time() + 0.06
        while time.process_time() < until: pass
        os._exit(0)
    os.close(writer)
    os.read(reader, 1)  # until it has ended
    os.close(reader)
for _ in range(40):
    compute()
"""
attack(
    "children for which nobody waits",
    NOBODY_WAITS,
    raises=("KeyboardInterrupt",),
    statuses=("timed out",),
    ends=("CPU seconds",),
    runner="cpu",
)
attack(
    "children for which nobody waits, of an orphan",
    "import os, time\nif os.fork() == 0:\n    if os.fork() == 0:\n"
    f"        exec({NOBODY_WAITS!r})\n    os._exit(0)\ntime.sleep(100)",
    raises=("KeyboardInterrupt",),
    statuses=("timed out",),
    ends=("CPU seconds",),
    runner="cpu",
)
attack(
    "queued signals and timers",
    """
import ctypes
libc, made = ctypes.CDLL(None), 0
event, number = (ctypes.c_int * 32)(), ctypes.c_void_p()
event[2], event[3] = 10, 0  # SIGEV_SIGNAL, SIGUSR1
while made < 5000 and libc.timer_create(1, event, ctypes.byref(number)) == 0:
    made += 1
print("tried", made > 0, made < 5000)
""",
    always=("tried True True",),
)
