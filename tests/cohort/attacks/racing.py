"""Attacks on races: programs and tapes that claim more speed than they have.

Each is handed in for `product(a, b, x)` of tests/helpers/race_course.py, whose given program is
(a @ b) @ x, or for its `order(n, lines, line)`, a plan. None may earn a point more than what its
program or plan is worth.
"""

from __future__ import annotations

from dataclasses import dataclass

RIGHT = "def product(a, b, x):\n    return a @ (b @ x)"
SLOW = "def product(a, b, x):\n    return slow_product(a, b, x)"
ZERO = "def product(a, b, x):\n    return a[:, :2] * 0 if x.shape[1] == 2 else a[:, :4] * 0"


@dataclass(frozen=True)
class RaceAttack:
    """One hostile hand-in: its exercise's cell, and what the visible race says of it.

    worth: the share of the points that the program earns without any trick.
    """

    name: str
    cell: str
    says: str
    worth: float = 0.0
    exercise: str = "product"


RACE_ATTACKS: list[RaceAttack] = []


def attack(name: str, cell: str, says: str, worth: float = 0.0) -> None:
    """Add an attack."""
    RACE_ATTACKS.append(RaceAttack(name, cell, says, worth))


def plan_attack(name: str, cell: str, says: str, worth: float = 0.0) -> None:
    """Add an attack on a plan."""
    RACE_ATTACKS.append(RaceAttack(name, cell, says, worth, "order"))


# A case calls `.with_lines()` on what `traced` returns: this answers with a tape made by hand.
MADE = """
class Made(list):
    def with_lines(self):
        return self[0]
"""


def forged(*lines: str) -> str:
    """Return a cell in which `traced` gives a tape that is made by hand."""
    tape = ", ".join(lines)
    return f"""{MADE}
def product(a, b, x):
    return a @ (b @ x)

def traced(program, **shapes):
    ins = [["in", name, shape, "float32"] for name, shape in shapes.items()]
    n, m = shapes["a"][0], shapes["x"][1]
    return Made([[*ins, {tape}]])
"""


NUMBERS, WRONG, NONE = "asks for numbers", "off by", "comes from nowhere"
DONE = '["op", "matmul", [1, 2], {}, None], ["op", "matmul", [0, 3], {}, None], ["out", [4]]'

# computing outside the engine
attack("numpy", "def product(a, b, x):\n    return (a.numpy() @ b.numpy()) @ x", NUMBERS)
attack("elements", "def product(a, b, x):\n    return x * b.sum().item()", NUMBERS)
attack("a branch on a value", "def product(a, b, x):\n    return x if a.sum() > 0 else x", NUMBERS)
attack(
    "the array's insides", "def product(a, b, x):\n    return a.array.elements", "AttributeError"
)

# cached or recognised inputs
attack(
    "a result kept from an earlier trace",
    """
kept = {}
def product(a, b, x):
    return kept.setdefault(x.shape, a @ (b @ x))
for shape in ((96, 96), (96, 96), (96, 4)), ((40, 200), (200, 40), (40, 2)):
    traced(product, **dict(zip("abx", shape)))
""",
    NONE,
)
attack(
    "a cache in a default argument, kept between cases and calls",
    """
def product(a, b, x, kept=[]):
    kept.append(a @ b)
    return kept[0][: a.shape[0]] @ x
for shape in ((96, 96), (96, 96), (96, 4)), ((40, 200), (200, 40), (40, 2)):
    traced(product, **dict(zip("abx", shape)))
""",
    NONE,
)
attack(
    "a cache on the engine's own class",
    """
from proflab import Tensor
def product(a, b, x):
    done = Tensor.__dict__.get("done") or {}
    done[x.shape] = done.get(x.shape, a @ (b @ x))
    Tensor.done = done
    return done[x.shape] * 1
for shape in ((96, 96), (96, 96), (96, 4)), ((40, 200), (200, 40), (40, 2)):
    traced(product, **dict(zip("abx", shape)))
""",
    NONE,
)
attack(
    "a cache that lies in an input",
    "def product(a, b, x):\n    b.copy_(a @ b)\n    return b @ x",
    "input b",
)
attack("made of nothing", "def product(a, b, x):\n    return type(x).meta(x.shape)", NONE)
attack(
    "a table for inputs that are known",
    """
import numpy as np
from proflab import Tensor, where
from proflab.lesson.race.known import draw
def product(a, b, x):
    shapes = [("a", a.shape, "float32"), ("b", b.shape, "float32"), ("x", x.shape, "float32")]
    known = draw(shapes, 1, "normal", {})
    here = x[:1, :1] == Tensor(known["x"][:1, :1])
    return where(here, Tensor(known["a"] @ known["b"] @ known["x"]), x)
""",
    WRONG,
)

# patched instruments
attack(
    "the judge and the count of the notebook",
    SLOW
    + """
from proflab.lesson.race import cost, judge, show
from proflab.checks import expect as checks
judge.judge = lambda *a, **k: {"ms": 1e-9, "given": 1.0, "floor": 0.0, "wrong": "", "error": 0.0}
judge.share_of = lambda *a, **k: 1.0
cost.cost = lambda *a, **k: cost.Cost(1e-9)
cost.MACHINES["DESK"] = cost.Machine("DESK", 1e30, 1e30, 0)
checks.expect_faster = expect_faster = lambda *a, **k: print("100 % of the way")
def op_facts(call, result):
    return 0 / 0
race.count_with(op_facts)
""",
    "0 % of the way",
)
attack(
    "the course's own counting",
    SLOW + "\nimport built, sys\nbuilt.op_facts = lambda c, r: {}\nsys.modules['built'] = built\n"
    "open('built.py', 'w').write('def op_facts(c, r): return {}')",
    "0 % of the way",
)
attack(
    "a slower given program",
    "def product(a, b, x):\n    return (a @ b) @ x\n"
    "old = slow_product\nslow_product = lambda a, b, x: old(a, b, x) + 0 * (a @ b @ x)",
    "0 % of the way",
)
attack(
    "hooks taken away",
    "from proflab import dispatch\ndef product(a, b, x):\n"
    "    dispatch.hooks = ()\n    return a @ (b @ x)",
    NONE,
)
attack(
    "a tracer that hears of no write",
    "from proflab import dispatch, zeros\ndef product(a, b, x):\n"
    "    out = zeros(a.shape[0], x.shape[1])\n    dispatch.tracer = None\n"
    "    out += a[:, :1] * 1\n    return out",
    WRONG,
)
attack(
    "a hidden result below a view",
    "def product(a, b, x):\n    a.array.shape = (1, 1)\n    return a @ (b @ x)",
    "ValueError",
)

# work moved to set-up
attack(
    "work at import",
    "from proflab import randn\nready = {4: randn(96, 4), 2: randn(40, 2)}\n"
    "def product(a, b, x):\n    return ready[x.shape[1]] * 1",
    WRONG,
)
attack(
    "a write into an input",
    "def product(a, b, x):\n    a.zero_()\n    return a @ (b @ x)",
    "input a",
)

# approximations, and below the bound
attack("zeros", ZERO, WRONG)
attack(
    "half precision",
    "def product(a, b, x):\n    return (a.half() @ (b.half() @ x.half())).float()",
    "0 % of the way",
)
attack(
    "a part of the sum",
    "def product(a, b, x):\n    return a[:, 1:] @ (b[1:] @ x)",
    WRONG,
)
attack(
    "right where it is seen",
    "def product(a, b, x):\n    return a @ (b @ x) if x.shape[1] == 4 else a[:, :2] * 1",
    "100 % of the way",
)

# own subclasses, hooks and ops
attack(
    "an op of one's own",
    """
from proflab import dispatch
from proflab.meta import MetaArray
class Free(dispatch.Op):
    name = "free"
    def shape(self, a, b, x): return MetaArray((a.shape[0], x.shape[1]), x.dtype)
def product(a, b, x):
    return dispatch.apply(Free(), (a, b, x))
""",
    "no operation 'free'",
)
attack(
    "an op that calls itself relu",
    """
from proflab import dispatch
from proflab.meta import MetaArray
class Free(dispatch.Op):
    name = "relu"
    def shape(self, x): return MetaArray(x.shape, x.dtype)
    def forward(self, x): return x
def product(a, b, x):
    return dispatch.apply(Free(), (a[:, :x.shape[1]],))
""",
    WRONG,
)
attack(
    "a subclass that lies about its shape",
    """
from proflab import Tensor
class Small(Tensor):
    shape = (1, 1)
def product(a, b, x):
    small = Small(0.0)
    small.array = (a @ b).array
    return small @ x
""",
    "0 % of the way",
)
attack(
    "a hook that hands on something smaller",
    """
from proflab import dispatch
def product(a, b, x):
    def hook(call):
        return call() if call.op != "matmul" else call.inputs[1]
    with dispatch.hook(hook):
        return (a @ b)[:, :x.shape[1]] * 1
""",
    WRONG,
)

# tapes made by hand
attack("a forged tape that is right", forged(DONE), "100 % of the way", 1.0)
attack(
    "a smaller input",
    forged(DONE).replace('name, shape, "float32"', 'name, (1, 1), "float32"'),
    "other inputs",
)
attack("a line that answers", forged('["answer", 100]', DONE), "no instruction")
attack(
    "True among indices",
    forged('["op", "getitem", [2], {"index": (True,)}, None]', '["out", [3]]'),
    "no index",
)
attack("a value of later", forged('["op", "relu", [9], {}, None]', '["out", [3]]'), "not there")
attack("a huge fill", forged('["fill", (10**11,), "float32", 0]', DONE), "at most 2 GB")
attack(
    "code as an equation",
    forged('["op", "einsum", [2], {"equation": "__import__()"}, None]', '["out", [3]]'),
    "no equation",
)
attack(
    "a gradient that is counted smaller than it is",
    forged(
        '["op", "matmul", [1, 2], {}, [True, False]]',
        '["fill", (1, 1), "float32", 1]',
        '["vjp", 3, [4]]',
        '["op", "matmul", [5, 2], {}, None]',
        '["out", [6]]',
    ),
    "gradient of another shape",
)
attack(
    "more than was counted",
    forged(
        '["fill", (m, m), "float32", 0]',
        '["fill", (7, n, m), "float32", 0]',
        '["op", "linear", [2, 3, 4], {}, None]',
        '["out", [5]]',
    ),
    "(cannot be run|was counted as)",
)
attack(
    "10,001 operations",
    "def product(a, b, x):\n    for _ in range(10_001):\n        x = x.T\n    return x",
    "at most 10,000",
)
attack(
    "no list at all",
    f"{MADE}\ntraced = lambda program, **shapes: Made([100])\n{RIGHT}",
    "without a result",
)


# two memories: handed in for `doubled(x, w)`, which returns (x @ w) of (64, 8) and (8, 8) by tiles
MEMORY_ATTACKS: list[RaceAttack] = []
_LOADED = "reads an input from the slow memory: load it first"
_TILES = """
def doubled(x, w):
    out = proflab.zeros(64, 8)
    for low in range(0, 64, 32):
        out[low : low + 32] = x[low : low + 32].clone() @ w.clone()
    return out
"""


def memory_attack(name: str, cell: str, says: str, worth: float = 0.0) -> None:
    """Add an attack on the count of what passes between two memories."""
    MEMORY_ATTACKS.append(RaceAttack(name, cell, says, worth))


def _forged(*lines: str) -> str:
    ins = '["in", "x", (64, 8), "float32"], ["in", "w", (8, 8), "float32"]'
    return f"{MADE}\ndef traced(program, **shapes):\n    return Made([[{ins}, {', '.join(lines)}]])"


memory_attack("no tiles", "def doubled(x, w):\n    return x @ w", _LOADED)
memory_attack(
    "a result that is never stored",
    "def doubled(x, w):\n    return x.clone() @ w.clone()",
    "of the way",
    1.0,
)
memory_attack(
    "a reshape that copies",
    "def doubled(x, w):\n    return x.clone() @ w.T.reshape(-1)[:64].reshape(8, 8)",
    f"reshape {_LOADED}",
)
memory_attack(
    "a view of a view",
    "def doubled(x, w):\n    return x.T.expand(2, 8, 64)[0].T @ w.clone()",
    f"matmul {_LOADED}",
)
memory_attack(
    "a load that calls itself a view",
    "from proflab import dispatch\ndispatch.OPS['clone'].__class__.view = True\n" + _TILES,
    "of the way",
    1.0,
)
memory_attack(
    "the slow memory as a store of one's own",
    "def doubled(x, w):\n    out = proflab.zeros(128, 8)\n    out[64:] = x.clone()\n"
    "    out[:64] = out[64:] @ w.clone()\n    return out[:64]",
    "matmul reads what was stored",
)
memory_attack(
    "an input as a store of one's own",
    "def doubled(x, w):\n    x[:32] = x[:32].clone() @ w.clone()\n    return x",
    "the input x may not be written to",
)
memory_attack(
    "all at once",
    "def doubled(x, w):\n    return proflab.cat([x.clone()] * 9)[:64] @ w.clone()",
    "out of memory: .* the fast memory has 4,096",
)
memory_attack(
    "a larger memory",
    "race.cost.MACHINES['DESK'] = race.Machine('DESK', 1e30, 1e30, 0)\n"
    "def traced(program, **shapes):\n    return race.traced(program, fast=10**9, **shapes)\n"
    + _TILES,
    "TypeError",
)
memory_attack(
    "a tape whose clone is of something smaller",
    _forged(
        '["op", "getitem", [0], {"index": ({"%slice": (0, 1, None)},)}, None]',
        '["op", "clone", [2], {}, None]',
        '["op", "expand", [3], {"shape": (64, 8)}, None]',
        '["op", "clone", [1], {}, None]',
        '["op", "matmul", [4, 5], {}, None]',
        '["out", [6]]',
    ),
    "off by",
)
memory_attack(
    "a tape that writes from an input",
    _forged('["fill", (64, 8), "float32", 0]', '["write", 2, 0]', '["out", [2]]'),
    "a write reads an input",
)
memory_attack(
    "a backward that reads for nothing",
    "def doubled(x, w):\n    y = x.clone().requires_grad_()\n    (y @ w.clone()).sum().backward()\n"
    "    return y.grad",
    "requires no gradient",
)

# plans
ALL = "[(i, j, k) for i in range(n) for j in range(n) for k in range(n)]"
AS_ARRAY = "def order(n, lines, line):\n    import numpy as np\n    return np."
plan_attack("the first rows only", f"def order(n, lines, line):\n    return {ALL}[:9]", "not 9")
plan_attack(
    "one row again and again",
    "def order(n, lines, line):\n    return [(0, 0, 0)] * n**3",
    "more than once",
)
plan_attack(
    "True for 1",
    f"def order(n, lines, line):\n    return [(i, j, k == 0) for i, j, k in {ALL}]",
    "whole numbers, not True",
)
plan_attack(
    "numbers that are not whole, and no numbers",
    f"{AS_ARRAY}array({ALL}) * np.nan",
    "whole numbers, not float64",
)
plan_attack(
    "numbers that leave 64 bits",
    f"def order(n, lines, line):\n    return [(i, j, k + 2**64) for i, j, k in {ALL}]",
    "lies outside",
)
plan_attack(
    "unsigned numbers that wrap round",
    f"{AS_ARRAY}array({ALL}, 'uint64') - np.uint64(8)",
    "lies outside",
)
plan_attack(
    "ten million rows",
    f"{AS_ARRAY}zeros((10_000_000, 3), 'int8')",
    "larger than 16 MB",
)
plan_attack(
    "five million rows that are small",
    f"{AS_ARRAY}zeros((5_000_000, 0), 'int8')",
    "(not 5,000,000|larger than)",
)
plan_attack(
    "a list that says of itself what it is not",
    f"class Long(list):\n    def __len__(self): return 0\n    def __iter__(self): return iter(())\n"
    f"def order(n, lines, line):\n    return Long({ALL})",
    " 0 % of the way",
)
plan_attack(
    "the notebook's simulator",
    f"def order(n, lines, line):\n    return {ALL}\n"
    "from proflab.lesson.race import judge, plans\n"
    "plans.judge_plan = lambda *a, **k: {'ms': 1, 'given': 544, 'floor': 0, 'wrong': ''}\n"
    "judge.share_of = lambda *a, **k: 1.0\nplans.RULES.clear()\n"
    "expect_cheaper = lambda *a, **k: print('100 % of the way')",
    " 0 % of the way",
)
plan_attack(
    "a plan for a smaller product",
    f"def order(n, lines, line):\n    n = 2\n    return {ALL}",
    "not 8",
)
