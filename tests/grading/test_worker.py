"""The student's side: cells are transformed and recognised as IPython does, in less time."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from IPython.core.async_helpers import _should_be_async
from IPython.core.inputtransformer2 import TransformerManager
from sandboxes import needs_sandbox

import proflab_course.grading.inside
from proflab_course.grading.plan import RunCell, Submission
from proflab_course.grading.run.sandbox_runner import SandboxRunner
from proflab_course.grading.run.subprocess_runner import SubprocessRunner

ROOT = Path(__file__).resolve().parents[2]
HERE = Submission("someone")
PIECES = (
    "x = 1", "def f():", "    return 1", "f(2)", "%time f()", "%%bash", "!ls", "f?", "??f", "a % b",
    ">>> x", "... y", "    ...", "In [3]: x", "   ...: y", "  x", "\t", "", "   ", "/f 1", ", f 1",
    "; f 1", "  ;f", "'''", '"""', "# it", "\\", "@f", "x = !ls", "x = %pwd", "\x0c", "\r", "é = 1",
    "async def g():", "await g()", "(", ")", "'", "$", "\u2028", "a != b", "f? # why?", "x =\\",
    "print('yes!')", "x = f?;", "y =  !ls", "x, y = !ls", "x == !y", "z = a %b", "f ?  ",
    "x: int = %pwd",
)  # fmt: skip
TRICKY = st.lists(st.sampled_from(PIECES), max_size=6).map("\n".join)


@pytest.fixture(scope="module")
def worker():
    """The program, which imports its neighbours by their bare names."""
    folder = str(Path(proflab_course.grading.inside.__file__).parent)
    sys.path.insert(0, folder)
    try:
        import worker

        yield worker
    finally:
        sys.path.remove(folder)
        for name in ("worker", "channel", "recorder"):
            sys.modules.pop(name, None)


def lesson_cells() -> list[str]:
    notebooks = [nbformat.read(p, as_version=4) for p in ROOT.glob("source/*/*.ipynb")]
    return [c.source for n in notebooks for c in n.cells if c.cell_type == "code" and c.source]


def outcome(manager, cell: str) -> object:
    try:
        return manager.transform_cell(cell)
    except Exception as error:
        return type(error)


def test_lessons_cells_are_plain_and_stay_what_they_are(worker):
    quick, own = worker.make_transformer(), TransformerManager()
    cells = lesson_cells()
    assert [quick.transform_cell(c) for c in cells] == [own.transform_cell(c) for c in cells]
    assert sum(map(worker.is_plain_python, cells)) > 0.9 * len(cells)


@pytest.mark.filterwarnings("ignore:.make_tokens_by_line")
@given(cell=TRICKY | st.text())
@example(cell="x = '''\n   \n'''")
@example(cell="x\n")
def test_any_cell_is_transformed_as_ipython_does(worker, cell):
    quick = worker.make_transformer()
    assert outcome(quick, cell) == outcome(TransformerManager(), cell)


@given(cell=TRICKY)
def test_a_cell_without_these_words_awaits_nothing(cell):
    if "await" not in cell and "async" not in cell:
        assert not _should_be_async(cell)


def test_a_students_own_transformers_count():
    first = (
        "ip = get_ipython()\n"
        "def louder(lines):\n"
        "    return [line.replace('quiet', 'LOUD') for line in lines]\n"
        "ip.input_transformers_cleanup.append(louder)"
    )
    second = "x = 1\nprint('quiet', x)"
    third = "import asyncio\nawait asyncio.sleep(0)\nprint('waited')"
    result = SubprocessRunner().run(HERE, (RunCell(first), RunCell(second), RunCell(third)))
    assert result.replies[1][0].outputs[0]["text"] == "LOUD 1\n"
    assert result.replies[2][0].outputs[0]["text"] == "waited\n"


_RENDERED = """
class Odd(ValueError):
    def _render_traceback_(self):
        print("rendered")
        return ["a line"]
raise Odd("no")
"""


def test_an_error_is_rendered_once_and_a_notebook_of_the_history_has_it():
    looked = "print('\"evalue\": \"no\"' in open('saved.ipynb').read())"
    cells = tuple(map(RunCell, (_RENDERED, "1", "%notebook saved.ipynb", looked)))
    [[first], _, _, [last]] = SubprocessRunner().run(HERE, cells).replies
    assert [output.get("text") for output in first.outputs] == ["rendered\n", None]
    assert first.outputs[1]["traceback"] == ["a line"]
    assert last.outputs[0]["text"] == "True\n"


def test_without_tracebacks_an_error_has_its_kind_and_message():
    cells = (RunCell("def f():\n    raise KeyError('there')\nf()"),)
    [[told]], [[whole]] = (
        SubprocessRunner(tracebacks=shown).run(HERE, cells).replies for shown in (False, True)
    )
    [brief], [full] = told.outputs, whole.outputs
    assert (brief["ename"], brief["evalue"]) == (full["ename"], full["evalue"])
    assert len(brief["traceback"]) == 1 < len(full["traceback"])


@needs_sandbox
def test_what_was_rehearsed_left_no_trace():
    look = (
        "names = [n for n in globals() if not n.startswith('_')]\n"
        "print(sorted(names), In, Out, len(In), get_ipython().execution_count)"
    )
    result = SubprocessRunner().run(HERE, (RunCell(look),))
    plain = result.replies[0][0].outputs[0]["text"]
    with SandboxRunner() as runner:
        assert runner.run(HERE, (RunCell(look),)).replies[0][0].outputs[0]["text"] == plain
