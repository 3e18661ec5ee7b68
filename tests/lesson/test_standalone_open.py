"""What pages tell students: a command that shows all lessons, one name for each file."""

from __future__ import annotations

import json
import re
import shlex
import urllib.request

import pytest
from cohort.run import ROOT
from serving import jupyter_lab


@pytest.mark.whole
def test_the_documented_command_shows_every_lesson():
    page = (ROOT / "docs/students.md").read_text(encoding="utf-8")
    [command] = re.findall(r"^ *jupyter lab (.*)$", page, re.M)
    with jupyter_lab(ROOT, *shlex.split(command)) as address:
        answer = urllib.request.urlopen(f"{address}/api/contents").read()
    listed = {entry["name"] for entry in json.loads(answer)["content"]}
    assert {"01_parameters", "02_flops"} <= listed
    assert f"`jupyter lab {command}`" in page  # in the table of systems, too


def test_each_form_of_the_profiler_has_one_name_in_all_pages():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "modules").glob("*/*.py")]
    told = [
        (name, bool(alone))
        for page in pages
        for name, alone in re.findall(
            r"proflab assemble release -o (\S+\.py)( --standalone)?", page.read_text("utf-8")
        )
    ]
    assert len(told) >= 5
    assert set(told) == {("my_profiler.py", False), ("my_profiler_alone.py", True)}
