"""The link between a double and its script: its own script, or one that the grader holds.

`Clock(tick_ns=100)` has a script of its own. In a hidden test the grader keeps the script, and the
student's process has `Clock.held("clock")`, which asks it once for each reading: what the script
will say next is nowhere in that process.
"""

from __future__ import annotations

from typing import Any


class Double:
    """An object that a lesson calls. A subclass names its `Script` and uses it as `self._script`.

    Arguments are the script's; a double given as an argument stands for its script.
    """

    Script: type[Any]  # of scripts.py: what may be asked of it and looked up, it lists itself

    def __init__(self, *args: Any, **options: Any) -> None:
        options = {name: _script_of(value) for name, value in options.items()}
        self._script = self.Script(*map(_script_of, args), **options)

    @classmethod
    def held(cls, name: str) -> Double:
        """Return the double whose script the grader holds under this name."""
        double = cls.__new__(cls)
        double._script = _Held(name)
        return double


def _script_of(value: Any) -> Any:
    return value._script if isinstance(value, Double) else value


class _Held:
    """Passes each call on to the grader, and waits for what it says."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, method: str) -> Any:
        from proflab_grader import call  # grading/inside/worker.py makes it; elsewhere it is not

        return lambda *arguments: call(f"{self._name}.{method}", *arguments)
