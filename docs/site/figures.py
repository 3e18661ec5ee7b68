"""The page of figures: what the benchmarks recorded (`--record`), with date and machine."""

from __future__ import annotations

import json
from pathlib import Path

_HEAD = """\
# Figures

Each table is what a benchmark printed on the day and the machine that stand above it. Run the
command to get the table of your machine; `make bench` runs all of them. Times depend on what else
the machine did: the load says how many processes wanted a processor.
"""
_ORDER = ("grading", "flops", "meta", "engine", "recorder", "roofs", "cohort")


def figures_page(folder: Path) -> str:
    """Return the page of the records in `folder`; those that _ORDER does not name come last."""
    names = [path.stem for path in sorted(folder.glob("*.json"))]
    names.sort(key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
    texts = [(folder / f"{name}.json").read_text(encoding="utf-8") for name in names]
    return "\n".join([_HEAD, *(_section(json.loads(text)) for text in texts)])


def _section(record: dict) -> str:
    return f"""\
## {record["title"]}

{record["about"]}

**{record["date"]}** on {record["machine"]}; load {record["load"]}:

```text
$ {record["command"]}
{record["table"]}
```
"""
