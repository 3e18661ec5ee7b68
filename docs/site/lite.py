"""The course in a browser tab: JupyterLite with the released lessons, in the site's folder `lite`.

A visitor's browser runs Python itself, by Pyodide: no server takes part, and what a visitor writes
stays in that browser. The pages are static files, made from installed packages without a network.
Pyodide's own files come from its public address, or from a folder that is put beside the lessons.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Collection, Iterable
from html import escape
from importlib.metadata import distribution
from pathlib import Path
from string import Template

import proflab
from proflab_course.build.make import support_files
from proflab_course.course.layout import Course, CourseError
from proflab_course.course.notebook import read_notebook

HERE = Path(__file__).resolve().parent

# Where Pyodide publishes itself; here alone. Its Python is one for which the kernel is made.
PYODIDE = "https://cdn.jsdelivr.net/pyodide/v0.27.7/full/"
FOLDER = "lite"
PROGRAM = ("build", "doc", "extensions", "lab")  # JupyterLite itself, as it was installed
CORE = ("pyodide.js", "pyodide.asm.js", "pyodide.asm.wasm", "python_stdlib.zip")
LOCK = "pyodide-lock.json"
# What is loaded before the first cell, of Pyodide's packages and of this environment's.
FROM_PYODIDE = ("ipython", "jedi", "matplotlib", "micropip", "numpy", "sqlite3", "ssl")
FROM_PYODIDE += ("threadpoolctl",)
_FROM_HERE = ("comm", "tqdm")
_KERNEL = "@jupyterlite/pyodide-kernel-extension"
_UP = "../" * 4  # from the kernel's program, which asks for the wheels, to the folder
_EPOCH = 315532800  # 1980: all times that the pages show, so that a second build is the same
_AUTOSAVE = 20  # seconds
_FILE_MENU = {
    "id": "jp-mainmenu-file",
    "items": [{"type": "separator", "rank": 6}, {"command": "proflab:download", "rank": 6}],
}
_JSONL = {"name": "jsonl", "extensions": [".jsonl"], "mimeTypes": ["text/plain"]}
_JSONL |= {"fileFormat": "text"}
_ROW = (
    '<li id="{lesson}"><a class="button" href="lab/index.html?path={lesson}/{lesson}.ipynb">'
    "{title}</a></li>"
)
# JupyterLite looks for settings into the page above its own.
SETTINGS = (
    '<script id="jupyter-config-data" type="application/json" data-jupyter-lite-root=".">{}'
    "</script>"
)


def opening_page(course: Course, lessons: Iterable[str]) -> str:
    """Return the page that says where work is kept, and leads to each lesson."""
    rows = []
    for lesson in lessons:
        title = read_notebook(course.release(lesson), lesson).cells[0].source.partition("\n")[0]
        rows.append(_ROW.format(lesson=lesson, title=escape(title.removeprefix("# "))))
    page = Template((HERE / "lite.md").read_text(encoding="utf-8"))
    return page.substitute(lessons=f'<ul class="lessons">{"".join(rows)}</ul>\n\n{SETTINGS}')


def write_lite(
    course: Course, lessons: Iterable[str], target: Path, pyodide: Path | None = None
) -> None:
    """Write JupyterLite with released lessons beside the opening page.

    target: the folder `lite` of the site. pyodide: the folder of a Pyodide distribution, of which
    what is needed is put into the target; None: visitors' browsers ask Pyodide's own address.
    Raises CourseError for a folder that lacks something.
    """
    with tempfile.TemporaryDirectory() as work:
        place = Path(work)
        for lesson in lessons:
            stage(course.release(lesson).parent, place / "files" / lesson)
        _stage_extension(place / "extension", pyodide)
        (place / "jupyter-lite.json").write_text(json.dumps(settings(pyodide)), encoding="utf-8")
        (place / "jupyter_lite_config.json").write_text(json.dumps(_options(place)), "utf-8")
        _run_jupyterlite(place)
        for path in (place / "site" / "api" / "contents").rglob("all.json"):
            _sort(path)
        (place / "site" / "index.html").unlink()  # the opening page stands there
        shutil.copytree(place / "site", target, dirs_exist_ok=True)
        # JupyterLab asks for a text's pictures beside its own page before it knows the folder.
        for picture in (place / "files").rglob("*.png"):
            shutil.copyfile(picture, target / "lab" / picture.name)
    write_wheels(target / "wheels", course.root)
    if pyodide is not None:
        copy_pyodide(pyodide, target / "pyodide")


def files_in(folder: Path) -> list[Path]:
    """Return all files below a folder, sorted."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def stage(folder: Path, target: Path) -> None:
    """Copy a released lesson's files, and nothing that somebody's work in its folder has left."""
    for path in support_files(folder):
        copy = target / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def _stage_extension(target: Path, pyodide: Path | None) -> None:
    """Make an extension of JupyterLab of lite.js, which looks whether Python can be reached."""
    (target / "static").mkdir(parents=True)
    address = "../pyodide/" if pyodide else PYODIDE  # as the page lab/index.html sees it
    script = (HERE / "lite.js").read_text("utf-8").replace("RUNTIME", f"{address}pyodide.js")
    (target / "static" / "lite.js").write_text(script, encoding="utf-8")
    about = {"name": "proflab", "version": proflab.__version__}
    about |= {"jupyterlab": {"_build": {"load": "static/lite.js", "extension": "./extension"}}}
    (target / "package.json").write_text(json.dumps(about), encoding="utf-8")


# ── JupyterLite ──────────────────────────────────────────────────────────────────────────────


def settings(pyodide: Path | None) -> dict:
    """Return what JupyterLite reads when a page opens."""
    packages = [*FROM_PYODIDE, *(f"{_UP}wheels/{name}" for name in wheel_names())]
    address = PYODIDE if pyodide is None else "./pyodide/"
    kernel = {
        "pyodideUrl": f"{address}pyodide.js",
        "loadPyodideOptions": {"packages": packages},
        # With Pyodide beside the lessons no other address is asked for anything.
        "disablePyPIFallback": pyodide is not None,
    }
    return {
        "jupyter-lite-schema-version": 0,
        "jupyter-config-data": {
            "appName": "ProfLab",
            "litePluginSettings": {f"{_KERNEL}:kernel": kernel},
            "settingsOverrides": {
                "@jupyterlab/docmanager-extension:plugin": {"autosaveInterval": _AUTOSAVE},
                # Released files have no time of their own.
                "@jupyterlab/filebrowser-extension:browser": {"showLastModifiedColumn": False},
                "@jupyterlab/mainmenu-extension:plugin": {"menus": [_FILE_MENU]},
            },
        },
    }


def _options(place: Path) -> dict:
    """Return how JupyterLite is built: JupyterLab alone, with the kernel and lite.js."""
    extensions = Path(sysconfig.get_path("data"), "share", "jupyter", "labextensions")
    build = {
        "apps": ["lab"],
        # Else it is taken for one JSON document, and a kernel that writes a second line hangs.
        "extra_file_types": {"jsonl": _JSONL},
        "contents": [str(place / "files")],
        "federated_extensions": [str(extensions / _KERNEL), str(place / "extension")],
        "ignore_sys_prefix": True,
        "no_libarchive": True,
        "no_sourcemaps": True,
        "no_unused_shared_packages": True,
        "output_dir": str(place / "site"),
        "source_date_epoch": _EPOCH,
    }
    return {"LiteBuildConfig": build}


def _run_jupyterlite(place: Path) -> None:
    command = [sys.executable, "-m", "jupyterlite_core", "build"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True)
    if done.returncode or not (place / "site" / "lab" / "index.html").exists():
        raise CourseError(f"JupyterLite could not be built:\n{done.stdout}{done.stderr}")


def _sort(listing: Path) -> None:
    """Sort a folder's entries, which are listed as the file system has them."""
    found = json.loads(listing.read_text(encoding="utf-8"))
    found["content"].sort(key=lambda entry: entry["path"])
    listing.write_text(json.dumps(found, indent=1, sort_keys=True), encoding="utf-8")


# ── wheels ───────────────────────────────────────────────────────────────────────────────────


def wheel_names() -> list[str]:
    """Return the file names of the wheels that the lessons bring with them."""
    versions = [(name, distribution(name).version) for name in _FROM_HERE]
    versions.append(("proflab", proflab.__version__))
    return [f"{name}-{version}-py3-none-any.whl" for name, version in versions]


def write_wheels(target: Path, root: Path) -> None:
    """Write the wheels: the package `proflab`, and installed packages that Pyodide lacks."""
    target.mkdir(parents=True, exist_ok=True)
    for name, file in zip([*_FROM_HERE, "proflab"], wheel_names(), strict=True):
        members = _package(root) if name == "proflab" else _installed(name)
        _write_wheel(target / file, members)


def _package(root: Path) -> dict[str, bytes]:
    """Return the members of the wheel `proflab`: the package as it is, and the licence."""
    files = [path for path in files_in(root / "proflab") if "__pycache__" not in path.parts]
    members = {path.relative_to(root).as_posix(): path.read_bytes() for path in files}
    head = f"Metadata-Version: 2.1\nName: proflab\nVersion: {proflab.__version__}\n"
    about = {"METADATA": head, "WHEEL": "Wheel-Version: 1.0\nTag: py3-none-any\n"}
    about["LICENSE"] = (root / "LICENSE").read_text(encoding="utf-8")
    folder = f"proflab-{proflab.__version__}.dist-info"
    return members | {f"{folder}/{name}": text.encode() for name, text in about.items()}


def _installed(name: str) -> dict[str, bytes]:
    """Return the members of the wheel from which a package was installed."""
    left_out = ("INSTALLER", "RECORD", "REQUESTED", "direct_url.json")
    return {
        path.as_posix(): path.locate().read_bytes()
        for path in distribution(name).files or ()
        if path.suffix != ".pyc" and path.name not in left_out and ".." not in path.parts
    }


def _write_wheel(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.external_attr = 0o644 << 16
            file.writestr(info, members[name], zipfile.ZIP_DEFLATED)


# ── Pyodide beside the lessons ───────────────────────────────────────────────────────────────


def needed(packages: dict[str, dict], names: Iterable[str]) -> list[str]:
    """Return the packages of a lock that these names need, themselves included.

    >>> needed({"a": {"depends": ["b"]}, "b": {"depends": []}, "c": {"depends": []}}, ["a"])
    ['a', 'b']
    """
    found: set[str] = set()
    ahead = list(names)
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += [_normal(each) for each in packages[name]["depends"]]
    return sorted(found)


def _normal(name: str) -> str:
    """Return a package's name as the lock's keys have it."""
    return name.lower().replace("_", "-")


def copy_pyodide(folder: Path, target: Path) -> None:
    """Copy what the lessons need of a Pyodide distribution, with a lock that names no more."""
    lock = _read_lock(folder)
    names = needed(lock["packages"], FROM_PYODIDE)
    files = [*CORE, *(lock["packages"][name]["file_name"] for name in names)]
    _refuse_missing(folder, files)
    target.mkdir(parents=True, exist_ok=True)
    for name in files:
        shutil.copyfile(folder / name, target / name)
    lock["packages"] = {name: lock["packages"][name] for name in names}
    (target / LOCK).write_text(json.dumps(lock, sort_keys=True), encoding="utf-8")


def _read_lock(folder: Path) -> dict:
    """Return the lock of a distribution. Raises CourseError unless it is of PYODIDE's version."""
    wanted = PYODIDE.split("/v")[1].split("/")[0]
    try:
        lock = json.loads((folder / LOCK).read_text(encoding="utf-8"))
        version = lock["info"]["version"]
    except (OSError, ValueError, KeyError, TypeError):
        raise CourseError(
            f"--pyodide {folder}: no {LOCK} that can be read; name the folder of an unpacked "
            f"Pyodide {wanted}"
        ) from None
    if version != wanted:
        raise CourseError(f"--pyodide {folder}: is Pyodide {version}, but {wanted} is needed")
    return lock


def _refuse_missing(folder: Path, files: Collection[str]) -> None:
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise CourseError(f"--pyodide {folder}: lacks {', '.join(missing)}")
