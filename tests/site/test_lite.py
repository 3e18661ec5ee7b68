"""JupyterLite as the site has it: the released lessons, the wheels, the settings, and no more.

At the end a browser opens them that reaches no other address. One that solves a lesson is in
tests/site/test_lite_in_a_browser.py, where there is Pyodide.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from posixpath import join, normpath
from types import SimpleNamespace
from urllib.parse import urlsplit

import nbformat
import pytest
from clones import ROOT
from jupyterlite_pyodide_kernel.constants import PYODIDE_VERSION
from lesson_demos import module_at
from site_pages import SITE, outside_requests, parse, served

from proflab_course.build.make import support_files
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import HIDDEN, SOLUTION, regions

COURSE = Course(ROOT)
LESSONS = FIRST, *_ = COURSE.lessons("release")
KERNEL = "@jupyterlite/pyodide-kernel-extension"
WORKER = f"extensions/{KERNEL}/static"  # what asks for wheels lies there


@pytest.fixture(scope="module")
def lite():
    return module_at(SITE / "lite.py")


@pytest.fixture(scope="module")
def folder(lite, tmp_path_factory):
    """The folder `lite`, as `make site` writes it, but for the opening page."""
    target = tmp_path_factory.mktemp("site") / "lite"
    lite.write_lite(COURSE, LESSONS, target)
    return target


@pytest.fixture(scope="module")
def settings(folder):
    """Return what JupyterLite reads when a page opens."""
    return json.loads((folder / "jupyter-lite.json").read_text())["jupyter-config-data"]


@pytest.fixture(scope="module")
def kernel(settings):
    return settings["litePluginSettings"][f"{KERNEL}:kernel"]


@pytest.fixture
def distribution(lite, tmp_path):
    """A Pyodide distribution of empty files, with one package more than is needed."""
    place = tmp_path / "pyodide"
    place.mkdir()
    packages = {name: {"depends": []} for name in (*lite.FROM_PYODIDE, "Pillow", "unused")}
    packages["matplotlib"]["depends"] = ["numpy", "Pillow"]
    packages["pillow"] = packages.pop("Pillow")
    for name, entry in packages.items():
        entry["file_name"] = f"{name}-1.0-py3-none-any.whl"
    version = lite.PYODIDE.split("/v")[1].split("/")[0]
    lock = {"info": {"version": version}, "packages": packages}
    (place / "pyodide-lock.json").write_text(json.dumps(lock))
    for name in (*lite.CORE, *(entry["file_name"] for entry in packages.values()), "console.html"):
        (place / name).touch()
    return place


# ── lessons ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.proves("the lessons in the browser are the released files")
def test_the_lessons_are_the_released_files_and_nothing_else(folder):
    released = {}
    for lesson in LESSONS:
        place = COURSE.release(lesson).parent
        for path in support_files(place):
            released[f"{lesson}/{path.relative_to(place)}"] = path.read_bytes()
    files = folder / "files"
    found = {str(p.relative_to(files)): p.read_bytes() for p in files.rglob("*") if p.is_file()}
    assert found == released and len(released) > 60


def test_each_listing_names_what_lies_there_in_order_and_without_times(lite, folder):
    for place in [folder / "files", *(folder / "files").iterdir()]:
        stem = place.relative_to(folder / "files")
        listing = json.loads((folder / "api/contents" / stem / "all.json").read_text())
        paths = [entry["path"] for entry in listing["content"]]
        assert paths == sorted(str(stem / path.name) for path in place.iterdir())
        times = {entry[key] for entry in listing["content"] for key in ("created", "last_modified")}
        assert times == {"1980-01-01T00:00:00Z"}


def test_a_lessons_title_is_text_on_the_opening_page(lite, tmp_path):
    title = nbformat.v4.new_markdown_cell("# 07 · Prefill & <decode>\n\nWhat costs more?")
    place = tmp_path / "07_serving.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[title]), place)
    page = lite.opening_page(SimpleNamespace(release=lambda _: place), ["07_serving"])
    assert 'lab/index.html?path=07_serving/07_serving.ipynb">07 · Prefill &amp; &lt;decode' in page


def test_what_work_leaves_in_a_lessons_folder_is_not_published(lite, tmp_path):
    place = tmp_path / LESSONS[0]
    shutil.copytree(COURSE.release(LESSONS[0]).parent, place)
    for name in (".proflab/guesses.jsonl", ".ipynb_checkpoints/x.ipynb", "__pycache__/x.pyc"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text("somebody's")
    lite.stage(place, tmp_path / "staged")
    staged = [path for path in (tmp_path / "staged").rglob("*") if path.is_file()]
    assert len(staged) >= 5 and not [p for p in staged if p.read_bytes() == b"somebody's"]


@pytest.mark.whole
@pytest.mark.parametrize("secret", ["solution", "hidden case"])
def test_the_sites_audit_sees_a_secret_of_a_lesson_in_the_browser(tmp_path, secret):
    build = module_at(SITE / "build.py")
    place = tmp_path / "lite/files" / LESSONS[0]
    place.mkdir(parents=True)
    notebook = nbformat.read(COURSE.source(LESSONS[0]), as_version=4)
    pair = SOLUTION if secret == "solution" else HIDDEN
    told = [line for cell in notebook.cells for r in regions(cell.source, pair) for line in r]
    shutil.copy(COURSE.release(LESSONS[0]), place)
    assert build.audit(COURSE, tmp_path) == []
    (place / "notes.md").write_text("\n".join(told))
    found = build.audit(COURSE, tmp_path)
    assert len(found) > 3 and all("lite/files/01_parameters/notes.md" in line for line in found)


# ── wheels and settings ──────────────────────────────────────────────────────────────────────


def test_the_wheel_is_the_package_proflab_and_its_licence_and_nothing_else(folder):
    [path] = (folder / "wheels").glob("proflab-*.whl")
    with zipfile.ZipFile(path) as wheel:
        held = {name: wheel.read(name) for name in wheel.namelist()}
    package = {
        str(path.relative_to(ROOT)): path.read_bytes()
        for path in (ROOT / "proflab").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    about = {
        name.partition(".dist-info/")[2]: text for name, text in held.items() - package.items()
    }
    assert held.items() >= package.items() and about.keys() == {"LICENSE", "METADATA", "WHEEL"}
    assert about["LICENSE"] == (ROOT / "LICENSE").read_bytes()


def test_wheels_work_and_are_the_same_each_time(lite, folder, tmp_path):
    lite.write_wheels(tmp_path, ROOT)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (folder / "wheels" / path.name).read_bytes()
    wheels = os.pathsep.join(map(str, tmp_path.iterdir()))
    look = (
        "import proflab, comm, tqdm; print(*(m.__file__ for m in (proflab, comm, tqdm)), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", look], env=os.environ | {"PYTHONPATH": wheels}, cwd=tmp_path,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert all(line.startswith(str(tmp_path)) for line in done.stdout.splitlines())


def test_what_is_loaded_before_the_first_cell_is_there(lite, folder, kernel):
    packages = kernel["loadPyodideOptions"]["packages"]
    wheels = [name for name in packages if name.endswith(".whl")]
    assert [name for name in packages if name not in wheels] == list(lite.FROM_PYODIDE)
    assert len(wheels) == 3 == len(list((folder / "wheels").iterdir()))
    assert list((folder / WORKER).glob("*.js"))
    for name in wheels:
        assert (folder / normpath(join(WORKER, name))).is_file(), name
    for address in kernel["pipliteUrls"]:
        assert (folder / address.partition("?")[0]).is_file(), address


@pytest.mark.whole
def test_pyodides_address_stands_in_one_place_and_fits_the_kernel(lite, kernel):
    assert kernel["pyodideUrl"] == f"{lite.PYODIDE}pyodide.js"
    assert f"/v{'.'.join(PYODIDE_VERSION.split('.')[:2])}." in lite.PYODIDE
    host = re.match(r"https://[^/]+", lite.PYODIDE)[0]
    texts = [p for p in ROOT.rglob("*.*") if p.suffix in (".py", ".md", ".toml", ".yml", ".js")]
    tracked = [p for p in texts if not {".venv", "build"} & set(p.relative_to(ROOT).parts)]
    assert [p.name for p in tracked if host in p.read_text(errors="ignore")] == ["lite.py"]


def test_a_notebook_downloads_by_the_menu_and_a_guess_can_be_kept(folder, settings):
    menus = settings["settingsOverrides"]["@jupyterlab/mainmenu-extension:plugin"]["menus"]
    [command] = [item["command"] for item in menus[0]["items"] if "command" in item]
    [extension] = [e for e in settings["federated_extensions"] if e["name"] == "proflab"]
    program = folder / "extensions/proflab" / extension["load"]
    assert f"'{command}'" in program.read_text()
    # Taken for JSON, a file of several lines would stop the kernel that writes it.
    assert settings["fileTypes"]["jsonl"]["fileFormat"] == "text"


def test_no_page_of_jupyterlite_asks_another_server(folder):
    assert outside_requests(parse(folder)) == []
    assert not list(folder.rglob("*.map"))


# ── Pyodide beside the lessons ───────────────────────────────────────────────────────────────


def test_of_a_distribution_what_is_needed_is_copied_and_named(lite, distribution, tmp_path):
    lite.copy_pyodide(distribution, tmp_path / "target")
    lock = json.loads((tmp_path / "target/pyodide-lock.json").read_text())
    assert lock["packages"].keys() == {*lite.FROM_PYODIDE, "pillow"}
    named = {entry["file_name"] for entry in lock["packages"].values()}
    copied = {path.name for path in (tmp_path / "target").iterdir()}
    assert copied == {*lite.CORE, *named, "pyodide-lock.json"}


def test_with_a_distribution_no_other_address_is_named(lite, distribution):
    kernel = lite.settings(distribution)["jupyter-config-data"]["litePluginSettings"]
    assert "://" not in json.dumps(kernel) and "./pyodide/pyodide.js" in json.dumps(kernel)
    assert kernel[f"{KERNEL}:kernel"]["disablePyPIFallback"] is True


@pytest.mark.parametrize("wrong", ["missing", "other version", "lacking"])
def test_a_folder_that_cannot_be_taken_is_told_in_a_sentence(lite, distribution, tmp_path, wrong):
    lock = distribution / "pyodide-lock.json"
    if wrong == "missing":
        lock.unlink()
        said = r"no pyodide-lock.json that can be read; name the folder of an unpacked Pyodide \d"
    elif wrong == "other version":
        lock.write_text(lock.read_text().replace('"version": "0.27', '"version": "9.27'))
        said = r"is Pyodide 9\.27\.\d+, but 0\.27\.\d+ is needed"
    else:
        (distribution / "numpy-1.0-py3-none-any.whl").unlink()
        said = "lacks numpy-1.0-py3-none-any.whl"
    with pytest.raises(CourseError, match=f"--pyodide .*{said}"):
        lite.copy_pyodide(distribution, tmp_path / "target")


# ── in a browser that reaches nothing but these pages ─────────────────────────────────────────

STORED = """
    const done = arguments[0];
    indexedDB.databases().then(all => done(all.map(each => each.name)));
"""
MISSING = """
    const all = performance.getEntriesByType('resource');
    return all.filter(each => each.responseStatus == 404).map(each => each.name);
"""
IN_THE_DARK = """
    document.body.dataset.jpThemeLight = 'false';
    return getComputedStyle(document.querySelector('.jp-RenderedMarkdown img')).filter;
"""


@pytest.fixture(scope="module")
def opened(lite, folder, tmp_path_factory):
    """Two trees under one host, opened in one browser: what each says, stores, lacks and draws.

    Each has settings in the page above JupyterLab's: without them JupyterLab does not start.
    """
    browsing = pytest.importorskip("browsing")
    from selenium.webdriver.support.ui import WebDriverWait

    place, found = tmp_path_factory.mktemp("host"), {}
    for name in ("one", "other"):
        shutil.copytree(folder, place / name)
        (place / name / "index.html").write_text(lite.SETTINGS, encoding="utf-8")
    browser = browsing.start_browser(tmp_path_factory.mktemp("browser"))
    with served(place) as address:
        for name in ("one", "other"):
            path = f"{FIRST}/{FIRST}.ipynb"
            browser.get(f"{address}/{name}/lab/index.html?path={path}")
            said = WebDriverWait(browser, browsing.WAIT).until(
                lambda page: page.find_elements("css selector", "p[role=alert]")
            )
            WebDriverWait(browser, browsing.WAIT).until(
                lambda page: page.find_elements("css selector", ".jp-RenderedMarkdown img")
            )
            found[name] = said[0].text, browser.execute_async_script(STORED)
            found[name] += browser.execute_script(MISSING), browser.execute_script(IN_THE_DARK)
    browser.quit()
    return found


@pytest.mark.whole
def test_where_python_cannot_be_reached_a_sentence_says_what_is_missing(lite, opened):
    host = urlsplit(lite.PYODIDE).netloc
    said = opened["one"][0]
    assert said.startswith(f"Python could not be fetched from {host}, so no cell can run:")


@pytest.mark.whole
def test_each_picture_of_a_lesson_is_there_and_fits_a_dark_theme(opened):
    for _, _, missing, ink in opened.values():
        assert not [name for name in missing if not name.endswith("/favicon.ico")]
        assert ink == "invert(1) hue-rotate(180deg)"


@pytest.mark.whole
def test_two_trees_under_one_host_share_no_storage(opened):
    first, both = opened["one"][1], opened["other"][1]
    added = set(both) - set(first)
    assert any("/one/" in name for name in first) and any("/other/" in name for name in added)
    assert not [name for name in both if "/one/" not in name and "/other/" not in name]
