"""A notebook opened on Colab fetches the course's files; elsewhere nothing needs the network."""

import http.server
import io
import json
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import nbformat
import pytest
from mini_course import PYPROJECT, ROOT, make_course

import proflab
from proflab_course.build.command import build
from proflab_course.course.address import Address
from proflab_course.course.layout import CourseError

LESSON = "02_second"
FAKE_COLAB = """
import sys, types
sys.modules["google"] = types.ModuleType("google")
sys.modules["google.colab"] = types.ModuleType("google.colab")
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A folder that is served at an address, as (folder, address)."""
    folder = tmp_path_factory.mktemp("served")

    def handler(*arguments):
        return Quiet(*arguments, directory=folder)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield folder, f"http://127.0.0.1:{running.server_address[1]}"
        running.shutdown()


@pytest.fixture(scope="module")
def course(server, tmp_path_factory):
    """A course that is published at the local address, archive of its tag included."""
    folder, address = server
    course = make_course(tmp_path_factory.mktemp("course"))
    published = PYPROJECT.replace("https://github.com", address)
    (course.root / "pyproject.toml").write_text(published)
    build(course, audit="static")
    target = folder / "someone/mini-course/archive/refs/tags/v0.3.0.zip"
    target.parent.mkdir(parents=True)
    target.write_bytes(archive(course.root))
    return course


def archive(root: Path) -> bytes:
    """What a forge serves for a tag: one folder with all tracked files in it."""
    packed, top = io.BytesIO(), "mini-course-0.3.0"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.comment = b"the commit"
        file.mkdir(top)
        for folder in (root / "modules", root / "release", root / "source", ROOT / "proflab"):
            for path in sorted(folder.rglob("*")):
                if "__pycache__" not in path.parts:
                    file.write(path, f"{top}/{path.relative_to(folder.parent)}")
    return packed.getvalue()


def cells(course, *ids: str) -> str:
    notebook = nbformat.read(course.release(LESSON), as_version=4)
    return "\n".join(cell.source for cell in notebook.cells if cell.id in ids)


def on_colab(code: str, folder: Path, colab: bool = True) -> subprocess.CompletedProcess:
    """Run cells in an empty folder, with a Python that does not know this course."""
    hidden = """
sys.meta_path = [f for f in sys.meta_path if "editable" not in repr(f).lower()]
sys.path = [p for p in sys.path if "site-packages" in p or "lib" in p]
"""
    program = (FAKE_COLAB if colab else "import sys\n") + hidden + code
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


REPORT = """
import json, os, sys, pathlib, proflab
print(json.dumps([os.getcwd(), proflab.__file__, area(3, 4), os.path.exists("built.py")]))
"""


def test_on_colab_the_lessons_files_are_fetched_and_its_imports_work(course, tmp_path):
    code = cells(course, "colab_setup", "second_imports")
    ran = on_colab(code + REPORT, tmp_path)
    assert ran.stderr == ""
    place, package, area, built = json.loads(ran.stdout)
    top = tmp_path / "mini-course-0.3.0"
    assert Path(place) == top / "release" / LESSON and area == 12 and built
    assert Path(package) == top / "proflab/__init__.py"


def test_neither_solutions_nor_other_lessons_are_unpacked(course, tmp_path):
    on_colab(cells(course, "colab_setup"), tmp_path)
    top = tmp_path / "mini-course-0.3.0"
    assert {path.name for path in top.iterdir()} == {"proflab", "release"}
    assert [path.name for path in (top / "release").iterdir()] == [LESSON]


def test_running_the_cell_twice_does_no_harm(course, tmp_path):
    setup = cells(course, "colab_setup")
    ran = on_colab(setup + "\n" + setup + "\nprint(os.getcwd())", tmp_path)
    assert ran.stdout.strip() == str(tmp_path / "mini-course-0.3.0/release" / LESSON)


def test_elsewhere_the_cell_does_nothing(course, tmp_path):
    ran = on_colab(cells(course, "colab_setup") + "\nprint(os.getcwd())", tmp_path, colab=False)
    assert (ran.stdout.strip(), ran.stderr) == (str(tmp_path), "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("problem", ["not found", "not an archive", "nobody there"])
def test_what_cannot_be_fetched_is_told_in_one_sentence(course, server, tmp_path, problem):
    folder, address = server
    code = cells(course, "colab_setup")
    if problem == "not found":
        code = code.replace("v0.3.0", "v9.9.9")
    elif problem == "not an archive":
        (folder / "page.html").write_text("<html>")
        code = code.replace("someone/mini-course/archive/refs/tags/v0.3.0.zip", "page.html")
    else:
        code = code.replace(address, "http://127.0.0.1:9")
    ran = on_colab(code, tmp_path)
    assert ran.returncode == 1 and ran.stderr.count("\n") == 1, ran.stderr
    assert ran.stderr.startswith("The lesson's files could not be fetched from http://127.0.0.1:")
    assert ran.stderr.endswith("): check the network and run this cell again.\n")


def test_the_links_stand_under_the_title_and_follow_the_address(course, server):
    notebook = nbformat.read(course.release(LESSON), as_version=4)
    title, _, links, *_ = notebook.cells[0].source.splitlines()
    assert title == "# 02 · Volumes"
    page = f"release/{LESSON}/{LESSON}.ipynb"
    assert f"mybinder.org/v2/gh/someone/mini-course/v0.3.0?urlpath=lab/tree/{page})" in links
    assert f"google.com/github/someone/mini-course/blob/v0.3.0/{page})" in links
    assert notebook.cells[2].id == "colab_setup"


def test_the_browser_is_where_the_courses_site_is():
    links = Address("https://github.com/a/b", "v1", "https://a.github.io/b").links(LESSON)
    assert links.startswith(
        f"[Open in the browser](https://a.github.io/b/lite/index.html#{LESSON})"
    )
    without = Address("https://github.com/a/b", "v1").links(LESSON)
    assert without.startswith("[Open on Binder](") and "browser" not in without
    assert "![" not in links  # no picture that another server would have to give


def test_the_cell_is_locked_and_tagged(course):
    cell = nbformat.read(course.release(LESSON), as_version=4).cells[2]
    assert cell.metadata.nbgrader.locked and cell.metadata.tags == ["setup"]


def test_the_address_stands_in_one_place_only():
    address = Address.read(ROOT)
    assert address.tag == f"v{proflab.__version__}"
    for path in (*ROOT.glob("proflab/**/*.py"), *ROOT.glob("modules/**/*.py")):
        assert address.owner_and_name + "/" not in path.read_text(), path


def test_a_course_without_an_address_is_told_what_to_write(tmp_path):
    course = make_course(tmp_path)
    (course.root / "pyproject.toml").write_text("[project]\nname = 'x'\nversion = '1'\n")
    with pytest.raises(CourseError, match=r"\[project.urls\], Repository = "):
        build(course, audit="static")


def test_a_lesson_must_begin_with_its_title(tmp_path):
    course = make_course(tmp_path)
    path = course.module("01_first")
    path.write_text(path.read_text().replace("# # 01", "# 01", 1))
    with pytest.raises(CourseError, match="01_first.py must begin with a markdown cell"):
        build(course, audit="static")
