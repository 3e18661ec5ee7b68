"""What a user of a runner notices: replies, outputs, limits, ends. Both runners, one behaviour."""

from __future__ import annotations

import textwrap
from dataclasses import replace

import numpy as np
import pytest
from sandboxes import needs_sandbox

from proflab_course.cases.case import Step
from proflab_course.cases.hidden_doubles import DoubleSpec
from proflab_course.grading.limits import MB, Limits
from proflab_course.grading.plan import Result, RunBlock, RunCell, Submission
from proflab_course.grading.run.sandbox_runner import SandboxRunner, make_runner
from proflab_course.grading.run.subprocess_runner import SubprocessRunner

HERE = Submission("someone")
# Generous in real time: only CPU seconds may decide on a busy machine.
LIMITS = Limits(cell_seconds=1.0, notebook_seconds=30.0, memory=600 * MB, wall_factor=300.0)


def block(*steps: tuple[str, str], hidden: bool = False) -> RunBlock:
    return RunBlock(hidden, tuple(Step(*step) for step in steps))


def values(result: Result, item: int) -> list:
    return [reply.value for reply in result.replies[item]]


def text(result: Result, item: int) -> str:
    return "".join(o.get("text", "") for o in result.replies[item][0].outputs)


def test_cells_and_steps_share_one_namespace(runner):
    plan = (
        RunCell("def f(x):\n    return 2 * x"),
        block(("setup", "y = f(4)"), ("value", "y"), ("raises", "f(None)")),
        RunCell("print(y)"),
    )
    result = runner.run(HERE, plan)
    assert (result.status, result.sentence) == ("finished", "")
    assert result.replies[1][1].value == 8
    assert result.replies[1][2].state == "raised"
    assert result.replies[1][2].raised[:2] == ["TypeError", "Exception"]
    assert text(result, 2) == "8\n"


def test_values_come_back_exactly(runner):
    plan = (
        RunCell("import numpy as np"),
        block(
            ("value", "[0.1, 2**70, {'a': (1j, None)}]"), ("value", "np.arange(6.0).reshape(2, 3)")
        ),
    )
    replies = runner.run(HERE, plan).replies[1]
    assert replies[0].value == [0.1, 2**70, {"a": (1j, None)}]
    assert np.array_equal(replies[1].value, np.arange(6.0).reshape(2, 3))


def test_what_is_no_plain_data_is_refused_with_a_sentence(runner):
    reply = runner.run(HERE, (block(("value", "object()")),)).replies[0][0]
    assert reply.state == "refused"
    assert "object" in reply.message


@pytest.mark.whole
def test_cells_behave_as_in_jupyter(runner):
    plan = (
        RunCell("%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]);"),
        RunCell("import asyncio\nawait asyncio.sleep(0)\n{'a': 1}"),
        RunCell("lines = !echo one\nprint(lines)\n!echo two"),
        RunCell("input('?')"),
        RunCell("1 / 0"),
        RunCell("exit()\nprint('on')"),
    )
    patient = type(runner)(replace(LIMITS, cell_seconds=30.0))  # matplotlib is imported
    result = patient.run(HERE, plan)
    patient.close()
    assert result.status == "finished"
    kinds = [[o["output_type"] for o in replies[0].outputs] for replies in result.replies]
    assert "image/png" in result.replies[0][0].outputs[0]["data"]
    assert result.replies[1][0].outputs[0]["data"]["text/plain"] == "{'a': 1}"
    assert text(result, 2) == "['one']\ntwo\n"
    assert result.replies[3][0].outputs[0]["ename"] == "EOFError"
    assert kinds[4] == ["error"]
    assert text(result, 5).endswith("on\n")


def test_a_hidden_block_changes_nothing_later_and_its_outputs_are_dropped(runner):
    plan = (
        RunCell("state = [1]"),
        block(("setup", "state.append(2); print('secret')"), ("value", "state"), hidden=True),
        RunCell("state.append(3)\nprint(state)"),
        block(("value", "state"), hidden=True),
    )
    result = runner.run(HERE, plan)
    assert values(result, 1)[1] == [1, 2]
    assert values(result, 3) == [[1, 3]]
    assert text(result, 2) == "[1, 3]\n"
    assert all(not reply.outputs for item in (1, 3) for reply in result.replies[item])


@pytest.mark.whole
def test_too_much_cpu_time_is_stopped_like_a_button_would_and_the_rest_goes_on(runner):
    plan = (RunCell("while True: pass"), RunCell("print('next')"), block(("value", "7")))
    result = runner.run(HERE, plan)
    assert result.status == "timed out"
    assert "1 CPU seconds" in result.sentence
    assert not result.hit_wall
    assert result.replies[0][0].outputs[-1]["ename"] == "KeyboardInterrupt"
    assert text(result, 1) == "next\n"
    assert values(result, 2) == [7]


def test_too_much_memory_is_named(runner):
    plan = (RunCell("hoard = bytearray(3_000_000_000)"), RunCell("print('next')"))
    result = runner.run(HERE, plan)
    assert result.status == "out of memory"
    assert "more than 600 MB of" in result.sentence
    assert text(result, 1) == "next\n"


@pytest.mark.parametrize(
    "code, word",
    [
        ("import os; os._exit(3)", "exit status 3"),
        ("import ctypes; ctypes.string_at(0)", "segmentation fault"),
        ("import os; os.kill(os.getpid(), 9)", "killed"),
    ],
)
def test_a_process_that_dies_is_told_by_how_and_hidden_blocks_before_it_count(runner, code, word):
    plan = (
        RunCell("x = 1"),
        block(("value", "x"), hidden=True),
        RunCell(code),
        block(("value", "x")),
    )
    result = runner.run(HERE, plan)
    assert result.status == "process died"
    assert word in result.sentence
    assert values(result, 1) == [1]
    assert result.replies[3][0].state == "lost"


def test_every_item_gets_its_replies_however_the_session_ends(runner):
    plan = (
        RunCell("import os; os._exit(0)"),
        block(("setup", "a = 1"), ("value", "a")),
        RunCell("2"),
    )
    result = runner.run(HERE, plan)
    assert [len(replies) for replies in result.replies] == [1, 2, 1]
    assert {reply.state for replies in result.replies for reply in replies} == {"lost"}


def test_long_output_is_cut_with_a_note(runner):
    result = runner.run(HERE, (RunCell("print('x' * 10**7)"),))
    assert len(text(result, 0)) < 2.1 * MB
    assert "was cut" in text(result, 0)


def test_support_files_replace_copies_and_notebooks_and_links_stay_behind(runner, tmp_path):
    mine, support = tmp_path / "mine", tmp_path / "support"
    (mine / "data").mkdir(parents=True)
    support.mkdir()
    (mine / "data/table.csv").write_text("1,2")
    (mine / "built.py").write_text("x = 'mine'")
    (mine / "notes.ipynb").write_text("{}")
    (mine / "link.txt").symlink_to("/etc/hostname")
    (mine / "numpy.py").write_text("raise SystemExit")
    (support / "built.py").write_text("x = 'support'")
    (support / "lesson.ipynb").write_text("the answers")
    code = "import os, built, numpy\nprint(sorted(os.listdir('.')), os.listdir('data'), built.x)"
    result = runner.run(Submission("me", mine, support), (RunCell(code),))
    listed = text(result, 0)
    assert "built.py" in listed and "table.csv" in listed and listed.endswith("support\n")
    assert "ipynb" not in listed and "link" not in listed


# ── doubles that stay with the grader ────────────────────────────────────────────────────────


STUB = "from proflab.lesson import doubles"
ELAPSED = """
from time import perf_counter
def elapsed():
    start = perf_counter()
    model(0)
    return round(perf_counter() - start, 9)
"""
CLOCK = DoubleSpec("clock", "Clock", {"tick_ns": 100})
MODEL = DoubleSpec("model", "Model", {"ms": [4.0], "cold_ms": [90.0]}, {"clock": "clock"})


def held_block(*steps: tuple[str, str], hidden: bool = True) -> RunBlock:
    declared = [("setup", CLOCK.stub), ("setup", MODEL.stub)]
    made = block(*declared, *steps, hidden=hidden)
    return replace(made, doubles=((0, CLOCK), (1, MODEL)))


@pytest.mark.parametrize("hidden", [True, False])
def test_a_stub_asks_the_grader_for_each_reading_and_call(runner, hidden):
    steps = [("value", "clock.run(elapsed)")] * 2 + [("lookup", "model.calls")]
    plan = (RunCell(STUB), RunCell(ELAPSED), held_block(*steps, hidden=hidden))
    assert values(runner.run(HERE, plan), 2)[2:] == [0.09, 0.004, 2]


def test_each_block_begins_its_script_anew(runner):
    first = held_block(("value", "clock.run(elapsed)"), ("lookup", "clock.readings"))
    result = runner.run(HERE, (RunCell(STUB), RunCell(ELAPSED), first, first))
    assert [values(result, index)[2:] for index in (2, 3)] == [[0.09, 2]] * 2


def test_what_a_student_makes_of_a_stub_does_not_change_what_the_grader_saw(runner):
    cheat = """
    def elapsed():
        type(model).calls = 99
        model._script.calls = 99
        return model.calls
    """
    block = held_block(("value", "clock.run(elapsed)"), ("lookup", "model.calls"))
    result = runner.run(HERE, (RunCell(STUB), RunCell(textwrap.dedent(cheat)), block))
    assert values(result, 2)[2:] == [99, 0]


def test_no_walk_through_the_process_finds_a_script(runner):
    walk = """
    import gc
    def elapsed():
        found = [o for o in gc.get_objects() if type(o).__name__.endswith("Script")]
        held = [vars(model), vars(model._script), vars(clock._script)]
        return [len(found), [len(names) for names in held], 90.0 in gc.get_referents(*held)]
    """
    block = held_block(("value", "clock.run(elapsed)"))
    result = runner.run(HERE, (RunCell(STUB), RunCell(textwrap.dedent(walk)), block))
    assert values(result, 2)[2:] == [[0, [1, 1, 1], False]]


def test_a_double_that_is_not_made_yet_cannot_be_asked(runner):
    ask = "__import__('proflab_grader').call('model.call')"
    late = block(("setup", CLOCK.stub), ("value", ask), ("setup", MODEL.stub), ("value", ask))
    plan = (RunCell(STUB), replace(late, doubles=((0, CLOCK), (2, MODEL))))
    early, _, now = runner.run(HERE, plan).replies[1][1:]
    assert "no double of that name" in early.message
    assert now.state == "value"


def test_waiting_for_a_script_that_goes_nowhere_raises_in_the_students_code(runner):
    wait = "def wait():\n    import time\n    while not time.process_time() < 0: pass"
    plan = (RunCell(STUB), RunCell(wait), held_block(("value", "clock.run(wait)"), ("value", "1")))
    waited, after = runner.run(HERE, plan).replies[2][2:]
    assert waited.raised[0] == "RuntimeError"
    assert "10,000 times while nothing else happened" in waited.message
    assert after.value == 1


@pytest.mark.parametrize(
    "call",
    [
        "call('other.read')",
        "call(5)",
        "call('clock.read')",
        "call('clock.read', 'no such kind')",
        "call('clock.advance', -1)",
        "call('clock._now')",
        "call('clock.__init__')",
        "call('model.calls')",
        "call('model.call', 1, 2, 3)",
        "call('clock.read', *[1j] * 99)",
    ],
)
def test_calls_that_make_no_sense_raise_in_the_students_code_only(runner, call):
    plan = (RunCell(f"{STUB}\nfrom proflab_grader import call"), held_block(("value", call)))
    result = runner.run(HERE, plan)
    assert result.status == "finished"
    assert result.replies[1][2].raised[0] == "RuntimeError"


def test_a_call_outside_such_a_test_raises_without_asking(runner):
    plan = (
        RunCell("from proflab_grader import call\ncall('clock.read')"),
        block(("value", "call('x')")),
    )
    result = runner.run(HERE, plan)
    assert result.status == "finished"
    assert result.replies[0][0].outputs[0]["ename"] == "RuntimeError"
    assert "only in a test that has doubles" in result.replies[1][0].message


# ── which runner ─────────────────────────────────────────────────────────────────────────────


def test_none_means_an_ordinary_subprocess():
    assert isinstance(make_runner("none"), SubprocessRunner)


@needs_sandbox
def test_auto_means_the_sandbox():
    runner = make_runner("auto", 1, LIMITS)
    assert isinstance(runner, SandboxRunner)
    runner.close()
