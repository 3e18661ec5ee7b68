"""Say where a course is published: pyproject.toml tells, under [project.urls], and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from proflab_course.course.layout import CourseError
from proflab_course.course.toml_table import read_toml

IN_BROWSER = "lite/index.html"  # of the site: the page that leads to the lessons in the browser


@dataclass(frozen=True)
class Address:
    """Address of the published course: its repository, the notebooks' tag there, and its site."""

    repository: str
    tag: str
    documentation: str = ""

    @classmethod
    def read(cls, root: Path) -> Address:
        """Read the address from the pyproject.toml of the course's root."""
        found = read_toml(root, "pyproject.toml") or {}
        try:
            project = found["project"]
            repository, version = str(project["urls"]["Repository"]), project["version"]
            documentation = str(project["urls"].get("Documentation", ""))
        except (AttributeError, KeyError, TypeError):
            problem = "pyproject.toml must give [project] version and, under [project.urls],"
            raise CourseError(f'{problem} Repository = "https://github.com/OWNER/NAME"') from None
        # The tag is named so by hand (CONTRIBUTING.md, Make a release).
        return cls(repository.rstrip("/"), f"v{version}", documentation.rstrip("/"))

    @property
    def owner_and_name(self) -> str:
        """Return OWNER/NAME, as GitHub, Binder and Colab name the repository."""
        return "/".join(self.repository.split("/")[-2:])

    @property
    def archive(self) -> str:
        """The packed files of the tag."""
        return f"{self.repository}/archive/refs/tags/{self.tag}.zip"

    @property
    def glossary(self) -> str:
        """The page that explains the lessons' words."""
        return f"{self.repository}/blob/{self.tag}/docs/glossary.md"

    # These addresses are in notebooks that students keep: the site has to keep these pages.
    def whole_lesson(self, lesson: str) -> str:
        """Return the page of a lesson as the course publishes it."""
        if self.documentation:
            return f"{self.documentation}/release/{lesson}/{lesson}.html"
        return f"{self.repository}/blob/{self.tag}/release/{lesson}/{lesson}.ipynb"

    def links(self, lesson: str) -> str:
        """Return Markdown: links that open the lesson in the browser, on Binder and in Colab.

        They are words, for a picture of another server would tell it who opens the lesson. A course
        without a site has no lessons in the browser.
        """
        notebook = f"release/{lesson}/{lesson}.ipynb"
        binder = f"https://mybinder.org/v2/gh/{self.owner_and_name}/{self.tag}"
        colab = "https://colab.research.google.com/github"
        places = {
            "in the browser": self.documentation and f"{self.documentation}/{IN_BROWSER}#{lesson}",
            "on Binder": f"{binder}?urlpath=lab/tree/{notebook}",
            "in Colab": f"{colab}/{self.owner_and_name}/blob/{self.tag}/{notebook}",
        }
        return " · ".join(f"[Open {where}]({to})" for where, to in places.items() if to)
