"""A lesson in JupyterLite, in a headless browser that is watched: open, type, run, download.

What a visitor does is done with keys and clicks. The notebook's cells are read from JupyterLab
itself, which the served copy of the site shows to the page (`expose`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
from browsing import start_browser
from clones import ROOT
from lesson_demos import module_at
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from serving import WAIT
from site_pages import SITE

from proflab_course.course.layout import Course
from proflab_course.course.notebook import SOLUTION, regions

LONG = 1_200  # seconds until a lesson's last cell is believed to hang

_READY = """
    const panel = window.jupyterapp && window.jupyterapp.shell.currentWidget;
    const session = panel && panel.sessionContext && panel.sessionContext.session;
    return Boolean(session && session.kernel);
"""
_CELLS = """
    return window.jupyterapp.shell.currentWidget.content.widgets.map(widget => {
        const cell = widget.model.sharedModel.toJSON();
        const name = (cell.metadata.nbgrader || {}).grade_id || '';
        return {name, type: cell.cell_type, source: cell.source, outputs: cell.outputs || [],
                count: cell.execution_count, state: widget.prompt || ''};
    });
"""
_SHOW = """
    const notebook = window.jupyterapp.shell.currentWidget.content;
    const at = notebook.widgets.findIndex(cell =>
        (cell.model.getMetadata('nbgrader') || {}).grade_id === arguments[0]
        || cell.model.sharedModel.source.split('\\n').some(
            line => line.startsWith(arguments[0] + ' = ')));
    if (at < 0) throw new Error(`no cell ${arguments[0]}`);
    notebook.activeCellIndex = at;
    notebook.scrollToItem(at);
    const node = notebook.widgets[at].node;
    return node.isConnected ? node.querySelector('.cm-content') : null;
"""
_ACTIVE = """
    const notebook = window.jupyterapp.shell.currentWidget.content;
    return [notebook.activeCellIndex, notebook.activeCell.model.sharedModel.source];
"""
_PUT_BACK = """
    const notebook = window.jupyterapp.shell.currentWidget.content;
    notebook.widgets[arguments[0]].model.sharedModel.source = arguments[1];
"""
_IN_EDITOR = "return arguments[0].contains(document.activeElement)"
_SOURCE = "return window.jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.source"
_ENTRY = """
    const [selector, label] = arguments;
    return [...document.querySelectorAll(selector)].find(entry => entry.textContent === label);
"""
_IDLE = """
    const panel = window.jupyterapp.shell.currentWidget;
    const running = cell => cell.model.executionState === 'running' || cell.prompt === '*';
    return !panel.content.widgets.some(running)
        && panel.sessionContext.session.kernel.status !== 'busy';
"""


def write_site(
    course: Course, lessons: list[str], target: Path, pyodide: Path | None, address: str = ""
) -> None:
    """Write the folder `lite` of a site whose notebooks a test can read.

    address: of Pyodide, where it does not lie beside the lessons.
    """
    lite = module_at(SITE / "lite.py")
    lite.PYODIDE = address or lite.PYODIDE
    lite.write_lite(course, lessons, target, pyodide)
    (target / "index.html").write_text(lite.SETTINGS, encoding="utf-8")
    expose(target)


def expose(lite: Path) -> None:
    """Let the pages of a copy of the site show JupyterLab's parts to who drives the browser."""
    path = lite / "jupyter-lite.json"
    settings = json.loads(path.read_text(encoding="utf-8"))
    settings["jupyter-config-data"]["exposeAppInBrowser"] = True
    path.write_text(json.dumps(settings), encoding="utf-8")


class LitePage:
    """The page in a browser; its lessons are opened, filled in and run."""

    def __init__(self, browser: webdriver.Chrome, address: str, downloads: Path) -> None:
        self.browser, self.address, self.downloads = browser, address, downloads
        # As of a window that somebody looks at: JupyterLab follows the focus.
        browser.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
        where = {"behavior": "allow", "downloadPath": str(downloads)}
        browser.execute_cdp_cmd("Browser.setDownloadBehavior", where)

    @classmethod
    @contextmanager
    def opened(cls, address: str, place: Path) -> Iterator[LitePage]:
        """Start a browser that was never here and that reaches this machine alone; yields the page.

        place: an empty folder.
        """
        for name in ("profile", "downloads"):
            (place / name).mkdir()
        browser = start_browser(place / "profile")
        try:
            yield cls(browser, address, place / "downloads")
        finally:
            browser.quit()

    def wait(self, script: str, *arguments: object, seconds: float = WAIT):
        """Wait until a script returns something true; return it."""
        until = time.monotonic() + seconds
        while not (found := self.browser.execute_script(script, *arguments)):
            if time.monotonic() > until:
                page = self.browser.find_element("tag name", "body").text[-1000:]
                raise AssertionError(f"not after {seconds} s: {script}\n{page}")
            time.sleep(0.1)
        return found

    def open(self, lesson: str) -> float:
        """Open a lesson; return the seconds until its first cells can be read."""
        began = time.monotonic()
        self.browser.get(f"{self.address}/lab/index.html?path={lesson}/{lesson}.ipynb")
        self.wait("return document.querySelector('.jp-Notebook .jp-MarkdownOutput h1')")
        seconds = time.monotonic() - began
        self.wait(_READY)
        return seconds

    def reload(self, lesson: str) -> None:
        """Open the lesson anew, as it was saved."""
        self.browser.get("about:blank")
        self.open(lesson)

    def cells(self) -> list[dict]:
        """Return the notebook's cells: name, type, source, outputs, count."""
        return self.browser.execute_script(_CELLS)

    def cell(self, name: str) -> dict:
        """Return one of them."""
        return next(cell for cell in self.cells() if cell["name"] == name)

    def choose(self, *labels: str) -> None:
        """Choose an entry of a menu: choose("File", "Download")."""
        for place, label in enumerate(labels):
            selector = ".lm-Menu-itemLabel" if place else ".lm-MenuBar-itemLabel"
            entry = self.wait(_ENTRY, selector, label)
            ActionChains(self.browser).move_to_element(entry).click().perform()

    def run_all(self, seconds: float = LONG) -> None:
        """Choose Run All Cells, and wait until the last cell has run."""
        self.choose("Run", "Run All Cells")
        self.wait(_IDLE, seconds=seconds)

    def edit(self, name: str) -> None:
        """Click into a cell's editor. name: its grade_id, or the name that its first line binds."""
        until = time.monotonic() + WAIT
        while time.monotonic() < until:  # cells move while pictures above them are drawn
            editor = self.wait(_SHOW, name)
            ActionChains(self.browser).click(editor).perform()
            if self.browser.execute_script(_IN_EDITOR, editor):
                return
        raise AssertionError(f"no click reaches the cell {name}")

    def keys(self, *keys: str) -> None:
        """Press keys, one after another, wherever the page has the focus."""
        ActionChains(self.browser).send_keys(*keys).perform()

    def chord(self, modifier: str, key: str) -> None:
        """Press a key together with a modifier."""
        ActionChains(self.browser).key_down(modifier).send_keys(key).key_up(modifier).perform()

    def type_body(self, name: str, body: str) -> None:
        """Type the lines of a function's body, key by key, in place of what raises in its stub."""
        self.edit(name)
        self.chord(Keys.CONTROL, Keys.END)
        for number, line in enumerate(body.splitlines()):
            if number:
                self.keys(Keys.ENTER)
            self.chord(Keys.SHIFT, Keys.HOME)
            self.keys(*(line.strip() if number == 0 else line))

    def paste(self, name: str, source: str) -> None:
        """Replace a cell's text by another, as a paste does."""
        self.edit(name)
        self.chord(Keys.CONTROL, "a")
        self.browser.execute_cdp_cmd("Input.insertText", {"text": source})
        self.wait(f"{_SOURCE} === arguments[0]", source)

    def fill_in(self, solved: dict[str, str], typed: str) -> None:
        """Write these cells, the body of `typed` key by key."""
        for name, source in solved.items():
            if name == typed:
                self.type_body(name, body_of(source))
            else:
                self.paste(name, source)

    def run(self, name: str, source: str | None = None) -> dict:
        """Run a cell with Shift+Enter, and return it as it is then.

        source: the text that it has for this once.
        """
        self.edit(name)
        at, before = self.browser.execute_script(_ACTIVE)
        if source is not None:
            self.paste(name, source)
        self.chord(Keys.SHIFT, Keys.ENTER)
        time.sleep(0.2)
        self.wait(_IDLE, seconds=LONG)
        found = self.cells()[at]
        if source is not None:
            self.browser.execute_script(_PUT_BACK, at, before)
        return found

    def save(self) -> None:
        """Save the notebook with Ctrl+S, and wait until it is kept."""
        self.chord(Keys.CONTROL, "s")
        self.wait("return !window.jupyterapp.shell.currentWidget.context.model.dirty")

    def asked_elsewhere(self, spare: str) -> list[str]:
        """Return what the page and its Python have asked other servers for.

        spare: a cell; Python runs in a worker, so a cell has to tell, and its text is put back.
        """
        names = "performance.getEntriesByType('resource')"
        asked = self.browser.execute_script(f"return {names}.map(entry => entry.name)")
        look = f"from js import performance\nprint(*(e.name for e in {names}), sep='\\n')"
        asked += printed(self.run(spare, look)).split()
        assert len(asked) > 20  # it has looked
        return [each for each in asked if not each.startswith((self.address, "data:", "blob:"))]

    def download(self, name: str) -> Path:
        """Download the notebook by the menu; return the file."""
        self.choose("File", "Download")
        path = self.downloads / name
        until = time.monotonic() + WAIT
        while not path.exists() and time.monotonic() < until:
            time.sleep(0.1)
        return path


def solutions(lesson: str) -> dict[str, str]:
    """Return the right text of each function that students write in a lesson."""
    cells = nbformat.read(Course(ROOT).source(lesson), as_version=4).cells
    found = {}
    for cell in cells:
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        written = cell.cell_type == "code" and not name.startswith("concept")
        if written and regions(cell.source, SOLUTION):
            lines = (line for line in cell.source.splitlines() if "### " not in line)
            found[name] = "\n".join(lines)
    return found


def body_of(source: str) -> str:
    """Return what stands below a function's docstring."""
    return source.rpartition('"""\n')[2]


def printed(cell: dict, name: str = "stdout") -> str:
    """Return what a cell has printed; name: stdout or stderr."""
    texts = [
        o["text"] for o in cell["outputs"] if o["output_type"] == "stream" and o["name"] == name
    ]
    return "".join(text if isinstance(text, str) else "".join(text) for text in texts)
