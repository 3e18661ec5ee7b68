"""Build the site of the course in build/site/html: `make site` runs this.

    python docs/site/build.py                   # the whole site
    python docs/site/build.py -o FOLDER         # elsewhere
    python docs/site/build.py --demos 01 10     # run the demo cells of these lessons only
    python docs/site/build.py --size small      # smaller: seconds a lesson, not a minute
    python docs/site/build.py --no-pdf          # slides as HTML alone
    python docs/site/build.py --pyodide FOLDER  # lessons in the browser ask no other server

The steps: put the pages together (this file, lessons.py, slides.py, notes.py, api.py, figures.py,
and for teachers tracks.py, blueprint.py, lectures.py, exam.py, sample.py), have Sphinx make HTML of
them (conf.py, links.py), put JupyterLite beside them (lite.py), and search all for solutions and
hidden cases. A warning of Sphinx fails the build, so no link between pages is broken. Nothing is
fetched.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import shutil
import sys
import time
import tomllib
from pathlib import Path
from string import Template

import nbformat
from api import write_api
from blueprint import blueprint_page
from bs4 import BeautifulSoup
from exam import exam_page
from figures import figures_page
from lectures import lectures_page
from lessons import demo_outputs, lesson_page
from lite import FOLDER, PROGRAM, opening_page, write_lite
from sample import FOLDER as SAMPLE
from sample import write_sample
from slides import Slide, deck, slides_page, write_deck
from tqdm import tqdm
from tracks import PICTURE, overview, tracks_page

from proflab_course.build.leaks import leaks
from proflab_course.build.make import support_files
from proflab_course.build.prepare import prepare
from proflab_course.course.address import Address
from proflab_course.course.features import counted
from proflab_course.course.layout import Course, CourseError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RUNS = ROOT / "build" / "site" / "runs"
PICTURES = (".png", ".svg", ".jpg", ".gif")


def main(arguments: list[str] | None = None) -> int:
    """Build and audit the site; returns the exit status."""
    parser = argparse.ArgumentParser(description="Build the site of the course.")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "build" / "site")
    help_demos = "run the demo cells of these lessons only (default: of all)"
    parser.add_argument("--demos", nargs="+", metavar="LESSON", help=help_demos)
    parser.add_argument("--size", choices=("full", "small"), default="full",
                        help="small: demo cells as the course's tests run them")  # fmt: skip
    parser.add_argument("--no-pdf", action="store_true", help="make slides as HTML alone")
    help_pyodide = "put the Pyodide distribution in this folder beside the lessons in the browser"
    parser.add_argument("--pyodide", type=Path, metavar="FOLDER", help=help_pyodide)
    parser.add_argument("--jobs", default="auto", help="how many processes Sphinx uses")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    course = Course(ROOT)
    try:
        lessons = stage(course, options.output, options.demos, options.size, not options.no_pdf)
        status = run_sphinx(options.output, options.jobs)
        write_lite(course, lessons, options.output / "html" / FOLDER, options.pyodide)
        found = audit(course, options.output / "html")
    except CourseError as error:
        print(f"make site: {error}", file=sys.stderr)
        return 2
    if status or found:
        print("\n".join(found), file=sys.stderr)
        return status or 1
    html = options.output / "html"
    size = sum(path.stat().st_size for path in html.rglob("*") if path.is_file())
    pages = len(list(html.rglob("*.html")))
    print(f"{html}: {pages} pages with {len(lessons)} lessons, {size / 1e6:.1f} MB, made in "
          f"{time.monotonic() - began:.0f} s; it shows no solution and no hidden case")  # fmt: skip
    return 0


# ── the pages ────────────────────────────────────────────────────────────────────────────────


def stage(course: Course, output: Path, demos: list[str] | None, size: str, pdf: bool) -> list[str]:
    """Put the pages of the site into output/pages; returns the names of the lessons.

    demos: the lessons whose demo cells are run; None: all. size: full or small. pdf: whether slides
    are printed, too
    """
    pages, extra = output / "pages", output / "extra"
    for folder in (pages, extra, output / "html"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    lessons = counted(course.lessons("release"))
    for path in documents(course.root):
        target = pages / path.relative_to(course.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(within_site(course, path.read_text(encoding="utf-8")), encoding="utf-8")
    for picture in support_files(course.root / "docs" / "pictures"):
        if picture.suffix in PICTURES:
            copy(picture, pages / picture.relative_to(course.root))
    decks: dict[str, tuple[list[Slide], list[Path]]] = {}
    run = lessons if demos is None else [course.lesson(name, "release") for name in demos]
    for lesson in tqdm(lessons, "demo cells", disable=None, leave=False):
        shown = demo_outputs(course, lesson, RUNS, size) if lesson in run else []
        stage_lesson(course, lesson, shown, pages, extra)
        slides = deck(course, lesson, shown)
        files = write_deck(slides, extra / "slides" / f"{lesson}.html", pdf)
        decks[slides[0].heading] = slides, files
    names = write_api(pages / "docs" / "api")
    (pages / "docs" / "api" / "index.md").write_text(_API.format("\n".join(names)), "utf-8")
    (pages / "docs" / "figures.md").write_text(figures_page(course.root / "docs" / "figures"))
    (pages / "docs" / "slides.md").write_text(slides_page(decks), encoding="utf-8")
    path = pages / "docs" / "teaching.md"
    path.write_text(for_teachers(course, path.read_text(encoding="utf-8")), encoding="utf-8")
    page, graph = tracks_page(course)
    made = {"tracks": page, "blueprint": blueprint_page(course)}
    made |= {"lectures": lectures_page(course), "exam": exam_page(course)}
    made["sample"] = write_sample(course, extra / SAMPLE)
    for name, text in made.items():
        (pages / "docs" / f"{name}.md").write_text(text, encoding="utf-8")
    (pages / "docs" / PICTURE).write_text(graph, encoding="utf-8")
    (pages / FOLDER).mkdir()
    (pages / FOLDER / "index.md").write_text(opening_page(course, lessons), encoding="utf-8")
    (pages / "index.md").write_text(start_page(course, lessons), encoding="utf-8")
    return lessons


def documents(root: Path) -> list[Path]:
    """Return the pages that are in the repository as they are in the site."""
    return [root / "CONTRIBUTING.md", root / "CHANGELOG.md", *sorted((root / "docs").glob("*.md"))]


def stage_lesson(course: Course, lesson: str, shown: list, pages: Path, extra: Path) -> None:
    """Put the page of a lesson, and the pictures on it, where Sphinx finds them."""
    folder = course.release(lesson).parent
    target = pages / folder.relative_to(course.root)
    notebook = lesson_page(course, lesson, shown, extra / folder.relative_to(course.root))
    for path in support_files(folder):
        if path.suffix in PICTURES:
            copy(path, target / path.relative_to(folder))
    target.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, target / f"{lesson}.ipynb")


def copy(path: Path, target: Path) -> None:
    """Copy a file, and make its folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)


def within_site(course: Course, text: str) -> str:
    """Return a page of docs/ whose links to the published site lead to the pages of this one."""
    start = re.escape(Address.read(course.root).documentation)
    text = re.sub(rf"\]\({start}/docs/([\w-]+)\.html\)", r"](\1.md)", text)
    return re.sub(rf"\]\({start}/{FOLDER}/index\.html\)", f"](../{FOLDER}/index.md)", text)


TRACKS_HERE = "<!-- the site shows the table of tracks here -->"


def for_teachers(course: Course, text: str) -> str:
    """Return the page for teachers with the table of tracks."""
    if TRACKS_HERE not in text:
        raise CourseError(f"docs/teaching.md lacks the line {TRACKS_HERE}")
    return text.replace(TRACKS_HERE, overview(course))


# ── the start page ───────────────────────────────────────────────────────────────────────────

_API = """\
# The API

What stands here is public: the names are torch's where torch has them ([what differs from
torch](../torch.md#what-differs)), and they stay. The descriptions are those of the code, and tests
run the examples. {{ref}}`An index of all names <genindex>` is on a page of its own.

```{{toctree}}
{}
```
"""
# What the start page takes from the README, by its names in index.md.
_OF_README = {
    "numbers": r"^\| \d+ lessons \|.*\n(\|.*\n)+",
    "example": r"^```python\n(.+\n)+?```$",
    "lessons": r"^\| lesson \|.*\n(\|.*\n)+",
    "others": r"^\| +\| students \|.*\n(\|.*\n)+(.+\n|\n)*?(?=\nProfLab is published)",
}
_CONTENTS = """
```{{toctree}}
:hidden:
:caption: {}
{}
```
"""


def start_page(course: Course, lessons: list[str]) -> str:
    """Return index.md with what it takes from the README and from the lessons."""
    readme = (course.root / "README.md").read_text(encoding="utf-8")
    address = Address.read(course.root)
    page = Template((HERE / "index.md").read_text(encoding="utf-8")).substitute(
        buttons=address.links(lessons[0]).replace(" · ", " ").replace(")", "){.button}"),
        archive=address.archive,
        description=_description(course.root),
        picture=_picture(readme),
        **{name: re.search(found, readme, re.MULTILINE)[0] for name, found in _OF_README.items()},
    )
    named = [f"release/{lesson}/{lesson}" for lesson in lessons]
    return page + "".join(
        _CONTENTS.format(caption, "\n".join(names))
        for caption, names in (
            ("Lessons", named),
            ("Learn", _LEARN),
            ("Teach", _TEACH),
            ("How it works", _WORKS),
            ("Reference", _REFERENCE),
        )
    )


def _description(root: Path) -> str:
    """Return the package's own, which a search engine shows below the site's title."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["description"])


def _picture(readme: str) -> str:
    """Return the README's picture, for the theme that a reader of the site has chosen."""
    element = BeautifulSoup(readme, "html.parser").find("picture")
    light, dark = element.img["src"], element.source["srcset"]
    alt = element.img["alt"]
    return f"![{alt}]({light}){{.only-light}}\n![{alt}]({dark}){{.only-dark}}"


_LEARN = (f"{FOLDER}/index", "docs/students", "docs/glossary")
_TEACH = tuple(
    f"docs/{name}"
    for name in (
        *"teaching first-evening sample tracks blueprint lectures slides exam".split(),
        *"cost without-a-hub instructors assistants ai inventory write-a-lesson".split(),
    )
)
_WORKS = ("docs/engine", "docs/architecture", "docs/security", "docs/figures")
_REFERENCE = ("docs/api/index", "docs/torch", "docs/gpu-sources", "CONTRIBUTING", "CHANGELOG")


# ── Sphinx, and the audit ────────────────────────────────────────────────────────────────────


def run_sphinx(output: Path, jobs: str) -> int:
    """Have Sphinx make output/html of output/pages; returns its exit status."""
    from sphinx.cmd.build import main as sphinx_build

    words = ["-b", "html", "-c", str(HERE), "-d", str(output / "doctrees"), "-j", jobs]
    words += ["-q", "--fail-on-warning", "-D", f"html_extra_path={output / 'extra'}"]
    return sphinx_build([*words, str(output / "pages"), str(output / "html")])


def audit(course: Course, html: Path) -> list[str]:
    """Return a sentence for each solution and hidden case that the site shows."""
    plan = prepare(course)  # an instructor's private cases included
    given = [name for taken in plan.taken.values() for name in taken.given]
    # On the site every solution is secret, as it is for those who are at the first lesson; in the
    # browser each lesson has its built.py beside it. Wheels and programs are not the course's text.
    apart = [html / FOLDER / name for name in (*PROGRAM, "files", "pyodide", "wheels")]
    found = leaks(html, plan.whole[0], plan.whole, "build/site/html", given, skip=apart)
    for name, taken in plan.taken.items():
        place = Path(FOLDER, "files", name)
        found += leaks(html / place, taken.lesson, plan.whole, str(place), taken.given)
    return found


if __name__ == "__main__":
    # Sphinx makes millions of objects and keeps them: looking through them again and again for
    # garbage took a sixth of the time.
    gc.set_threshold(100_000, 20, 100)
    os.chdir(ROOT)
    sys.exit(main())
