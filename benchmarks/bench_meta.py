"""Large models on meta tensors: seconds to build and count them, and the process's memory.

    python benchmarks/bench_meta.py

Each row is a fresh process, so that no model profits from the one before; the first row is what the
imports alone take. "built for real" is what the float32 parameters would fill.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys

from record import recording

ROWS = {
    "imports alone": "None",
    "GPT-2 small": "models.gpt2('small')",
    "GPT-2 XL": "models.gpt2('xl')",
    "GPT-3's sizes": "models.GPT2(50257, 2048, 12288, 96, 96)",
}
PROMISES = {"GPT-2 XL": "< 1 s, < 200 MB"}
MEASURE = """
import json, time
import psutil
import proflab
from proflab import models
start = time.perf_counter()
with proflab.meta():
    model = {model}
once = {{id(p): p for p in model.parameters()}} if model else {{}}
count = sum(p.numel() for p in once.values())
seconds = time.perf_counter() - start
print(json.dumps([seconds, psutil.Process().memory_info().rss, count]))
"""


def main() -> None:
    """Print the table."""
    print(f"{platform.system()} {platform.machine()}, Python {platform.python_version()}")
    print(
        f"{'':<16}{'parameters':>17}{'built for real':>16}{'seconds':>9}{'resident':>11}   promised"
    )
    for name, model in ROWS.items():
        code = MEASURE.format(model=model)
        answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        seconds, resident, count = json.loads(answer.stdout)
        real, here = (f"{size / 1024**2:,.0f} MB" for size in (4 * count, resident))
        print(
            f"{name:<16}{count:>17,}{real:>16}{seconds:>9.3f}{here:>11}   "
            f"{PROMISES.get(name, '')}".rstrip(),
            flush=True,
        )


if __name__ == "__main__":
    with recording(__file__, "Counting: models without data"):
        main()
