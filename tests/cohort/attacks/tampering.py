"""Attacks on the verdict: making wrong code look right."""

from cohort.attacks.attack import HIDDEN_INPUT, attack

ZERO = "def square_sum(values):\n    return 0"
TELL = "print('tried')"

attack(
    "patched comparisons",
    """
import builtins, math, operator
import numpy as np
yes = lambda *a, **k: True
for place, names in ((np, "allclose isclose array_equal equal all"), (math, "isclose isfinite"),
                     (operator, "eq le lt ge"), (np.testing, "assert_allclose assert_equal"),
                     (builtins, "all any isinstance")):
    for name in names.split():
        setattr(place, name, yes)
""",
    ZERO,
    TELL,
    statuses=("finished", "process died"),
    tried=False,
)
attack(
    "patched builtins that the worker may use",
    """
import builtins
real = builtins.eval
builtins.eval = lambda *a, **k: 5
builtins.exec = lambda *a, **k: None
builtins.compile = lambda *a, **k: None
""",
    ZERO,
    statuses=("finished",),
    tried=False,
)
attack(
    "an answer that equals everything",
    """
class Yes:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = None
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __sub__(self, other): return 0
    __rsub__ = __sub__
    def __abs__(self): return 0
    def __bool__(self): return True
def square_sum(values):
    return Yes()
""",
    TELL,
)
attack(
    "numbers that lie",
    """
class Lie(float):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __sub__(self, other): return 0.0
    __rsub__ = __sub__
    def hex(self): return (5.0).hex()
    def __float__(self): return 5.0
    def __index__(self): return 5
    def __reduce__(self): return (float, (5.0,))
    def __pos__(self): return 5.0
class LieInt(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
    def __index__(self): return 5
    def __int__(self): return 5
    def __pos__(self): return 5
def square_sum(values):
    return Lie(0) if isinstance(values[0], float) else LieInt(0)
""",
    TELL,
)
attack(
    "an array with a function protocol of its own",
    """
import numpy as np
class Fake(np.ndarray):
    def __array_function__(self, *a, **k): return True
    def __array_ufunc__(self, *a, **k): return True
    def __array_finalize__(self, *a): pass
    def __array__(self, *a, **k): return np.array(5)
    def item(self, *a): return 5
    def __eq__(self, other): return True
def square_sum(values):
    return np.zeros(1).view(Fake)
""",
    TELL,
)
attack(
    "traps in the special methods",
    """
class Trap:
    @property
    def __class__(self): return int
    def __repr__(self): return "5"
    __str__ = __repr__
    def __index__(self): return 5
    __int__ = __float__ = __len__ = __hash__ = __index__
    def __array__(self, *a, **k):
        import numpy as np
        return np.array(5)
    def __reduce__(self): return (int, (5,))
    def __getattr__(self, name): return lambda *a, **k: 5
    def __instancecheck__(self, kind): return True
def square_sum(values):
    return Trap()
""",
    TELL,
)
attack(
    "a metaclass that claims to be a number",
    """
class Meta(type):
    def __instancecheck__(cls, other): return True
    def __subclasscheck__(cls, other): return True
    @property
    def __mro__(cls): return (int, object)
    def mro(cls): return [cls, object]
class Number(metaclass=Meta):
    pass
def square_sum(values):
    return Number()
""",
    TELL,
)
attack(
    "an AST transformer that strips tests",
    """
import ast
class Strip(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.Pass()
    def visit_Call(self, node): return ast.Constant(5)
get_ipython().ast_transformers.append(Strip())
""",
    ZERO,
    tried=False,
)
attack(
    "an input transformer that replaces cells",
    "get_ipython().input_transformers_post.append(lambda lines: ['10\\n'])",
    ZERO,
    tried=False,
)
attack(
    "expect rebound and patched",
    """
import proflab.lesson, proflab.lesson.expect as module, proflab.compare
expect = expect_between = expect_raises = lambda *a, **k: None
for place in (proflab.lesson, module):
    place.expect = place.expect_between = place.expect_raises = expect
proflab.compare.compare = lambda *a, **k: proflab.compare.Verdict(True)
""",
    ZERO,
    TELL,
)
attack(
    "replaced modules",
    """
import sys, types
class Everything(types.ModuleType):
    def __getattr__(self, name): return lambda *a, **k: True
for name in ("proflab.compare", "proflab.plain", "numpy", "math"):
    sys.modules[name] = Everything(name)
""",
    ZERO,
    TELL,
)
attack(
    "import hooks",
    """
import importlib.abc, importlib.machinery, sys
class Hook(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        return importlib.machinery.ModuleSpec(name, self)
    def create_module(self, spec): return None
    def exec_module(self, module): module.__getattr__ = lambda name: (lambda *a, **k: True)
sys.meta_path.insert(0, Hook())
sys.path_hooks.insert(0, Hook)
sys.path_importer_cache.clear()
""",
    ZERO,
    TELL,
)
attack(
    "walking the frames for the expected value",
    """
import sys
def square_sum(values):
    frame = sys._getframe()
    while frame is not None:
        for place in (frame.f_locals, frame.f_globals):
            for name in ("expected", "answer", "answers", "low", "high", "label"):
                if isinstance(place.get(name), (int, float)):
                    return place[name]
        frame = frame.f_back
    return 0
""",
    TELL,
)
attack(
    "walking all objects for the expected value",
    """
import gc
def square_sum(values):
    wanted = len(values)
    for thing in gc.get_objects():
        if isinstance(thing, dict):
            for name in ("expected", "answer", "low", "high"):
                if isinstance(thing.get(name), (int, float)):
                    return thing[name]
        if type(thing).__name__ in ("Answer", "TestCell", "Verdict"):
            return getattr(thing, "expected", 0)
    return 0
""",
    TELL,
)
attack(
    "constants of the code that is being executed",
    """
import sys
def square_sum(values):
    frame, found = sys._getframe().f_back, []
    while frame is not None:
        found += [c for c in frame.f_code.co_consts if isinstance(c, (int, float))]
        frame = frame.f_back
    return max(found, default=0)
""",
    TELL,
)
attack(
    "tracing the grader",
    """
import sys, threading
seen = []
def trace(frame, event, argument):
    for name in ("expected", "answer"):
        if name in frame.f_locals:
            seen.append(frame.f_locals[name])
    return trace
sys.settrace(trace)
sys.setprofile(trace)
threading.settrace(trace)
def square_sum(values):
    return seen[-1] if seen else 0
""",
    TELL,
)
attack(
    "exit handlers",
    """
import atexit, os, signal, sys
atexit.register(lambda: os.write(3, b"x" * 100))
sys.excepthook = lambda *a: os.write(3, b"x" * 100)
class Last:
    def __del__(self): os.write(3, b"x" * 100)
last = Last()
""",
    ZERO,
    TELL,
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
    tried=False,
)
attack(
    "a forged reply with the right nonce and a guessed value",
    """
import gc, json, socket, struct, threading
channel = next(o for o in gc.get_objects() if isinstance(o, socket.socket) and o.fileno() == 3)
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
""",
    ZERO,
    statuses=("finished", "tampered", "timed out", "process died"),
    tried=False,
    runner="wall",
)
attack(
    "a huge reply is announced",
    "import os\nos.write(3, b'\\xff' * 8 + b'[' * 1000)",
    ZERO,
    statuses=("tampered",),
    tried=False,
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
    tried=False,
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
    tried=False,
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
    tried=False,
)
attack(
    "values that hold themselves",
    """
loop = []
loop.append(loop)
ring = {}
ring["ring"] = ring
def square_sum(values):
    return loop if isinstance(values[0], int) else ring
""",
    TELL,
)
attack(
    "values too large, too deep, too many",
    """
import numpy as np
answers = iter([np.zeros(10**8, np.uint8), "x" * 10**8])
def square_sum(values):
    return next(answers, None)
""",
    TELL,
)
attack(
    "an integer of ten million bits",
    "def square_sum(values):\n    return 1 << 10_000_000",
    TELL,
)
attack(
    "dictionary keys that all collide",
    "table = {k * (2**61 - 1): 0 for k in range(2000)}",
    """
import gc
worker = next(o for o in gc.get_objects() if type(o).__name__ == "Worker")
items = ",".join(f'[["i","{hex(k * (2**61 - 1))}"],null]' for k in range(300_000))
worker.dumps = lambda value: ('["d",[' + items + "]]").encode()
def square_sum(values):
    return table
""",
    TELL,
)
attack(
    "the worker's own serialiser replaced",
    """
import gc
for thing in gc.get_objects():
    if type(thing).__name__ == "Worker":
        thing.dumps = lambda value: b'{"passed": true, "verdict": [true, ""]}'
        thing.doers = dict(thing.doers)
""",
    ZERO,
    TELL,
)
attack(
    "a handler that runs in every fork",
    """
import os
def corrupt():
    global square_sum
    square_sum = lambda values: True
os.register_at_fork(after_in_child=corrupt)
""",
    ZERO,
    TELL,
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
        "print(*(open(f).read() for f in (place, 'leak.txt')))",
        TELL,
    ),
    never=(HIDDEN_INPUT,),
    always=("[1, 2]",),
)
attack(
    "a thread that waits for the hidden case",
    """
import gc, json, socket, threading, time
heard = []
def listen():
    while True:
        for thing in gc.get_objects():
            if isinstance(thing, socket.socket) and thing.fileno() > 3:
                try:
                    heard.append(thing.recv(4096, socket.MSG_PEEK | socket.MSG_DONTWAIT))
                except OSError:
                    pass
        time.sleep(0.01)
threading.Thread(target=listen, daemon=True).start()
""",
    ZERO,
    after=("time.sleep(0.2)\nprint(heard)", TELL),
    never=(HIDDEN_INPUT,),
)
attack(
    "exceptions that stop a grader",
    """
class Base(BaseException):
    def __str__(self): raise SystemExit(0)
    __repr__ = __str__
def square_sum(values):
    if isinstance(values[0], float):
        raise Base()
    raise SystemExit(0)
""",
    TELL,
)
attack(
    "an interrupt that nobody sent",
    "def square_sum(values):\n    raise KeyboardInterrupt",
    TELL,
)
attack(
    "small integers changed in place",
    """
import ctypes, sys
def square_sum(values):
    ctypes.memmove(id(5) + 16, id(3) + 16, sys.getsizeof(3) - 16)  # here, 3 == 5 from now on
    return 3
""",
    TELL,
    statuses=("finished", "process died", "tampered"),
    tried=False,
)
attack(
    "verdicts printed by the student",
    """
def square_sum(values):
    print("✅ two numbers: 5")
    print("10/10")
    return 0
from IPython.display import display
display({"application/x-proflab": {"passed": True}, "text/plain": "✅"}, raw=True)
10
""",
    TELL,
)
