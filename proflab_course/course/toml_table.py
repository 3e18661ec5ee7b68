"""Read a course's TOML files: each key has a type, and each mistake is one sentence.

A dataclass declares what a table may hold: a field's annotation is its type, and a field without a
default must be there. Files that hold tables by names of their own, such as those of lessons, check
a value at a time with `typed`. What is wrong names the file and the key, and what to write.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import tomllib
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from proflab_course.course.layout import CourseError
from proflab_course.course.words import shortened

_MOST_SHOWN = 60
_WRITTEN = {
    str: "a text in quotes",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a table",
}

T = TypeVar("T")


def _anything(_: Any) -> bool:
    return True


@dataclass(frozen=True)
class Must:
    """Narrow a type in an `Annotated`: `be` says what a value must be, `holds` whether it is."""

    be: str
    holds: Callable[[Any], bool] = _anything


Texts = Annotated[list[str], Must('a list of texts in quotes, such as ["a", "b"]')]
Amount = Annotated[float, Must("a number, 0 or more", lambda value: value >= 0)]
Count = Annotated[int, Must("a whole number, 0 or more", lambda value: value >= 0)]


def read_toml(root: Path, file: str) -> dict[str, Any] | None:
    """Return what a TOML file of a course holds; None where there is no such file.

    Raises CourseError for a file that cannot be read or is no TOML; that names the line.
    """
    try:
        return parse_toml((root / file).read_bytes(), file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise CourseError(f"{file} cannot be read: {error.strerror}") from None


def parse_toml(data: bytes, file: str) -> dict[str, Any]:
    """Return what the bytes of a TOML file say; a byte-order mark is no part of it.

    file: its name, for messages. Raises CourseError, with the line, for what is no TOML.
    """
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise CourseError(f"{file} is not in UTF-8: save it as a text in UTF-8") from None
    # tomllib recurses into brackets, and so a file of nothing else exhausts the stack.
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise CourseError(f"{file} is not TOML ({error}): mend that line") from None


def read_table(kind: type[T], table: Any, where: str) -> T:
    """Return a table as the dataclass `kind`; where: its file and place, for messages.

    A field called `for_` is the key `for`, which Python has as a word of its own. Raises
    CourseError for a key that there is not, one that is missing, and a value of another type.
    """
    if not isinstance(table, dict):
        raise CourseError(f"{where} must be a table, not {_shown(table)}")
    hints = get_type_hints(kind, include_extras=True)
    fields = {field.name.rstrip("_"): field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    refuse_unknown(table, fields, where)
    for key, field in fields.items():
        if key not in table and _must_be_there(field):
            what = _written(hints[field.name])
            raise CourseError(f"{_inside(where, key)} is missing: give it {what}")
    given = {fields[key].name: value for key, value in table.items()}
    return kind(
        **{
            name: typed(hints[name], value, _inside(where, name.rstrip("_")))
            for name, value in given.items()
        }
    )


def typed(hint: Any, value: Any, where: str) -> Any:
    """Return a value if it is of a type, tables as the dataclasses that it names.

    hint: a type as in an annotation. where: file and key. Raises CourseError for any other value.
    """
    hint = _without_none(hint)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return read_table(hint, value, where)
    kind, inner = get_origin(hint), get_args(hint)
    if kind is dict and isinstance(value, dict):
        return {name: typed(inner[1], each, _inside(where, name)) for name, each in value.items()}
    if kind is list and isinstance(value, list):
        return [typed(inner[0], each, f"{where}, number {n}") for n, each in enumerate(value, 1)]
    if not _fits(hint, value):
        raise CourseError(f"{where} must be {_written(hint)}, not {_shown(value)}")
    return value


def refuse_unknown(table: dict[str, Any], keys: Iterable[str], where: str) -> None:
    """Raise CourseError for a key that a table may not have."""
    known = sorted(keys)
    for key in sorted(table.keys() - {*known}):
        near = difflib.get_close_matches(key.lower(), known, 1)
        hint = f"; perhaps {near[0]} is meant" if near else ""
        raise CourseError(f"{where} has an entry {key!r}; it may have {', '.join(known)}{hint}")


def _without_none(hint: Any) -> Any:
    """Return a type without None, which no TOML can hold."""
    if get_origin(hint) not in (Union, types.UnionType):
        return hint
    kept = [each for each in get_args(hint) if each is not type(None)]
    return kept[0] if len(kept) == 1 else hint


def _inside(where: str, key: str) -> str:
    """Return the place of a key: "FILE: key", and in a table of a file "FILE: table.key"."""
    in_table = ": " in where and not where.rpartition(", number ")[2].isdecimal()
    return f"{where}{'.' if in_table else ': '}{key}"


def _must_be_there(field: dataclasses.Field) -> bool:
    return field.default is field.default_factory is dataclasses.MISSING


def _fits(hint: Any, value: Any) -> bool:
    kind, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if kind is Annotated:
        return _fits(inner[0], value) and all(rule.holds(value) for rule in inner[1:])
    if kind in (Union, types.UnionType):
        return any(_fits(each, value) for each in inner)
    if kind is Literal:
        return any(type(value) is type(each) and value == each for each in inner)
    if kind is list:
        return isinstance(value, list) and all(_fits(inner[0], each) for each in value)
    if hint is float:
        return type(value) in (int, float) and math.isfinite(value)
    return type(value) is hint  # so that true is no number


def _written(hint: Any) -> str:
    """Return what a value of a type is, as a part of a sentence."""
    hint = _without_none(hint)
    kind, inner = get_origin(hint), get_args(hint)
    if kind is Annotated:
        return next(rule.be for rule in reversed(inner[1:]))  # the last one narrows the most
    if kind in (Union, types.UnionType):
        return " or ".join(_written(each) for each in inner)
    if kind is Literal:
        return f"one of {', '.join(_literal(each) for each in inner)}"
    if dataclasses.is_dataclass(hint):
        return "a table"
    return _WRITTEN[kind or hint]


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def _shown(value: Any) -> str:
    return shortened(repr(value), _MOST_SHOWN)
