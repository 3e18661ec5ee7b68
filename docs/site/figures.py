"""The page of figures: what the benchmarks recorded (`--record`), with date and machine."""

from __future__ import annotations

import json
from pathlib import Path

_HEAD = """\
# Figures

Each table is what a benchmark printed on the day and the machine that stand above it. Run the
command to get the table of your machine; `make bench` runs all of them.
"""


def figures_page(folder: Path) -> str:
    """Return the page of the records in `folder`."""
    records = [json.loads(p.read_text(encoding="utf-8")) for p in sorted(folder.glob("*.json"))]
    return "\n".join([_HEAD, *map(_section, records)])


def _section(record: dict) -> str:
    return f"""\
## {record["title"]}

{record["about"]}

| | |
|---|---|
| date | {record["date"]} |
| machine | {record["machine"]} |
| load | {record["load"]} |
| command | `{record["command"]}` |

```text
{record["table"]}
```
"""
