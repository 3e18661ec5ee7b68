"""Kinds of wrong solutions that every exercise can have: each is the right one, changed in one way.

A lesson's file says which kinds concern which exercises: those that return floats, those that take
lists, those with several arguments. `HELPERS` holds what the entries use.
"""

from __future__ import annotations

from collections.abc import Iterable

HELPERS = '''
import copy as _copy


def each_number(value, change):
    """Return the value with each of its floats changed."""
    if isinstance(value, dict):
        return {key: each_number(item, change) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(each_number(item, change) for item in value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return np.vectorize(change)(value)
    return change(float(value)) if isinstance(value, float) else value


def spoil(argument):
    """Change an argument as careless code does."""
    if isinstance(argument, list):
        argument.append(argument.pop(0)) if len(set(map(repr, argument))) > 1 else argument.clear()
    elif isinstance(argument, dict):
        argument.popitem()
    elif isinstance(argument, np.ndarray):
        argument[...] = 0
'''

_ROUNDED = {
    "rounded to whole numbers": "float(round(x))",
    "rounded to two decimals": "round(x, 2)",
    "rounded to four decimals": "round(x, 4)",
    "cut to whole numbers": "int(x)",
}


def rounded(exercise: str) -> dict[str, str]:
    """Return mutants whose floats are rounded."""
    found = {}
    for sentence, change in _ROUNDED.items():
        found[sentence] = _wrapped(
            exercise, f"return each_number(right(*args, **more), lambda x: {change})"
        )
    return found


_KEEPS = "import copy as _copy\nkept = {}"


def remembers(exercise: str) -> dict[str, str]:
    """Return a mutant that keeps its results by the first argument alone."""
    body = """
    key = repr(args[0]) if args else repr(more)
    if key not in kept:
        kept[key] = right(*args, **more)
    return _copy.deepcopy(kept[key])
    """
    return {"results are kept by the first argument alone": _wrapped(exercise, body, _KEEPS)}


def spoils(exercise: str, names: Iterable[str]) -> dict[str, str]:
    """Return a mutant for each of these arguments, which changes it."""
    found = {}
    for name in names:
        body = f"""
        bound = signature.bind(*args, **more)
        result = _copy.deepcopy(right(*args, **more))
        spoil(bound.arguments["{name}"])
        return result
        """
        before = "import inspect\nsignature = inspect.signature(right)"
        found[f"the argument {name} is changed"] = _wrapped(exercise, body, before)
    return found


def stops(exercise: str, name: str, most: int = 12) -> dict[str, str]:
    """Return a mutant that refuses more of something than its author tried."""
    body = f"""
    bound = signature.bind(*args, **more)
    if len(bound.arguments["{name}"]) > {most}:
        raise ValueError("too many")
    return right(*args, **more)
    """
    before = "import inspect\nsignature = inspect.signature(right)"
    return {f"more than {most} are refused": _wrapped(exercise, body, before)}


def nameless(exercise: str) -> dict[str, str]:
    """Return a mutant whose arguments have other names."""
    return {
        "the arguments have other names, and a call by these raises": _wrapped(
            exercise, "return right(*args)", args=""
        )
    }


def _wrapped(exercise: str, body: str, before: str = "", args: str = ", **more") -> str:
    lines = [line for line in body.splitlines() if line.strip()]
    indent = min(len(line) - len(line.lstrip()) for line in lines)
    inside = "\n".join("    " + line[indent:] for line in lines)
    start = f"right = {exercise}\n{before}\n" if before else f"right = {exercise}\n"
    return f"{start}\n\ndef {exercise}(*args{args}):\n{inside}\n"


def kinds(
    floats: Iterable[str] = (),
    kept: Iterable[str] = (),
    containers: dict[str, Iterable[str]] | None = None,
    named: Iterable[str] = (),
    long: dict[str, str] | None = None,
) -> dict[str, dict[str, str]]:
    """Return mutants of each kind: exercise → sentence → code.

    floats: exercises that return floats. kept: those with several arguments. containers: exercise →
    its arguments that are lists, dicts or arrays. named: those whose arguments have names that
    count. long: exercise → the argument that may be long.
    """
    found: dict[str, dict[str, str]] = {}
    for make, names in ((rounded, floats), (remembers, kept), (nameless, named)):
        for name in names:
            found.setdefault(name, {}).update(make(name))
    for name, arguments in (containers or {}).items():
        found.setdefault(name, {}).update(spoils(name, arguments))
    for name, argument in (long or {}).items():
        found.setdefault(name, {}).update(stops(name, argument))
    return found


def merged(*cohorts: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return the entries of several cohorts; raise ValueError where two have one sentence."""
    found: dict[str, dict[str, str]] = {}
    for cohort in cohorts:
        for exercise, entries in cohort.items():
            own = found.setdefault(exercise, {})
            if twice := own.keys() & entries.keys():
                raise ValueError(f"{exercise}: two entries of the sentence {min(twice)!r}")
            own.update(entries)
    return found
