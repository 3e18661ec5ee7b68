"""Run All in JupyterLab, in a browser: it goes to the end, whatever is written."""

import shutil
import warnings
from contextlib import ExitStack

import nbformat
import pytest
from browsing import WAIT, start_browser
from run_all import NAME, SOLUTIONS, filled, kinds, released, shown
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.support.ui import WebDriverWait
from serving import jupyter_lab, server_log

pytestmark = pytest.mark.whole("lesson/test_run_all.py")

LEFT_OUT = {name: text for name, text in SOLUTIONS.items() if name != "area"}
STATES = {"none": {}, "left_out": LEFT_OUT, "all": SOLUTIONS}
ATTEMPTS = 3
# Not the current widget: that is the file browser where it was ready later than the notebook.
PANEL = """
    const app = window.jupyterapp;
    const panel = app && [...app.shell.widgets('main')].find(widget => widget.sessionContext);
"""
# How the kernel is. A kernel says that it is idle once after its start, and on a busy machine that
# can be before anybody listens; so it is asked again, and what it answers ends with that status.
STATUS = f"""
    {PANEL}
    const session = panel && panel.sessionContext;
    const kernel = session && session.session && session.session.kernel;
    if (!kernel) return 'no kernel';
    if (kernel.connectionStatus !== 'connected') return kernel.connectionStatus;
    const asked = window.askedKernelAt || (window.askedKernelAt = Date.now());
    if (kernel.status !== 'idle' && Date.now() - asked > 10000) {{
        window.askedKernelAt = Date.now();
        kernel.requestKernelInfo();
    }}
    return kernel.status;
"""
# Run All, then save: the script's answer comes when both are done.
RUN_AND_SAVE = f"""
    const done = arguments[arguments.length - 1];
    {PANEL}
    app.commands.execute('notebook:run-all-cells')
        .then(() => panel.context.save()).then(() => done('saved'), error => done(String(error)));
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One folder of the lesson for each state, with its notebook."""
    root = tmp_path_factory.mktemp("students")
    folder = released(tmp_path_factory.mktemp("course")) / NAME
    for state, cells in STATES.items():
        shutil.copytree(folder, root / state / NAME)
        nbformat.write(filled(folder, **cells), root / state / NAME / f"{NAME}.ipynb")
    return root


class Lab:
    """JupyterLab among the folders and a browser, both started anew where a kernel hangs."""

    def __init__(self, folders, new_profile):
        self.folders, self.new_profile = folders, new_profile
        self.open_things = None

    def open(self, state):
        """Open a state's notebook and wait until its kernel is idle; return the browser."""
        for attempt in range(ATTEMPTS):
            if self.open_things is None:
                self.start()
            address, browser = self.address, self.browser
            browser.get(f"{address}/lab/workspaces/{state}/tree/{state}/{NAME}/{NAME}.ipynb")
            try:
                WebDriverWait(browser, WAIT).until(lambda b: b.execute_script(STATUS) == "idle")
                return browser
            except TimeoutException:
                page = browser.find_element("tag name", "body").text[-2000:]
                shown = f"{browser.current_url} {browser.execute_script(STATUS)}\n{page}\n"
                shown += server_log(address)
                self.close()
                if attempt == ATTEMPTS - 1:
                    pytest.fail(f"no idle kernel, each time: {shown}")
                warnings.warn(f"no idle kernel, started anew: {shown}", stacklevel=1)

    def start(self):
        with ExitStack() as stack:
            options = ("--LabApp.expose_app_in_browser=True",)
            self.address = stack.enter_context(jupyter_lab(self.folders, *options))
            self.browser = start_browser(self.new_profile())
            stack.callback(self.browser.quit)
            self.open_things = stack.pop_all()

    def close(self):
        if self.open_things is not None:
            self.open_things.close()
            self.open_things = None


@pytest.fixture(scope="module")
def lab(folders, tmp_path_factory):
    lab = Lab(folders, lambda: tmp_path_factory.mktemp("profile"))
    yield lab
    lab.close()


@pytest.mark.parametrize("state", STATES)
def test_run_all_goes_to_the_end(folders, lab, state):
    browser = lab.open(state)
    assert browser.execute_async_script(RUN_AND_SAVE) == "saved"
    path = folders / state / NAME / f"{NAME}.ipynb"
    cells = {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}
    written = [name for name in SOLUTIONS if name in STATES[state]]
    table = shown(cells["where_am_i"])
    for name in SOLUTIONS:
        mark = "✅" if name in written and (name != "squares" or "area" in written) else "⬜"
        assert f"{mark} {name} " in table, table
    assert set(kinds(cells).values()) == (set() if state == "all" else {"NotImplementedError"})
    if state == "left_out":
        assert shown(cells["demo_field"]) == "`area` is not written yet: section 1"
        page = browser.find_element("tag name", "body").text
        assert "`area` is not written yet: section 1" in page and "Traceback" not in page


LINK = "return document.querySelector('a[href$=\"={}\"]')"
IN_VIEW = f"""
    {PANEL}
    const cell = panel.content.widgets.find(cell => cell.model.id === arguments[0]);
    const [box, around] = [cell, panel.content].map(each => each.node.getBoundingClientRect());
    return cell.node.isConnected && box.top >= around.top - 9 && box.top < around.bottom - 9;
"""
FOLDED = f"""
    {PANEL}
    const cell = panel.content.widgets.find(cell => cell.model.id === 'demo_squares');
    return [cell.inputHidden, cell.outputHidden, cell.outputArea.node.textContent];
"""


def test_a_link_of_the_map_leads_to_its_section_and_a_folded_demo_shows_its_output(folders, lab):
    browser = lab.open("all")
    browser.set_window_size(1000, 500)
    path = folders / "all" / NAME / f"{NAME}.ipynb"
    cells = nbformat.read(path, as_version=4).cells
    [section] = [cell.id for cell in cells if cell.source.startswith("## 2 · Ops")]
    WebDriverWait(browser, WAIT).until(lambda b: b.execute_script(LINK.format(section)))
    assert not browser.execute_script(IN_VIEW, section)

    def follow(b):
        # Cells above that are laid out late move the section away again, so click again.
        b.execute_script(LINK.format(section) + ".click()")
        return WebDriverWait(b, 5).until(lambda b: b.execute_script(IN_VIEW, section))

    WebDriverWait(browser, WAIT, ignored_exceptions=[TimeoutException]).until(follow)
    assert browser.execute_async_script(RUN_AND_SAVE) == "saved"
    hidden, outputs_hidden, text = browser.execute_script(FOLDED)
    assert hidden and not outputs_hidden and "the largest: 25" in text
