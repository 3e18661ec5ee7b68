"""Find ids of students that look alike, by accident or on purpose: full width, Cyrillic, unseen."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable

# Small letters of Cyrillic and Greek that are drawn as Latin ones (Unicode's confusables.txt).
_DRAWN_ALIKE = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u04cf\u051b\u051d"
    "\u03bf\u03bd\u03b1\u03b9\u03ba\u03c1\u03c5\u03c7\u0131",
    "aeopcyxijsdhlqwovaikpuxi",
)
# The grapheme joiner and the variation selectors: unseen, although Unicode counts them as marks and
# not among the format characters that `_skeleton` leaves out.
_UNSEEN_MARKS = frozenset(("\u034f", *map(chr, range(0xFE00, 0xFE10))))


def notes_on_look_alikes(ids: Iterable[str], among: Collection[str] = ()) -> list[str]:
    """Return a sentence about each group of ids that look alike.

    among: only groups with one of these; empty for all groups.

    >>> notes_on_look_alikes(["alice", "bo", "\uff41lice"])
    ['alice and \\\\uff41lice look alike: see whether they are two students']
    """
    groups: dict[str, set[str]] = defaultdict(set)
    for each in ids:
        groups[_skeleton(each)].add(each)
    names = {skeleton: " and ".join(map(_escaped, sorted(g))) for skeleton, g in groups.items()}
    return [
        f"{names[skeleton]} look alike: see whether they are two students"
        for skeleton, group in sorted(groups.items())
        if len(group) > 1 and (not among or group & set(among))
    ]


def _skeleton(name: str) -> str:
    """Return what is seen of an id: without case, width, unseen signs and other scripts' forms."""
    plain = unicodedata.normalize("NFKD", name).casefold().translate(_DRAWN_ALIKE)
    seen = (c for c in plain if unicodedata.category(c) not in ("Cf", "Cc"))
    return "".join(c for c in seen if c not in _UNSEEN_MARKS)


def _escaped(name: str) -> str:
    """Return an id with its letters outside ASCII as numbers, so that it can be told."""
    return name.encode("ascii", "backslashreplace").decode()
