"""Commands that the documents print, typed as they are printed, in one class that is graded once.

A block of kind `by-class` and each command inside a sentence are run here, page after page. For
each of them a row says what it changes: a file and a pattern that is in it afterwards and was not
before. Blocks of other kinds are run by test_docs.py, test_docs_git.py and test_write_a_lesson.py,
and the assistants' page by essays/test_assistants_page.py.
"""

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from busy_class import BEFORE, LESSONS, make_class
from test_docs import BLOCK, ROOT, run_line

# Hand-ins and vivas run isolated, as the pages say.
pytestmark = [
    pytest.mark.skipif(
        os.environ.get("PROFLAB_NO_SANDBOX_TESTS") == "1", reason="it grades isolated"
    ),
    pytest.mark.whole("build/test_docs.py"),
]

# The instructors' page first: others take up what it has begun.
FIRST = "docs/instructors.md"
OTHERS = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
PAGES = [FIRST, "README.md", *sorted(OTHERS - {FIRST, "docs/assistants.md"})]
# A command's name alone is a name; with arguments it is a command, if none of these is meant.
SPAN = re.compile(r"`((?:proflab|nbgrader) \w+ [^`]+)`")
WORDS = {"LESSON": "01"}
LESS = {"nbgrader generate_feedback": "--student ann"}  # a page of each would take half a minute

# Not run here, and why. What a name with an option leaves out is said in the sentence around it.
ASIDE = {
    "a name of an option": (
        "proflab check --policy", "proflab collect --roster", "proflab export --viva",
        "proflab build --track", "proflab build --seed", "proflab build --seed N",
        "proflab build --through", "proflab grade 13",
    ),
    "it builds or executes lessons for minutes: tests/build and tests/grading try these options": (
        "proflab build --check", "proflab build --through 11", "proflab build --sizes",
        "proflab build --through 03 -o ../class", "proflab build --seed 2026",
        "proflab build 01 --audit static", "proflab build 20", "proflab build 20 --audit static",
        "proflab build inventory", "proflab grade 02 --new-variants", "proflab viva 02",
        "proflab viva 02 --gift", "proflab build --remove-former",
    ),
    "the exchange of a hub: tests/grading": ("nbgrader collect 01_parameters --update",),
}  # fmt: skip

# What each command changes: a path, or "said" for what it prints, and a pattern.
EFFECTS = {
    "proflab check 01": ("said", "So far 0 of 100 points by the visible checks"),
    "proflab check --policy tutor": ("said", "Nothing enforces this file"),
    "proflab collect ~/Downloads/lesson-01.zip 01 --roster class.csv --timezone Europe/Zurich": (
        "submitted/ann/01_parameters/timestamp.txt",
        "2026-11-20 17:00:00",
    ),
    "proflab report --minutes": (
        "said",
        r"^\+linear_parameters = 3$|corrected already by 5 students",
    ),
    "proflab report --minutes > minutes.patch": ("minutes.patch", r"^\+linear_parameters = 3$"),
    "git apply minutes.patch": ("modules/tracks.toml", r"^linear_parameters = 3$"),
    "proflab questions 07 --guesses": ("reports/07-guesses.csv", "guess_half_batch"),
    "proflab report 07 --votes votes.csv": (
        "reports/07_scaling.votes.html",
        "half of the batch|15",
    ),
    "proflab essays 07 --between anna,ben --overlap 10": ("essays/07_scaling/ben.csv", "^bob,"),
    "proflab essays 07": ("essays/log.jsonl", '"written", .*"ann", "mark": 2.0'),
    "proflab report 07 --csv": ("reports/07_scaling.concepts.csv", "^ann,100,"),
    "proflab export 07 --concepts --canvas FILE": (
        "FILE_07_concepts_filled.csv",
        r"Section,07 concepts \(5\)\n(.*\n)*ann,1,S1,ann,A,1\n",
    ),
    "proflab questions 07": ("reports/07-votes.csv", "07_1,2,"),
    "proflab questions 07 --gift": ("reports/07.gift.txt", "::07_scaling"),
    "proflab questions 07 --exam --seed 1": ("reports/07-exam-key.html", "<h1"),
    "proflab viva 05": ("viva/05_profiler/index.csv", "^ann,"),
    "proflab viva 05 --marks viva.csv": ("private/viva/05_profiler.csv", "^ann,1,1,1,0"),
    'proflab export 05 --canvas grades.csv --viva --column "Viva 05"': (
        "grades_05_viva_filled.csv",
        r"Section,Viva 05 \(3\)\n(.*\n)*ann,1,S1,ann,A,3\n",
    ),
    "nbgrader generate_feedback 01_parameters --force --HideHidden.explain=01_parameters": (
        "feedback/ann/01_parameters/01_parameters.html",
        "ann",
    ),
    "proflab regrade collect": ("regrades/log.jsonl", "Why of ann"),
    "proflab regrade collect questions.zip --roster roster.csv": (
        "regrades/log.jsonl",
        "Why of bob",
    ),
    "proflab regrade collect class.csv": ("regrades/log.jsonl", "Why of cyd"),
    "proflab regrade share tia uli": ("regrades/tia.csv", "Why of "),
    "proflab regrade answer": ("regrades/log.jsonl", "Because of ann"),
    "proflab regrade list --open": ("said", "without an answer"),
    "nbgrader generate_feedback 01_parameters --force": (
        "feedback/ann/01_parameters/01_parameters.html",
        "Because of ann",
    ),
    "proflab export 01 --canvas grades.csv": (
        "grades_filled.csv",
        r"Section,Lesson 01 \(1\)\n(.*\n)*ann,1,S1,ann,A,\n(.*\n)*eva,5,S5,eva,A,100\n",
    ),
    "proflab export 01 --moodle worksheet.csv": ("worksheet_filled.csv", "eva,100,110.00,= ok"),
    "proflab export 01 --brightspace grades.csv": ("grades_filled.csv", "#5,#eva,100,#"),
    "proflab export term --percent --canvas grades.csv": (
        "grades_term_filled.csv",
        r"Section,Term \(4\)\n(.*\n)*eva,5,S5,eva,A,\d",
    ),
    "proflab export term --csv term.csv": ("term.csv", "^ann,Ann A,100,100,100,102,402,"),
    "proflab export LESSON --code FOLDER": ("FOLDER/ann.py", "def linear_parameters"),
    "proflab build inventory --per-student students.csv": ("private/inventory.csv", "^ann,Ann A,"),
    "proflab collect inventory.zip 00_inventory --roster students.csv": (
        "submitted/ann/00_inventory/00_inventory.ipynb",
        "consent = True",
    ),
    "proflab grade 00_inventory": ("autograded/ann/00_inventory/00_inventory.ipynb", "consent"),
    "proflab report inventory": ("reports/inventory.html", "5 students"),
    'proflab export inventory -o inventory.csv --label "our university, 2026"': (
        "inventory.csv",
        '^"our university, 2026",[0-9a-f]{16},before,',
    ),
    "proflab questions 03": ("reports/03.html", "<h1|<section"),
    "proflab report 03 --public": ("reports/03_latency.public.html", "submission"),
    "proflab questions 02 --gift": ("reports/02.gift.txt", "::02_flops"),
    "proflab questions 02 --exam --seed 4711": ("reports/02-exam-key.html", "<h1"),
}


@dataclass(frozen=True)
class Ran:
    """A command that was run: where it stands, what it printed, and the file before and after."""

    page: str
    line: str
    status: int
    said: str
    before: str
    after: str


def printed(page: str) -> list[str]:
    """Return the page's commands in order: blocks of kind by-class, and those in sentences."""
    text = (ROOT / page).read_text("utf-8")
    found = [(m.start(), line) for m in BLOCK.finditer(text) for line in _lines(m)]
    other = BLOCK.sub(lambda m: " " * len(m[0]), text)
    other = re.sub(r"^ *```.*?^ *```$", lambda m: " " * len(m[0]), other, flags=re.M | re.S)
    found += [(m.start(), " ".join(m[1].split())) for m in SPAN.finditer(other)]
    aside = {line for lines in ASIDE.values() for line in lines}
    return [line for _, line in sorted(found, key=lambda each: each[0]) if line not in aside]


def _lines(block: re.Match[str]) -> list[str]:
    return block[3].strip().splitlines() if block[2] == "by-class" else []


def command_of(line: str) -> str:
    """Return a line without the remark behind it."""
    return re.sub(r"\s+#.*", "", line)


# ── the pages, followed ──────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def followed(tmp_path_factory) -> list[Ran]:
    """Run each command of each page, once the class is graded."""
    course = make_class(tmp_path_factory.mktemp("class"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": path, "HOME": str(course.parent), "PYTHONPATH": str(ROOT)}
    for lesson in LESSONS:
        done = run_line(f"proflab grade {lesson} --no-sandbox", course, env)
        assert done.returncode == 0, done.stderr
    steps = {command: list(each) for command, each in BEFORE.items()}
    ran = []
    for page in PAGES:
        for line in printed(page):
            command = command_of(line)
            for step in steps.get(command, [])[:1]:
                step(course)
                steps[command].remove(step)
            typed = re.sub("|".join(WORDS), lambda m: WORDS[m[0]], command)
            typed = " ".join([typed, *(LESS[each] for each in LESS if typed.startswith(each))])
            before = shown(course, command)
            done = run_line(typed, course, env)
            said = done.stdout + done.stderr
            ran.append(Ran(page, line, done.returncode, said, before, shown(course, command)))
    return ran


def shown(course: Path, command: str) -> str:
    """Return the text of the file that a command changes."""
    place = course / EFFECTS.get(command, ("", ""))[0]
    return place.read_text("utf-8", "replace") if place.is_file() else ""


COMMANDS = [(page, line) for page in PAGES for line in printed(page)]


@pytest.mark.parametrize("number", range(len(COMMANDS)), ids=[line for _, line in COMMANDS])
def test_a_command_does_what_its_page_says(followed, number):
    ran = followed[number]
    assert (ran.page, ran.line) == COMMANDS[number]
    assert ran.status == 0, ran.said
    place, pattern = EFFECTS[command_of(ran.line)]
    text = ran.said if place == "said" else ran.after
    assert re.search(pattern, text, re.MULTILINE), (pattern, text[:2_000], ran.said)
    earlier = {command_of(each.line) for each in followed[:number]}
    is_new = command_of(ran.line) not in earlier or ran.page == FIRST
    assert place == "said" or ran.before != ran.after or not is_new, f"{place} is as it was"


def test_every_row_is_about_a_command_that_a_page_prints():
    everywhere = "\n".join((ROOT / page).read_text("utf-8") for page in PAGES)
    plain = " ".join(everywhere.split())
    listed = [*EFFECTS, *BEFORE, *(line for lines in ASIDE.values() for line in lines)]
    assert [line for line in listed if line not in plain] == []
