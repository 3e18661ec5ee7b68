"""Write each student's own code as one Python file, for compare50, copydetect, JPlag and the like.

Given cells and unchanged stubs are left out; the student's other code follows in the order of the
notebook. After it come the student's own modules beside the notebook, if grading lets the notebook
import them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from proflab.lesson.outline import squeezed
from proflab_course.course.files import replace_file
from proflab_course.course.layout import Course
from proflab_course.grading.answer_key import Key, read_key
from proflab_course.grading.grader_errors import cause_of
from proflab_course.grading.match_cells import Aligned
from proflab_course.grading.reader import Reader
from proflab_course.grading.run.student_files import beside_support, read_folder


@dataclass
class Code:
    """The students whose code was written, the modules of each, and why others have none."""

    written: list[str] = field(default_factory=list)
    modules: dict[str, list[str]] = field(default_factory=dict)
    without: dict[str, str] = field(default_factory=dict)


def write_code(course: Course, lesson: str, target: Path) -> Code:
    """Write target/STUDENT.py for each hand-in of a lesson; return who has one and who has not."""
    source = course.source(lesson)
    key = read_key(source)
    with closing(Reader(key, course.root / "source")) as reader:
        return _write_each(course.root / "submitted", key, source.parent, reader, target)


def _write_each(submitted: Path, key: Key, support: Path, reader: Reader, target: Path) -> Code:
    result = Code()
    target.mkdir(parents=True, exist_ok=True)
    for folder in sorted(submitted.glob("*/")):
        student = folder.name
        try:
            handin, aligned = reader.handin(folder / key.name)
            cells = [] if aligned is None else list(_own(aligned, key, reader))
            place = handin.folder or folder / key.name
            modules = {} if aligned is None else _modules(handin.files, place, support, reader)
        except Exception as error:  # no notebook may stop the others
            result.without[student] = f"it cannot be read ({cause_of(error)})"
            continue
        if aligned is None:
            result.without[student] = handin.sentence or handin.outcome
        elif not any(text.strip() for text in (*cells, *modules.values())):
            result.without[student] = "nothing is written in it"
        else:
            parts = [*cells, *(f"# {path}\n{text}" for path, text in modules.items())]
            text = "\n\n\n".join(parts)
            replace_file(target / f"{student}.py", f"{text}\n".encode("utf-8", "replace"))
            result.written.append(student)
            if modules:
                result.modules[student] = list(modules)
    return result


def _modules(
    own: dict[str, bytes] | None, place: Path, support: Path, reader: Reader
) -> dict[str, str]:
    """Return the student's own modules beside the notebook, by path."""
    if own is None:
        own = read_folder(place) if place.is_dir() else {}
    given = read_folder(support)
    return {
        path: _python(data.decode("utf-8", "replace"), reader)
        for path, data in sorted(beside_support(support, own).items())
        if path.endswith(".py") and path not in given
    }


def _own(aligned: Aligned, key: Key, reader: Reader) -> Iterator[str]:
    """Yield the student's code, cell by cell; a cell that is not Python as a comment."""
    given = {squeezed(cell.released.source) for cell in key.cells}
    for slot in aligned.slots:
        is_own = slot.key is None or slot.key.is_exercise or slot.key.kind == "free"
        text = squeezed(slot.cell.source)
        if slot.cell.cell_type == "code" and is_own and text and text not in given:
            yield _python(slot.cell.source, reader)


def _python(source: str, reader: Reader) -> str:
    """Return the code; IPython's commands, and code that cannot be parsed, become comments."""
    lines = [f"# {x}" if x.lstrip().startswith(("%", "!")) else x for x in source.splitlines()]
    text = "\n".join(lines)
    return text if reader.is_python(text) else "\n".join(f"# {line}" for line in lines)
