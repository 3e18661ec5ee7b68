"""The exchange of a JupyterHub to its end, with the settings and commands that the page prints."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
import warm_commands
from grading_course import LESSON, ROOT, copy_course, hand_in, solved
from sandboxes import needs_sandbox

from proflab_course.grading.records.gradebook import Book

PAGE = (ROOT / "docs/instructors.md").read_text()
SECTION = PAGE.partition("**JupyterHub with nbgrader's exchange.**")[2].partition("\n**")[0]
PLACE = "/srv/nbgrader/exchange"


def blocks(kind: str) -> list[list[str]]:
    """The page's commands of one kind, a list of lines for each block."""
    found = re.findall(rf"^```{kind}\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)
    return [text.splitlines() for text in found]


class Hub:
    """A course and its students' homes around one exchange."""

    def __init__(self, place: Path) -> None:
        self.place, self.exchange = place, place / "exchange"
        (place / "course").mkdir()
        self.course = copy_course(place / "course", [])
        [settings] = blocks("python")
        here = "\n".join(settings).replace(PLACE, str(self.exchange))
        with (self.course.root / "jupyter_config.py").open("a") as file:
            file.write(here)
        (place / "etc").mkdir()
        (place / "etc/nbgrader_config.py").write_text(f"c = get_config()\n{here}")

    def teach(self, lines: list[str]) -> str:
        """Run the instructor's lines; returns what they printed."""
        return "".join(self._run(line.split(), self.course.root, {}) for line in lines)

    def study(self, student: str, lines: list[str]) -> Path:
        """Run a student's lines in their home; returns the home."""
        home = self.place / "home" / student
        home.mkdir(parents=True, exist_ok=True)
        config = {"JUPYTER_CONFIG_PATH": str(self.place / "etc")}
        env = config | {"HOME": str(home), "JUPYTER_DATA_DIR": str(home / ".data")}
        for line in lines:
            self._run([*line.split(), "--student", student], home, env)
        return home

    def _run(self, words: list[str], folder: Path, env: dict[str, str]) -> str:
        words = [word.replace(PLACE, str(self.exchange)) for word in words]
        if words[0] not in warm_commands.PROGRAMS:
            assert os.spawnvp(os.P_WAIT, words[0], words) == 0
            return ""
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = warm_commands.run(words, folder, os.environ | {"PATH": path} | env)
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout + done.stderr


def submit(hub: Hub, student: str, lines: list[str], **wrong: str) -> str:
    """Solve what was fetched and submit it; returns the secret that nbgrader wrote."""
    notebook = hub.place / "home" / student / LESSON / f"{LESSON}.ipynb"
    shutil.copy(hand_in(hub.course, "draft", solved(**wrong)), notebook)
    shutil.rmtree(hub.course.root / "submitted/draft")
    home = hub.study(student, lines)
    newest = max((home / ".data").rglob("submission_secret.txt"), key=lambda p: p.stat().st_mtime)
    return newest.read_text()


@pytest.mark.proves
@needs_sandbox
def test_a_lesson_goes_out_comes_in_and_is_given_back(tmp_path):
    hub = Hub(tmp_path)
    make, hand_out, bring_in = blocks("sh by-exchange")
    (fetch, send), give_back = blocks("sh by-student")
    hub.teach([*make, *hand_out])
    constant = "def linear_parameters(*_):\n    return 8"
    secrets = []
    for student, wrong in (("alice", {}), ("bob", {"linear_parameters": constant})):
        hub.study(student, [fetch])
        secrets.append(submit(hub, student, [send], **wrong))
    hand_in(hub.course, "by_mail", solved())
    said = hub.teach(bring_in)
    assert "by_mail" in said and "give this page back by hand" in said
    with Book(hub.course.gradebook) as book:
        points = {student: row["auto"] for student, row in book.scores(LESSON).items()}
    assert points == {"alice": 100, "bob": 85, "by_mail": 100}
    for student, total in (("alice", "<b>100 of"), ("bob", "<b>85 of")):
        [page] = (hub.study(student, give_back) / LESSON / "feedback").rglob("*.html")
        assert total in page.read_text()
    assert len(list((hub.exchange / "proflab/feedback").iterdir())) == 2
    pages = [*hub.place.rglob("*.html"), *hub.course.root.rglob("autograded/**/*.ipynb")]
    assert len(pages) == 10
    assert not any(secret in page.read_text() for page in pages for secret in secrets)


@pytest.mark.whole
@needs_sandbox
def test_who_submits_again_is_given_the_second_page(tmp_path):
    hub = Hub(tmp_path)
    make, hand_out, bring_in = blocks("sh by-exchange")
    (fetch, send), give_back = blocks("sh by-student")
    hub.teach([*make, *hand_out])
    hub.study("alice", [fetch])
    submit(hub, "alice", [send], linear_parameters="def linear_parameters(*_):\n    return 8")
    hub.teach(bring_in)
    submit(hub, "alice", [send])
    again = [f"{line} --update" if "collect" in line else line for line in bring_in]
    hub.teach(again)
    pages = sorted((hub.study("alice", give_back) / LESSON / "feedback").rglob("*.html"))
    assert [("<b>85" in p.read_text(), "<b>100" in p.read_text()) for p in pages] == [
        (True, False),
        (False, True),
    ]


@pytest.mark.whole
@needs_sandbox
def test_a_secret_of_a_students_own_stops_nobodys_page(tmp_path):
    hub = Hub(tmp_path)
    make, hand_out, bring_in = blocks("sh by-exchange")
    (fetch, send), give_back = blocks("sh by-student")
    hub.teach([*make, *hand_out])
    hub.study("zoe", [fetch])
    submit(hub, "zoe", [send])
    for student, forged in {"amy": b"\xff\xfe", "bob": b"0" * 127 + b"\n"}.items():
        path = hand_in(hub.course, student, solved())
        path.with_name("submission_secret.txt").write_bytes(forged)
        path.with_name("timestamp.txt").write_text("2026-01-01 10:00:00 UTC")
    said = hub.teach(bring_in)
    assert "amy" in said and "bob" in said
    [page] = (hub.study("zoe", give_back) / LESSON / "feedback").rglob("*.html")
    assert "<b>100 of" in page.read_text()
