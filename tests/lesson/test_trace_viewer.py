"""Lesson 05's traces in a real viewer, speedscope, in a browser.

    npm install speedscope
    PROFLAB_SPEEDSCOPE=node_modules/speedscope/dist/release pytest tests/lesson/test_trace_viewer.py

Skipped where one of the two is not there: the viewer is no dependency of the course.
"""

import functools
import http.server
import json
import os
import shutil
import threading
from pathlib import Path

import pytest
from cohort.run import solved
from lesson_demos import demos_of

RELEASE = Path(os.environ.get("PROFLAB_SPEEDSCOPE", "")).resolve()
WAIT = 120  # seconds until a busy machine is believed to hang

if not os.environ.get("PROFLAB_SPEEDSCOPE") or not (RELEASE / "index.html").exists():
    pytest.skip("needs speedscope: set PROFLAB_SPEEDSCOPE", allow_module_level=True)
if not (shutil.which("chromium") and shutil.which("chromedriver")):
    pytest.skip("needs Chromium and its driver: make system", allow_module_level=True)

from selenium import webdriver  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402


@pytest.fixture(scope="module")
def trace():
    """A forward and a backward pass of LeNet-5 in two regions, with its modules."""
    names = solved("lesson_05").scope
    model = names["models"].LeNet5()
    x = names["example_input"](model, (8, 1, 32, 32))

    def step():
        with names["region"]("forward"):
            loss = model(x).mean()
        with names["region"]("backward"):
            loss.backward()

    rows = demos_of("05_profiler").with_modules(names["rows_of"](step))
    return names["chrome_trace"](rows)


@pytest.fixture(scope="module")
def address(trace, tmp_path_factory):
    """Where the viewer is served with the trace beside it."""
    folder = tmp_path_factory.mktemp("viewer") / "speedscope"
    shutil.copytree(RELEASE, folder)
    (folder / "trace.json").write_text(json.dumps(trace), "utf-8")
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in ("headless", "no-sandbox", "disable-background-networking"):
        options.add_argument(f"--{flag}")
    options.add_argument("--use-gl=angle")
    options.add_argument("--use-angle=swiftshader")  # speedscope draws by WebGL
    options.add_argument("--enable-unsafe-swiftshader")
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('browser')}")
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    driver.set_window_size(1400, 700)
    yield driver
    driver.quit()


def test_the_viewer_lists_ops_modules_and_regions(trace, address, browser, tmp_path):
    url = f"{address}/index.html#profileURL={address}/trace.json&view=sandwich"
    browser.get(url)

    def text(driver):
        return driver.find_element(By.TAG_NAME, "body").text

    WebDriverWait(browser, WAIT).until(lambda driver: "backward" in text(driver))
    shown = text(browser)
    for event in trace["traceEvents"]:
        assert event["name"] in shown, event["name"]
    kept = Path(os.environ.get("PROFLAB_KEEP", tmp_path))
    for view, key in (("timeline", "1"), ("sandwich", "3")):
        browser.find_element(By.TAG_NAME, "body").send_keys(key)
        assert browser.save_screenshot(str(kept / f"speedscope_{view}.png"))
