"""A lesson as a test's module names it by its FOLDER."""

import re
import sys

import pytest
from cohort.run import solved
from lesson_cells import value_of

from proflab.lesson import cuda
from proflab.lesson.cuda.device import NoDevice
from proflab_course.course.notebook import read_module


@pytest.fixture(scope="module")
def lesson(request):
    """Return the lesson as it is written."""
    name = request.module.FOLDER.name
    return read_module(request.module.FOLDER / f"{name}.py", name)


@pytest.fixture(scope="module")
def scope(request):
    """Return the names that the solved lesson defines."""
    return solved(f"lesson_{request.module.FOLDER.name[:2]}").scope


@pytest.fixture(scope="module")
def text(lesson):
    """Return all that is text in the lesson."""
    return "\n".join(cell.source for cell in lesson.named("text"))


@pytest.fixture(scope="module")
def shown(request, lesson, scope):
    """Return what each demo cell of a GPU lesson ends on, and what it prints, without a card.

    The lesson is solved, nothing is guessed, and the module's DOCUMENTS (or its only DOCUMENT), of
    its FORM, are shown.
    """
    module = request.module
    documents = getattr(module, "DOCUMENTS", None) or (module.DOCUMENT,)
    paths = (module.FOLDER / name for name in documents)
    record = cuda.Record(*paths, find=no_card, form=module.FORM)
    guesses = {name: None for c in lesson.cells for name in re.findall(r"^guess_\w+", c.code, re.M)}
    names = scope | {"record": record} | guesses
    shown, printed = {}, []
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(module.FOLDER)  # where `import demos` finds the lesson's own
        patch.chdir(module.FOLDER)  # where its documents lie
        for path in module.FOLDER.glob("*.py"):
            patch.delitem(sys.modules, path.stem, raising=False)
        patch.setattr("builtins.print", lambda *parts: printed.append(" ".join(map(str, parts))))
        for cell in lesson.named("demo"):
            printed.clear()
            value = value_of(cell, names)
            shown[cell.name] = (value, "\n".join(printed))
    return shown


def no_card():
    """Find no device, whatever this machine has."""
    raise NoDevice("tests measure nothing")
