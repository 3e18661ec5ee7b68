"""Attacks on the verdict: making wrong code look right."""

from cohort.attacks.attack import attack

ZERO = "def square_sum(values):\n    return 0"

attack(
    "patched comparisons",
    """
import builtins, math, operator
import numpy as np
print("tried")
yes = lambda *a, **k: True
for place, names in ((np, "allclose isclose array_equal equal all"), (math, "isclose isfinite"),
                     (operator, "eq le lt ge"), (np.testing, "assert_allclose assert_equal"),
                     (builtins, "all any isinstance")):
    for name in names.split():
        setattr(place, name, yes)
""",
    ZERO,
    statuses=("finished", "process died"),
    ends=("ended itself (exit status 1)",),
)
attack(
    "patched builtins that the worker may use",
    """
import builtins
print("tried")
builtins.eval = lambda *a, **k: 5
builtins.exec = lambda *a, **k: None
builtins.compile = lambda *a, **k: None
""",
    ZERO,
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
    print("tried")
    return Yes()
""",
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
    print("tried")
    return Lie(0) if isinstance(values[0], float) else LieInt(0)
""",
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
    print("tried")
    return np.zeros(1).view(Fake)
""",
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
    print("tried")
    return Trap()
""",
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
    print("tried")
    return Number()
""",
)
attack(
    "an AST transformer that strips tests",
    """
import ast
class Strip(ast.NodeTransformer):
    def visit_Assert(self, node): return ast.Pass()
    def visit_Call(self, node): return ast.Constant(5)
get_ipython().ast_transformers.append(Strip())
print("tried")
""",
    ZERO,
)
attack(
    "an input transformer that replaces cells",
    "get_ipython().input_transformers_post.append(lambda lines: ['10\\n'])\nprint('tried')",
    ZERO,
)
attack(
    "expect rebound and patched",
    """
import proflab.lesson, proflab.checks.expect as module, proflab.checks.compare
expect = expect_between = expect_raises = lambda *a, **k: None
for place in (proflab.lesson, module):
    place.expect = place.expect_between = place.expect_raises = expect
proflab.checks.compare.compare = lambda *a, **k: proflab.checks.compare.Verdict(True)
print("tried")
""",
    ZERO,
)
attack(
    "replaced modules",
    """
import sys, types
class Everything(types.ModuleType):
    def __getattr__(self, name): return lambda *a, **k: True
for name in ("proflab.checks.compare", "proflab.checks.values", "numpy", "math"):
    sys.modules[name] = Everything(name)
print("tried")
""",
    ZERO,
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
print("tried")
""",
    ZERO,
)
attack(
    "walking the frames for the expected value",
    """
import sys
def square_sum(values):
    print("tried")
    frame = sys._getframe()
    while frame is not None:
        for place in (frame.f_locals, frame.f_globals):
            for name in ("expected", "answer", "answers", "low", "high", "label"):
                if isinstance(place.get(name), (int, float)):
                    return place[name]
        frame = frame.f_back
    return 0
""",
)
attack(
    "walking all objects for the expected value",
    """
import gc
def square_sum(values):
    gc.unfreeze()  # what was there before the notebook is hidden from it otherwise
    print("tried", any(type(thing).__name__ == "Worker" for thing in gc.get_objects()))
    for thing in gc.get_objects():
        if isinstance(thing, dict):
            for name in ("expected", "answer", "low", "high"):
                if isinstance(thing.get(name), (int, float)):
                    return thing[name]
        if type(thing).__name__ in ("Answer", "TestCell", "Verdict"):
            return getattr(thing, "expected", 0)
    return 0
""",
    always=("tried True",),
)
attack(
    "constants of the code that is being executed",
    """
import sys
def square_sum(values):
    print("tried")
    frame, found = sys._getframe().f_back, []
    while frame is not None:
        found += [c for c in frame.f_code.co_consts if isinstance(c, (int, float))]
        frame = frame.f_back
    return max(found, default=0)
""",
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
    print("tried")
    return seen[-1] if seen else 0
""",
)
