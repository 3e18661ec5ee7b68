"""What is known of the machine that runs a model: two roofs, and where they come from.

What may not enter: formulas. What follows from the roofs is for the student to work out.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Hardware:
    """The roofs of one machine: peak_flops in FLOP/s, bandwidth of its main memory in bytes/s.

    name, source: what it is, and who says so. Raises ValueError for roofs that are not positive
    and finite.
    """

    peak_flops: float
    bandwidth: float
    name: str = "this machine"
    source: str = ""

    def __post_init__(self) -> None:
        for what, roof in (("peak_flops", self.peak_flops), ("bandwidth", self.bandwidth)):
            if not 0 < roof < math.inf:
                raise ValueError(f"{self.name}: {what} must be positive and finite, not {roof}")


def read_hardware(path: str | Path, name: str) -> Hardware:
    """The machine called `name` in a JSON document {name: {peak_flops, bandwidth, source}}.

    Raises ValueError with a sentence for a document that cannot be used, or lacks the name.
    """
    try:
        machines = json.loads(Path(path).read_text("utf-8"))
        entry = machines[name]
        return Hardware(entry["peak_flops"], entry["bandwidth"], name, entry["source"])
    except (OSError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} cannot be read as JSON: {error}") from None
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} does not describe {name!r}: {error} is missing") from None
