"""Run All in JupyterLab, in a browser: it goes to the end, whatever is written."""

import shutil

import nbformat
import pytest
from browsing import WAIT, start_browser
from run_all import NAME, SOLUTIONS, filled, kinds, released, shown
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.support.ui import WebDriverWait
from serving import jupyter_lab, server_log

LEFT_OUT = {name: text for name, text in SOLUTIONS.items() if name != "area"}
STATES = {"none": {}, "left_out": LEFT_OUT, "all": SOLUTIONS}
READY = """
    const panel = window.jupyterapp && window.jupyterapp.shell.currentWidget;
    const session = panel && panel.sessionContext;
    return Boolean(session && session.session && session.session.kernel
                   && session.session.kernel.status === 'idle');
"""
# Run All, then save: the script's answer comes when both are done.
RUN_AND_SAVE = """
    const done = arguments[arguments.length - 1];
    const run = name => window.jupyterapp.commands.execute(name);
    run('notebook:run-all-cells')
        .then(() => run('docmanager:save')).then(() => done('saved'), error => done(String(error)));
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


@pytest.fixture(scope="module")
def lab(folders, tmp_path_factory):
    """JupyterLab among the folders, and a browser: (address, browser)."""
    with jupyter_lab(folders, "--LabApp.expose_app_in_browser=True") as address:
        browser = start_browser(tmp_path_factory.mktemp("profile"))
        browser.set_script_timeout(WAIT)
        try:
            yield address, browser
        finally:
            browser.quit()


def wait_for_kernel(browser, address):
    """Wait until the opened notebook's kernel is idle; else say what page and server show."""
    try:
        WebDriverWait(browser, WAIT).until(lambda b: b.execute_script(READY))
    except TimeoutException:
        page = browser.find_element("tag name", "body").text[-2000:]
        title = f"{browser.current_url} {browser.title!r}"
        pytest.fail(f"{title}: no idle kernel.\n{page}\n{server_log(address)}")


@pytest.mark.parametrize("state", STATES)
def test_run_all_goes_to_the_end(folders, lab, state):
    address, browser = lab
    browser.get(f"{address}/lab/workspaces/{state}/tree/{state}/{NAME}/{NAME}.ipynb")
    wait_for_kernel(browser, address)
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
