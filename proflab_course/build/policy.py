"""Tell students and their assistants what a class may ask of AI: the policy that its course chose.

An instructor's private/course.toml chooses one of policies.toml by name:

    [course]
    ai = "tutor"

Without a choice nothing is said or written.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from proflab_course.course.layout import Course, CourseError
from proflab_course.course.settings import SETTINGS, read_settings

FILES = ("AGENTS.md", "CLAUDE.md")  # the names under which assistants look for it
PAGE = "docs/ai.md"
_TEXTS = Path(__file__).with_name("policies.toml")


@dataclass(frozen=True)
class Policy:
    """Hold a policy's words: a paragraph for students, and a page for their assistants."""

    name: str
    student: str
    agents: str

    @property
    def paragraph(self) -> str:
        """Return what a lesson's first cell says."""
        return f"**AI assistants.** {self.student}"

    def write(self, folder: Path) -> None:
        """Write the page for assistants into a folder, under each of its names.

        Raises CourseError if the folder has a file of this name.
        """
        for name in FILES:
            if (folder / name).exists():
                what = f"{folder.name}/{name} would be overwritten by the AI policy {self.name!r}"
                raise CourseError(f"{what}: delete it, or choose no policy in {SETTINGS}")
            (folder / name).write_text(self.agents, encoding="utf-8")


def policies() -> dict[str, Policy]:
    """Return the policies that there are to choose from, by name."""
    texts = tomllib.loads(_TEXTS.read_text(encoding="utf-8"))
    return {
        name: Policy(name, " ".join(text["student"].split()), text["agents"].lstrip())
        for name, text in texts.items()
    }


def chosen_policy(root: Path) -> Policy | None:
    """Return the policy of the course in `root`; None if it chose none.

    Raises CourseError, one sentence, for a file with a mistake.
    """
    there = policies()
    name = read_settings(root).ai
    if name is None or name in there:
        return there.get(name or "")
    listed = ", ".join(f'"{each}"' for each in there)
    raise CourseError(f"{SETTINGS}: course.ai must be one of {listed}, not {name!r}")


def policy_notes(course: Course) -> list[str]:
    """Return a sentence for a course without a policy."""
    if chosen_policy(course.root):
        return []
    return [f"no policy on AI assistants is chosen: {PAGE} has three"]
