"""What surrounds an attack, and what it gained: one place for the sandbox and its modes.

A hostile submission is carried out beside a course with canaries in it; `findings` says in
sentences what it should not have had.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from pathlib import Path

import nbformat
import psutil
from cohort.attacks import TRIED, Attack, test_cell
from cohort.attacks.staying import MARK

from proflab_course.grading.judge_case import judge_case
from proflab_course.grading.limits import MB, Limits
from proflab_course.grading.plan import Plan, Result, RunBlock, RunCell, Submission
from proflab_course.grading.run.sandbox_runner import SandboxRunner

CANARY = "canary-of-"
NAP = f"98765.{os.getpid()}"  # seconds for which left processes would sleep
KINDS = ("environment", "source", "gradebook", "other-submission", "memory", "socket")
LIMITS = {
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
        self.address = f"proflab-{os.urandom(8).hex()}"
        self.abstract.bind(f"\0{self.address}")
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
            ("{abstract}", self.address),
            ("{nap}", NAP),
        ):
            code = code.replace(name, value)
        return code

    def submission(self, attack: Attack) -> Submission:
        """The attack's folder, with its links."""
        folder = self.course / "submitted" / "me" / attack.name.replace(" ", "_") / "01_x"
        folder.mkdir(parents=True)
        for name, content in attack.files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            if isinstance(content, (str, bytes)):
                data = content if isinstance(content, bytes) else content.encode()
                (folder / name).write_bytes(data)
            elif content[0] == "link":
                (folder / name).symlink_to(self.filled(content[1]))
            else:
                os.link(self.filled(content[1]), folder / name)
        return Submission("me", folder, self.course / "source/01_x")

    def close(self) -> None:
        """Stop listening."""
        for name in ("tcp", "unix", "abstract"):
            getattr(self, name).close()


def plan_for(
    surroundings: Surroundings,
    before: tuple[str, ...],
    after: tuple[str, ...] = (),
    late: bool = False,
) -> Plan:
    cells = [RunCell(surroundings.filled(code)) for code in before]
    blocks = [
        RunBlock(block.hidden, block.steps, late=late and block.hidden)
        for block in test_cell().blocks
    ]
    return (*cells, *blocks, *(RunCell(surroundings.filled(code)) for code in after))


def passed_cases(result: Result, first: int) -> list[str]:
    """The labels of the cases that the replies pass; the test cell's blocks begin at `first`."""
    passed = []
    blocks = test_cell().blocks
    for block, replies in zip(blocks, result.replies[first : first + len(blocks)], strict=True):
        for answer, reply in zip(block.answers, replies, strict=True):
            if answer is None or reply.state not in ("value", "raised"):
                continue
            passed += [answer.label] if judge_case(answer, reply).passed else []
    return passed


def everything_said(result: Result) -> str:
    """All text that the grader holds after the session."""
    return json.dumps([[vars(r) for r in replies] for replies in result.replies], default=repr)


def check_outputs(result: Result) -> None:
    """Check that outputs are valid, can be written, and are not too many."""
    notebook = nbformat.v4.new_notebook()
    for replies in result.replies:
        for reply in replies:
            cell = nbformat.v4.new_code_cell(outputs=[nbformat.from_dict(o) for o in reply.outputs])
            notebook.cells.append(cell)
    nbformat.validate(notebook)
    assert len(nbformat.writes(notebook).encode()) < 40 * MB


def left_processes(runner: object) -> list[str]:
    """What is left of a session beside the slot's zygote, and who still sleeps on this machine."""
    found = []
    if isinstance(runner, SandboxRunner):
        for zygote in runner._slots.queue[-1].zygotes.values():
            launched = psutil.Process(zygote.result().process.pid)
            names = [p.name() for p in launched.children(recursive=True)]
            found += [] if names in (["python"], ["python3"]) else names
    lines = [" ".join(p.info["cmdline"] or ()) for p in psutil.process_iter(["cmdline"])]
    return found + [line for line in lines if NAP in line]


def written_files(surroundings: Surroundings) -> list[str]:
    """What is not as it was in the course, and marks in places that everyone knows."""
    now, before = surroundings.snapshot(), surroundings.before
    changed = [path for path in now.keys() | before.keys() if now.get(path) != before.get(path)]
    places = ("/", "/tmp", "/var/tmp", "/dev/shm", "/root", "/home", "/usr/lib", "/etc", ".")
    marks = [os.path.join(folder, MARK) for folder in places]
    return changed + [mark for mark in marks if os.path.lexists(mark)]


def exceptions(result: Result, cells: int, after: int) -> set[str]:
    """The exceptions with which an attack's own cells ended."""
    count = len(result.replies)
    own = [r for n, rs in enumerate(result.replies) for r in rs if n < cells or n >= count - after]
    outputs = [output for reply in own for output in reply.outputs]
    return {o["ename"] for o in outputs if o["output_type"] == "error"}


def reached(attack: Attack, result: Result, said: str) -> str:
    """Why it is not certain that an attack got as far as its decisive act; empty if it is."""
    unforeseen = exceptions(result, len(attack.cells), len(attack.after)) - {*attack.raises}
    if unforeseen:
        return f"it failed on its way: {', '.join(sorted(unforeseen))}"
    if TRIED in said or any(text in result.sentence for text in attack.ends):
        return ""
    return "it did not say that it tried"


def findings(attack: Attack, result: Result, surroundings: Surroundings) -> list[str]:
    """What an attack had that it should not, or why it proves nothing: a sentence each."""
    said = everything_said(result)
    found = [reached(attack, result, said)]
    if result.status not in attack.statuses:
        found.append(f"it ended otherwise: {result.status}, {result.sentence}")
    found += [f"it passed {label!r}" for label in passed_cases(result, len(attack.cells))]
    secrets = [*(CANARY + kind for kind in KINDS), surroundings.secret, *attack.never]
    found += [f"it brought back {text!r}" for text in secrets if text in said]
    found += [f"it did not bring back {text!r}" for text in attack.always if text not in said]
    found += [f"it changed {path}" for path in written_files(surroundings)]
    found += [f"it called {name}" for name in surroundings.calls]
    surroundings.calls.clear()
    return [sentence for sentence in found if sentence]
