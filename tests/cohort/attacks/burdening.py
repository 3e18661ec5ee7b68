"""Attacks on the grader's own time and memory: what it has to read, decode, compare, show, write.

Some replace parts of `proflab.checks.values` in the student's process, whose limits count for
honest code only: the grader must not rely on them.
"""

from cohort.attacks.attack import attack

ZERO = "def square_sum(values):\n    return 0"
NAMED = "import ctypes\nctypes.CDLL(None).prctl(15, {name}, 0, 0, 0)\n"
FORGED = """
import proflab.checks.values
class Forger:
    @staticmethod
    def dumps(*arguments, **options):
        return {text}
proflab.checks.values.json = Forger
print("tried")
"""
UNLIMITED = """
import numpy as np
import proflab.checks.values
proflab.checks.values._spend = lambda *_: None
print("tried")
"""


def returns(value: str) -> str:
    """The exercise, with this for an answer."""
    return f"import numpy as np\ndef square_sum(values):\n    print('tried')\n    return {value}"


for number, name in enumerate(("b'\\xff\\xfe\\x80'", "b') R 1 1'", "b'\\nRssAnon: 99'")):
    attack(
        f"a process name that is no text, {number}",
        NAMED.format(name=name) + "import time\ntime.sleep(0.5)\nprint('tried')",
        ZERO,
    )
    attack(
        f"a child's name that is no text, {number}",
        "import os, time\nif os.fork() == 0:\n"
        f"    {NAMED.format(name=name).replace(chr(10), chr(10) + '    ')}\n    time.sleep(1000)\n"
        "time.sleep(0.5)\nprint('tried')",
        ZERO,
    )

COLLIDING = (
    r"'[\"\\u0064\",[' + ','.join(f'[[\"\\u0069\",\"{hex(k * (2**61 - 1))}\"],null]'"
    " for k in range(200_000)) + ']]'"
)
attack("colliding keys behind JSON's escapes", FORGED.format(text=COLLIDING), ZERO)
attack(
    "a huge integer behind JSON's escapes",
    FORGED.format(text=r"'[\"\\u0069\",\"0x' + 'f' * 10_000_000 + '\"]'"),
    ZERO,
)
attack(
    "colliding floats and tuples as keys",
    FORGED.format(
        text=r"""'["d",[' + ','.join(f'[["t",[["i","{hex(k * (2**61 - 1))}"]]],null]'"""
        " for k in range(100_000)) + ']]'"
    ),
    ZERO,
)
attack(
    "an empty array with 260 million places",
    UNLIMITED,
    returns("np.empty((2, 130_000_000, 0))"),
)
attack(
    "an array of two lists of eight million",
    UNLIMITED,
    returns("np.zeros((2, 8_000_000), np.int8)"),
)
# What took long to make and was refused has less time from then on: it may then run out of it.
SLOW = ("finished", "timed out")
attack("a list of arrays", UNLIMITED, returns("[np.zeros(1)] * 200_000"), statuses=SLOW)
attack("a list of fifty million", returns("[0] * (5 * 10**7)"), statuses=SLOW)
attack("a list of a million, forged", UNLIMITED, returns("[0] * 10**6"), statuses=SLOW)
attack("a long text for an answer", UNLIMITED, returns("'\\x00' * 10**7"))
attack("a key of a million letters", returns("{'k' * 10**6: 1}"))
attack(
    "a hundred thousand keys that were not asked for",
    UNLIMITED,
    returns("{f'key {n}': n for n in range(100_000)}"),
)
attack(
    "a hundred thousand MIME types",
    "publish = get_ipython().display_pub.publish\n"
    "publish({'x' * 99 + str(n): '' for n in range(100_000)})\nprint('tried')",
    ZERO,
)
attack(
    "a million empty lines of traceback",
    "class Long(Exception):\n    def _render_traceback_(self):\n        return [''] * 10**6\n"
    "print('tried')\nraise Long",
    ZERO,
)
attack(
    "control characters, each of six bytes in a file",
    "print('tried')\nprint('\\x00' * 1_800_000)",
    *["print('\\x00' * 1_900_000)"] * 5,
    ZERO,
)
attack(
    "answers as large as they may be, one after the other",
    UNLIMITED + "big = ['x' * 60 for _ in range(100_000)]",
    returns("big"),
)
