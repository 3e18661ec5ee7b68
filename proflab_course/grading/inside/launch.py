"""Drop root's rights, make all bound folders readable, and become bubblewrap.

This file is executed as a program; its orders are JSON in the first argument. Other users cannot
read a Python in root's home. Root therefore first gathers all bound folders on a file system that
only this process sees, and then becomes an unprivileged user for good.

If the grader dies, the zygote finds its socket closed and ends, and bubblewrap with it. The option
--die-with-parent may leave one half of bubblewrap waiting for the other forever
(github.com/containers/bubblewrap/issues/633).
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

# Folders that hold nothing which is bound, as a rule; one is covered, for this process alone.
_STAGES = ("/mnt", "/media", "/srv", "/opt")


def main() -> None:
    """Follow the orders and become bubblewrap."""
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import confine

    orders = json.loads(sys.argv[1])
    user, binds = orders["user"], [tuple(pair) for pair in orders["binds"]]
    os.sched_setaffinity(0, orders["cores"])
    # Joining a cgroup takes root's rights, which are given up below.
    for group in orders["groups"]:
        Path(group).write_text(str(os.getpid()))
    if user is not None:
        if not all(_readable_by_others(source) for source, _ in binds):
            binds = _stage_binds(confine, binds)
        # In this order: without root's rights the groups could not be given up.
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    if os.getppid() != orders["parent"]:
        return  # the grader died in the meantime
    arguments = [orders["bubblewrap"], *orders["before"]]
    for source, target in binds:
        arguments += ["--ro-bind", source, target]
    os.execv(orders["bubblewrap"], [*arguments, *orders["after"]])


def _readable_by_others(path: str) -> bool:
    """Return True if any user can reach and read `path`."""
    real = Path(path).resolve()
    reachable = all(folder.stat().st_mode & 0o001 for folder in real.parents)
    return reachable and real.stat().st_mode & 0o005 != 0


def _stage_binds(confine, binds: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Bind every source to a place that any user can read, in a new mount namespace."""
    confine.unshare(confine.CLONE_NEWNS)
    confine.mount("none", "/", flags=confine.MS_REC | confine.MS_PRIVATE)
    sources = [Path(source).resolve() for source, _ in binds]
    place = next(
        p
        for p in map(Path, _STAGES)
        if p.is_dir() and not any(s.is_relative_to(p) for s in sources)
    )
    confine.mount("stage", str(place), "tmpfs", data="mode=755")
    staged = []
    for number, (source, (_, target)) in enumerate(zip(sources, binds, strict=True)):
        stand_in = place / str(number)
        if source.is_dir():
            stand_in.mkdir()
        else:
            stand_in.touch()
        confine.mount(str(source), str(stand_in), flags=confine.MS_BIND)
        staged.append((str(stand_in), target))
    return staged


if __name__ == "__main__":
    main()
