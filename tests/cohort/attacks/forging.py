"""Attacks on the connection: forged, huge and endless replies, and talk between cells."""

from cohort.attacks.attack import HIDDEN_INPUT, REACH, attack

ZERO = "def square_sum(values):\n    return 0"

attack(
    "exit handlers",
    """
import atexit, os, signal, sys
atexit.register(lambda: os.write(3, b"x" * 100))
sys.excepthook = lambda *a: os.write(3, b"x" * 100)
class Last:
    def __del__(self): os.write(3, b"x" * 100)
last = Last()
print("tried")
""",
    ZERO,
)
attack(
    "forged messages on every descriptor",
    """
import json, os, struct
body = json.dumps({"nonce": "", "outputs": [], "passed": True}).encode()
value = b'["i","0x5"]'
frame = struct.pack(">II", len(body), len(value)) + body + value
for number in range(3, 256):
    try:
        os.write(number, frame * 3)
    except OSError:
        pass
""",
    ZERO,
    statuses=("tampered",),
    ends=("was not asked",),
)
attack(
    "a forged reply with the right nonce and a guessed value",
    REACH
    + """
import json, socket, struct, threading
channel = reach("Worker").channel.sock
def answer_first():
    while True:
        header = channel.recv(8, socket.MSG_PEEK | socket.MSG_WAITALL)
        size = struct.unpack(">II", header)[0]
        data = channel.recv(8 + size, socket.MSG_WAITALL)
        request = json.loads(data[8:])
        body = json.dumps({"nonce": request.get("nonce"), "outputs": []}).encode()
        value = b'["i","0x7"]'
        channel.sendall(struct.pack(">II", len(body), len(value)) + body + value)
threading.Thread(target=answer_first, daemon=True).start()
print("tried")
""",
    ZERO,
    statuses=("finished", "tampered", "timed out", "process died"),
    ends=("ended", "not asked", "did not end within"),
    runner="wall",
)
attack(
    "a request is read a byte at a time",
    """
import os, threading, time
def sip():
    while True:
        os.read(3, 1)
        time.sleep(0.02)
threading.Thread(target=sip, daemon=True).start()
time.sleep(0.2)
""",
    f"text = '{'x' * 900_000}'",
    ZERO,
    statuses=("timed out",),
    ends=("did not end within",),
    runner="wall",
)
attack(
    "a huge reply is announced",
    "import os\nos.write(3, b'\\xff' * 8 + b'[' * 1000)",
    ZERO,
    statuses=("tampered",),
    ends=("was announced",),
)
attack(
    "a reply without an end",
    """
import os, struct
head = struct.pack(">II", 15 * 1024**2, 0)
os.write(3, head)
while True:
    os.write(3, b"[" * 65536)
""",
    ZERO,
    statuses=("tampered",),
    ends=("held too many items",),
)
attack(
    "a reply 200,000 levels deep",
    """
import os, struct
body = b"[" * 200_000 + b"]" * 200_000
data = struct.pack(">II", len(body), 0) + body
while data:
    data = data[os.write(3, data):]
""",
    ZERO,
    statuses=("tampered",),
    ends=("not in the reply format",),
)
attack(
    "a reply of five million empty lists",
    """
import os, struct
body = b'{"nonce": "", "outputs": [' + b"[]," * 5_000_000 + b"[]]}"
data = struct.pack(">II", len(body), 0) + body
while data:
    data = data[os.write(3, data):]
""",
    ZERO,
    statuses=("tampered",),
    ends=("held too many items",),
)
attack(
    "values that hold themselves",
    """
loop = []
loop.append(loop)
ring = {}
ring["ring"] = ring
def square_sum(values):
    print("tried")
    return loop if isinstance(values[0], int) else ring
""",
)
attack(
    "values too large, too deep, too many",
    """
import numpy as np
answers = iter([np.zeros(10**8, np.uint8), "x" * 10**8])
def square_sum(values):
    print("tried")
    return next(answers, None)
""",
)
attack(
    "an integer of ten million bits",
    "def square_sum(values):\n    print('tried')\n    return 1 << 10_000_000",
)
attack(
    "dictionary keys that all collide",
    REACH
    + """
worker = reach("Worker")
items = ",".join(f'[["i","{hex(k * (2**61 - 1))}"],null]' for k in range(300_000))
def dumps(value):
    print("tried")
    return ('["d",[' + items + "]]").encode()
worker.dumps = dumps
""",
    ZERO,
)
attack(
    "the worker's own serialiser replaced",
    REACH
    + """
def dumps(value):
    print("tried")
    return b'{"passed": true, "verdict": [true, ""]}'
reach("Worker").dumps = dumps
""",
    ZERO,
)
attack(
    "a handler that runs in every fork",
    """
import os
def corrupt():
    global square_sum
    square_sum = lambda values: True
os.register_at_fork(after_in_child=corrupt)
if os.fork() == 0:
    os._exit(square_sum is not None and 9)
print("tried", os.waitstatus_to_exitcode(os.wait()[1]))
""",
    ZERO,
    always=("tried 9",),
)
attack(
    "telling a later cell what a hidden case asked",
    """
import inspect, os, tempfile
place = tempfile.gettempdir() + "/leak.txt"
def square_sum(values):
    with open(place, "a") as file:
        file.write(f"{values}")
    with open("leak.txt", "a") as file:
        file.write(f"{values} {[f.code_context for f in inspect.stack()]}")
    print("asked", values)
    return 0
""",
    after=(
        "import time\ntime.sleep(0.3)",
        "print('tried', *(open(f).read() for f in (place, 'leak.txt')))",
    ),
    never=(HIDDEN_INPUT,),
    always=("[1, 2]",),
)
attack(
    "a thread that waits for the hidden case",
    """
import os, socket, threading, time
heard = []
def listen():
    while True:
        for number in range(3, 32):
            try:
                with socket.socket(fileno=os.dup(number)) as link:
                    heard.append(link.recv(4096, socket.MSG_PEEK | socket.MSG_DONTWAIT))
            except BlockingIOError:
                heard.append("tried")
            except OSError:
                pass
        time.sleep(0.01)
threading.Thread(target=listen, daemon=True).start()
while not heard:
    time.sleep(0.01)
""",
    ZERO,
    after=("time.sleep(0.2)\nprint(heard)",),
    never=(HIDDEN_INPUT,),
)
attack(
    "exceptions that stop a grader",
    """
class Base(BaseException):
    def __str__(self): raise SystemExit(0)
    __repr__ = __str__
def square_sum(values):
    print("tried")
    if isinstance(values[0], float):
        raise Base()
    raise SystemExit(0)
""",
)
attack(
    "an interrupt that nobody sent",
    "def square_sum(values):\n    print('tried')\n    raise KeyboardInterrupt",
)
attack(
    "small integers changed in place",
    """
import ctypes, sys
def square_sum(values):
    print("tried")
    ctypes.memmove(id(5) + 16, id(3) + 16, sys.getsizeof(3) - 16)  # here, 3 == 5 from now on
    return 3
""",
    statuses=("finished", "process died", "tampered"),
    ends=("crashed", "ended"),
)
attack(
    "verdicts printed by the student",
    """
def square_sum(values):
    print("tried")
    print("✅ two numbers: 5")
    print("10/10")
    return 0
from IPython.display import display
display({"application/x-proflab": {"passed": True}, "text/plain": "✅"}, raw=True)
10
""",
)
