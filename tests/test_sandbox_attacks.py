"""Every attack of the corpus, run against the sandbox: nothing gained, read, left or written."""

from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path

import nbformat
import psutil
import pytest
from cohort.attacks import ATTACKS, HONEST, TRIED, Attack, test_cell
from cohort.attacks.staying import MARK
from sandboxes import needs_sandbox

from proflab.grading.plan import MB, Limits, Plan, Result, RunBlock, RunCell, Submission
from proflab.grading.sandbox import SandboxRunner

CANARY = "canary-of-"
NAP = f"98765.{os.getpid()}"  # seconds for which left processes would sleep
KINDS = ("environment", "source", "gradebook", "other-submission", "memory", "socket")
pytestmark = needs_sandbox

RUNNERS = {
    "roomy": Limits(30.0, 120.0, memory=700 * MB, scratch=64 * MB, file=32 * MB),
    "cpu": Limits(0.5, 2.0, wall_factor=200.0),
    "wall": Limits(1.0, 30.0, wall_factor=1.0),
}


class Surroundings:
    """A course with canaries in it, and someone who listens for calls home."""

    def __init__(self, root: Path) -> None:
        self.course = root / "course"
        self.secret = CANARY + "memory" + os.urandom(8).hex()  # lives in the grader's memory
        for path, kind in (
            ("source/01_x/01_x.ipynb", "source"),
            ("gradebook.db", "gradebook"),
            ("submitted/other/01_x/01_x.ipynb", "other-submission"),
            ("submitted/other/secret.txt", "other-submission"),
        ):
            file = self.course / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(CANARY + kind)
        if os.geteuid() == 0:
            os.chown(self.course / "submitted/other/secret.txt", 12345, 12345)
        support = self.course / "source/01_x/built.py"
        support.write_text("ORIGIN = 'genuine'\n")
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.unix = socket.socket(socket.AF_UNIX)
        self.unix.bind(str(root / "grader.sock"))
        self.unix.listen()
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind(f"\0proflab-{os.getpid()}")
        self.abstract.listen()
        self.calls: list[str] = []
        for name in ("tcp", "unix", "abstract"):
            threading.Thread(target=self._listen, args=(name,), daemon=True).start()
        self.before = self.snapshot()

    def _listen(self, name: str) -> None:
        while True:
            try:
                link, _ = getattr(self, name).accept()
            except OSError:
                return
            self.calls.append(name)
            with link:
                link.sendall(f"{CANARY}socket".encode())

    def snapshot(self) -> dict[str, bytes]:
        """Everything in the course but what the tests themselves put into a student's folder."""
        return {
            str(p): p.read_bytes()
            for p in sorted(self.course.rglob("*"))
            if p.is_file() and "me" not in p.relative_to(self.course).parts
        }

    def filled(self, code: str) -> str:
        """Code with the places of this course in it."""
        for name, value in (
            ("{course}", str(self.course)),
            ("{port}", str(self.tcp.getsockname()[1])),
            ("{socket}", str(self.course.parent / "grader.sock")),
            ("{abstract}", f"proflab-{os.getpid()}"),
            ("{nap}", NAP),
        ):
            code = code.replace(name, value)
        return code

    def submission(self, attack: Attack) -> Submission:
        """The attack's folder, with its links."""
        folder = self.course / "submitted" / "me" / attack.name.replace(" ", "_") / "01_x"
        folder.mkdir(parents=True)
        for name, content in attack.files.items():
            if isinstance(content, str):
                (folder / name).write_text(content)
            elif content[0] == "link":
                (folder / name).symlink_to(self.filled(content[1]))
            else:
                os.link(self.filled(content[1]), folder / name)
        return Submission("me", folder, self.course / "source/01_x")

    def close(self) -> None:
        """Stop listening."""
        for name in ("tcp", "unix", "abstract"):
            getattr(self, name).close()


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory):
    os.environ["PROFLAB_CANARY"] = CANARY + "environment"
    place = Surroundings(tmp_path_factory.mktemp("attacked"))
    yield place
    place.close()
    del os.environ["PROFLAB_CANARY"]


@pytest.fixture(scope="module")
def runners(surroundings):
    made: dict[str, SandboxRunner] = {}

    def get(name: str) -> SandboxRunner:
        if name not in made:
            made[name] = SandboxRunner(RUNNERS[name], jobs=1)
        return made[name]

    yield get
    for runner in made.values():
        runner.close()


def plan_for(surroundings: Surroundings, before: tuple[str, ...], after: tuple[str, ...]) -> Plan:
    cells = [RunCell(surroundings.filled(code)) for code in before]
    blocks = [RunBlock(block.hidden, block.steps) for block in test_cell().blocks]
    return (*cells, *blocks, *(RunCell(surroundings.filled(code)) for code in after))


def passed_cases(result: Result, first: int) -> list[str]:
    """The labels of the cases that the replies pass; the test cell's blocks begin at `first`."""
    passed = []
    blocks = test_cell().blocks
    for block, replies in zip(blocks, result.replies[first : first + len(blocks)], strict=True):
        for answer, reply in zip(block.answers, replies, strict=True):
            if answer is None or reply.state not in ("value", "raised"):
                continue
            if reply.state == "value":
                verdict = answer.judge_value(reply.value)
            else:
                verdict = answer.judge_raised(reply.raised, reply.message)
            passed += [answer.label] if verdict.passed else []
    return passed


def everything_said(result: Result) -> str:
    """All text that the grader holds after the turn."""
    return json.dumps([[vars(r) for r in replies] for replies in result.replies], default=repr)


def check_outputs(result: Result) -> None:
    """Outputs are valid, can be written, and are not too many."""
    notebook = nbformat.v4.new_notebook()
    for replies in result.replies:
        for reply in replies:
            cell = nbformat.v4.new_code_cell(outputs=[nbformat.from_dict(o) for o in reply.outputs])
            notebook.cells.append(cell)
    nbformat.validate(notebook)
    assert len(nbformat.writes(notebook).encode()) < 40 * MB


def check_nothing_left(runner: SandboxRunner) -> None:
    """Of the turn, no process is left: the slot's zygote alone, if it was not replaced."""
    slot = runner._slots.queue[-1]
    for zygote in slot.zygotes.values():
        launched = psutil.Process(zygote.result().process.pid)
        assert [p.name() for p in launched.children(recursive=True)] in (["python"], ["python3"])
    for process in psutil.process_iter(["cmdline"]):
        line = " ".join(process.info["cmdline"] or ())
        assert NAP not in line, line


def check_nothing_written(surroundings: Surroundings) -> None:
    assert surroundings.snapshot() == surroundings.before
    for folder in ("/", "/tmp", "/var/tmp", "/dev/shm", "/root", "/home", "/usr/lib", "/etc", "."):
        assert not os.path.lexists(os.path.join(folder, MARK))


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name.replace(" ", "_"))
def test_attack_gains_reads_and_leaves_nothing(attack, surroundings, runners):
    runner = runners(attack.runner)
    plan = plan_for(surroundings, attack.cells, attack.after)
    result = runner.run(surroundings.submission(attack), plan)
    said = everything_said(result)
    assert result.status in attack.statuses, (result.status, result.sentence, said[:2000])
    assert passed_cases(result, len(attack.cells)) == []
    for kind in KINDS:
        assert CANARY + kind not in said
    assert surroundings.secret not in said
    for text in attack.never:
        assert text not in said, text
    for text in attack.always:
        assert text in said, (text, said[:2000])
    if attack.tried:
        assert TRIED in said, said[:2000]
    check_outputs(result)
    check_nothing_left(runner)
    check_nothing_written(surroundings)
    assert surroundings.calls == []


def test_the_corpus_is_as_large_as_it_says():
    assert len(ATTACKS) >= 40
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)


@pytest.mark.parametrize("kind", ["roomy", "cpu"])
def test_honest_work_after_the_attacks_keeps_its_points_and_finds_no_notes(
    kind, surroundings, runners
):
    look = f"""
import os, json, numpy, proflab.plain
print([f for f in ("/tmp", "/dev/shm", "..", ".") if os.path.exists(f + "/{MARK}")])
print([hasattr(m, "note") for m in (json, numpy, proflab.plain)])
print([p for p in os.listdir("/proc") if p.isdigit()])
"""
    result = runners(kind).run(Submission("honest"), plan_for(surroundings, (look, HONEST), ()))
    assert (result.status, result.sentence) == ("finished", "")
    said = result.replies[0][0].outputs[0]["text"]
    assert said == "[]\n[False, False, False]\n['1', '2']\n"
    assert len(passed_cases(result, 2)) == 3
