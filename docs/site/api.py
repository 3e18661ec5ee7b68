"""The pages of the API: which names are public; what is said of them is their docstrings'."""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from make_torch_md import public, stands_in  # noqa: E402

import proflab  # noqa: E402
from proflab import autograd, dispatch, graph, models, nn, optim  # noqa: E402
from proflab import lesson as lesson_tools  # noqa: E402
from proflab.nn import functional, init, utils  # noqa: E402


@dataclass(frozen=True)
class Page:
    """One page: its file's name, its title, a paragraph, the module and the names in it."""

    name: str
    title: str
    about: str
    module: str
    names: tuple[str, ...]


def pages() -> list[Page]:
    """Return the pages in the order in which the site lists them."""
    tensor = tuple(name for name, _ in public(proflab, inspect.isfunction))
    return [
        Page("tensor", "Tensor", _TENSOR, "proflab", ("Tensor",)),
        Page("functions", "Functions", _FUNCTIONS, "proflab", tensor),
        Page("nn", "Layers and losses", _NN, "proflab.nn", _classes(nn, nn.Module)),
        Page("functional", "nn.functional", _F, "proflab.nn.functional", _functions(functional)),
        Page("init", "nn.init", _INIT, "proflab.nn.init", _functions(init, own=True)),
        Page("utils", "nn.utils", _UTILS, "proflab.nn.utils", _functions(utils, own=True)),
        Page("optim", "Optimizers", _OPTIM, "proflab.optim", _classes(optim, optim.Optimizer)),
        Page("models", "Models", _MODELS, "proflab.models", tuple(models.__all__)),
        Page("dispatch", "Watching ops", _DISPATCH, "proflab.dispatch", _own(dispatch)),
        Page("autograd", "Gradients", _AUTOGRAD, "proflab.autograd", _own(autograd)),
        Page("graph", "Gradient mode", _GRAPH, "proflab.graph", _own(graph)),
        Page("expect", "Test cells", _EXPECT, "proflab.lesson", tuple(lesson_tools.__all__)),
    ]


_TENSOR = "An array that remembers how it was computed. Every method is also a function."
_FUNCTIONS = "The functions of `proflab`: making tensors, computing with them, shaping them."
_NN = "The classes of `proflab.nn`. Their names, arguments and defaults are torch's."
_F = "The functions behind the layers."
_INIT = "Ways to fill a parameter at the start."
_UTILS = "What one does to all parameters of a model."
_OPTIM = "What turns gradients into steps."
_MODELS = "The models that the lessons profile. Under `proflab.meta()` none of them takes memory."
_DISPATCH = "The one point that every op passes, and the hook that sees it."
_AUTOGRAD = "The walk back through the graph, and functions with a backward of your own."
_GRAPH = "What a forward pass leaves behind for backward, and how to leave nothing."
_EXPECT = "The three calls of a test cell."


def write_api(folder: Path) -> list[str]:
    """Write the pages into `folder`; returns their names."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages():
        (folder / f"{page.name}.md").write_text(_text(page), encoding="utf-8")
    return [page.name for page in pages()]


def _text(page: Page) -> str:
    listed = "\n".join(f"   {name}" for name in page.names)
    head = f"# {page.title}\n\n{page.about}\n"
    summary = f".. currentmodule:: {page.module}\n\n.. autosummary::\n\n{listed}\n"
    entries = "\n".join(_entry(page.module, name) for name in page.names)
    return f"{head}\n````{{eval-rst}}\n{summary}\n{entries}\n````\n"


def _entry(module: str, name: str) -> str:
    thing = getattr(sys.modules[module], name)
    if inspect.isclass(thing):
        return f".. autoclass:: {module}.{name}\n   :members:\n"
    return f".. autofunction:: {module}.{name}\n"


def _functions(module: ModuleType, own: bool = False) -> tuple[str, ...]:
    only = stands_in(module) if own else inspect.isfunction
    return tuple(name for name, _ in public(module, only))


def _classes(module: ModuleType, base: type) -> tuple[str, ...]:
    found = public(module, lambda thing: inspect.isclass(thing) and issubclass(thing, base))
    return tuple(name for name, _ in found)


def _own(module: ModuleType) -> tuple[str, ...]:
    """Return the documented functions and classes that a module defines itself."""
    return tuple(
        name
        for name, thing in public(module, lambda t: inspect.isfunction(t) or inspect.isclass(t))
        if thing.__module__ == module.__name__ and thing.__doc__
    )
