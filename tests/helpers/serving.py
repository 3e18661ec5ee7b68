"""JupyterLab for a test, on a port that it chooses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WAIT = 120  # seconds until a busy machine is believed to hang
_logs: dict[str, Path] = {}


def server_log(address: str) -> str:
    """Return the end of what the server at an address has written: for a failed test's message."""
    return _logs[address].read_text(errors="replace")[-4000:]


@contextmanager
def jupyter_lab(folder: Path, *options: str) -> Iterator[str]:
    """Run JupyterLab in a folder, on a port that it chooses; yields its address."""
    programs = Path(sys.executable).parent
    words = ["--no-browser", "--ServerApp.token=", "--ServerApp.password=", "--port=0"]
    with tempfile.TemporaryDirectory() as runtime, open(f"{runtime}/log", "wb") as log:
        _lay_out_all_cells(Path(runtime))
        server = subprocess.Popen(
            [programs / "jupyter-lab", *words, "--ip=127.0.0.1", "--allow-root", *options],
            cwd=folder,
            env=os.environ
            | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "IPYTHONDIR": runtime}
            # Where workspaces are kept, too: otherwise the next server restores them.
            | {"JUPYTER_RUNTIME_DIR": runtime, "JUPYTER_CONFIG_DIR": runtime},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            address = _address_in(Path(runtime), server)
            _logs[address] = Path(log.name)
            yield address
        finally:
            server.terminate()
            server.wait(WAIT)


def _lay_out_all_cells(config: Path) -> None:
    """Have JupyterLab show all cells at once: a page may go on laying them out for ever."""
    settings = config / "lab/user-settings/@jupyterlab/notebook-extension"
    settings.mkdir(parents=True)
    (settings / "tracker.jupyterlab-settings").write_text('{"windowingMode": "none"}')


def _address_in(runtime: Path, server: subprocess.Popen) -> str:
    """Wait until a server answers, and return the address that it left in its runtime folder."""
    told = runtime / f"jpserver-{server.pid}.json"
    for _ in range(WAIT * 4):
        try:
            address = json.loads(told.read_text())["url"].rstrip("/")
            urllib.request.urlopen(f"{address}/api")
            return address
        except (OSError, ValueError):  # not written yet, half written, or not listening yet
            time.sleep(0.25)
        assert server.poll() is None, "JupyterLab ended at once"
    raise AssertionError("JupyterLab did not start")
