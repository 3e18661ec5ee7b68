"""Build the wheel that `pip install .` asks for, with nothing but Python (PEP 517).

Made by `proflab assemble`, which copies it beside a profiler in one file: no package has to be
fetched to install that. What may not enter: an import of anything that Python does not bring.
"""

from __future__ import annotations

import base64
import hashlib
import tomllib
import zipfile
from pathlib import Path
from typing import Any

_WHEEL = "Wheel-Version: 1.0\nGenerator: make_wheel\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None
) -> str:
    """Write the wheel of the folder that pip works in into another one, and return its name."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    title = project["name"].replace("-", "_") + "-" + project["version"]
    about = {"Metadata-Version": "2.1", "Name": project["name"], "Version": project["version"]}
    lines = [f"{key}: {value}\n" for key, value in about.items()]
    lines += [f"Requires-Python: {project['requires-python']}\n"]
    lines += [f"Requires-Dist: {package}\n" for package in project["dependencies"]]
    scripts = [f"{name} = {place}\n" for name, place in project["scripts"].items()]
    # package.py's PROFILER; the copy of this file can import nothing of the course.
    files = {path.name: path.read_bytes() for path in Path().glob("*_profiler.py")}
    files |= {
        f"{title}.dist-info/METADATA": "".join(lines).encode(),
        f"{title}.dist-info/WHEEL": _WHEEL.encode(),
        f"{title}.dist-info/entry_points.txt": "".join(["[console_scripts]\n", *scripts]).encode(),
    }
    rows = [f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in files.items()]
    record = f"{title}.dist-info/RECORD"
    files[record] = "".join([*rows, f"{record},,\n"]).encode()
    wheel = f"{title}-py3-none-any.whl"
    with zipfile.ZipFile(Path(wheel_directory) / wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return wheel


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
