"""Attacks that use up what others need. Each has limits of its own; see Attack.runner."""

from cohort.attacks.attack import attack

ZERO = "def square_sum(values):\n    return 0"
LATE = ("timed out",)
DEAD = ("process died",)
OOM = ("out of memory",)

attack("CPU", "while True: pass", ZERO, "print('tried')", statuses=LATE, runner="cpu")
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
    tried=False,
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
    "print('tried')",
    statuses=LATE,
    runner="cpu",
)
attack(
    "CPU in the exercise itself",
    "def square_sum(values):\n    while True: pass",
    "print('tried')",
    statuses=LATE,
    runner="cpu",
)
attack("sleep", "import time\ntime.sleep(10**6)", ZERO, statuses=LATE, tried=False, runner="wall")
attack(
    "SIGSTOP to itself",
    "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    statuses=LATE,
    tried=False,
    runner="wall",
)
attack(
    "a lock that nobody opens",
    "import threading\nlock = threading.Lock()\nlock.acquire()\n"
    "while True:\n    try:\n        lock.acquire()\n    except KeyboardInterrupt:\n        pass",
    statuses=LATE,
    tried=False,
    runner="wall",
)
attack(
    "memory at once",
    "import numpy as np\nx = np.ones(10**10)",
    ZERO,
    "print('tried')",
    statuses=OOM,
)
attack(
    "memory slowly",
    "hoard = []\nwhile True:\n    hoard.append(bytearray(b'x' * 10**7))",
    ZERO,
    statuses=OOM,
    tried=False,
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
    tried=False,
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
    tried=False,
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
    print("stopped", count < 1000)
print("tried")
""",
    ZERO,
    statuses=("finished", "process died", "out of memory"),
    always=("stopped True",),
)
attack(
    "a fork bomb",
    "!bomb() { bomb | bomb & }; bomb",
    "import os\ntry:\n    while True: os.fork()\nexcept OSError:\n    pass\nprint('tried')",
    statuses=("finished", "process died", "tampered", "timed out", "out of memory"),
    tried=False,
    runner="wall",
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
    "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()",
    ZERO,
    "print('tried')",
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
attack("output in one line", "print('x' * 30_000_000)", ZERO, "print('tried')", always=("was cut",))
attack(
    "output in many lines",
    "for number in range(400_000): print(number, 'x' * 20)",
    ZERO,
    "print('tried')",
    always=("was cut",),
)
attack(
    "output in many displays",
    "publish = get_ipython().display_pub.publish\n"
    "for _ in range(22_000): publish({'text/html': ''})",
    ZERO,
    "print('tried')",
    always=("was cut",),
)
attack(
    "output cell after cell",
    *["print('y' * 1_900_000)"] * 14,
    ZERO,
    "print('tried')",
    tried=False,
)
attack(
    "an exception with a message of 100 MB",
    "raise ValueError('x' * 10**8)",
    ZERO,
    "print('tried')",
)
attack(
    "recursion without a limit",
    "import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1) + 1\nf(0)",
    ZERO,
    statuses=("process died", "out of memory", "finished"),
    tried=False,
)
attack("os._exit", "import os\nos._exit(0)", ZERO, statuses=DEAD, tried=False)
attack(
    "os._exit in the exercise",
    "import os\ndef square_sum(values):\n    os._exit(0)",
    statuses=DEAD,
    tried=False,
)
attack(
    "a segmentation fault",
    "import ctypes\nctypes.string_at(0)",
    ZERO,
    statuses=DEAD,
    tried=False,
)
attack("abort", "import os\nos.abort()", statuses=DEAD, tried=False)
attack(
    "SIGKILL to itself",
    "import os\nos.kill(os.getpid(), 9)",
    statuses=DEAD,
    tried=False,
)
attack(
    "the channel closed",
    "import os\nos.closerange(0, 256)",
    statuses=DEAD,
    tried=False,
)
attack(
    "the channel duplicated and dropped",
    """
import os, socket, time
if os.fork() == 0:
    time.sleep(1000)  # holds the channel
ours, theirs = socket.socketpair()
os.dup2(theirs.fileno(), 3)
os._exit(0)
""",
    statuses=DEAD,
    tried=False,
)
