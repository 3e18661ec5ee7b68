"""Hold each short track that the course ships against its own text: a track is an edition.

Whatever rests on exercises says so in the lesson's text (`course/passages.py`). Here the cover and
the summary are read for lines that do not say it, and each short track for the names of what it
leaves out. Only the lessons that tracks.toml holds to limits are read, as in `limits`.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from proflab.lesson.names import bound_names, used_names
from proflab.lesson.statements import parsed
from proflab_course.build.claims import milestone_in, take_milestone
from proflab_course.course import passages
from proflab_course.course.address import Address
from proflab_course.course.layout import Course
from proflab_course.course.notebook import Cell, Lesson, read_module
from proflab_course.course.prose import paragraphs, split_sentences
from proflab_course.course.sections import Section, reached, sections, split_at_headings
from proflab_course.course.words import shortened
from proflab_course.tracks.apply import GIVEN_HERE, SUMMARY, apply_track, read_tracks
from proflab_course.tracks.mentions import missing_in
from proflab_course.tracks.read import PUBLIC, Track, Tracks
from proflab_course.tracks.taken import Taken, Tree

NEXT = "**Next.**"
# What a cover promises: that its reader will do something, in words or by a picture of it.
_DOES = "write|draw|build|compute|measure|count|find|put|use|judge|simulate|predict|audit"
_PROMISE = re.compile(
    rf"(?<!before )\b[Yy]ou(?:r own)? (?:also |can )?(?:{_DOES})\b|[Tt]his lesson\b|^!\["
)
_ITEM = re.compile(r"[-*] |\|(?! *-)")  # of a list, or a row of a table but for its rule
_CODE = re.compile(r"`(\w+)(?:\([^`]*\))?`")  # a demo's name
_NUMBER = re.compile(r"[Ll]essons? (\d\d)")
_ELSEWHERE = re.compile(r"lesson (\d\d) (\w+)")  # an exercise of another lesson, in a comment
_OPTIONAL = "**Optional"
_LEAST_WORDS = 3  # of a section's title that is looked for: shorter ones are ordinary words


def edition_mistakes(course: Course, wanted: Container[str]) -> Iterator[str]:
    """Yield a sentence for each promise that a short track of the course's does not keep.

    wanted: the names of the lessons that are looked at. The modules are read anew, for a build has
    changed those that it read.
    """
    places = {name: f"modules/{name}/{name}.py" for name in course.lessons()}
    whole = [read_module(course.module(name), name, place) for name, place in places.items()]
    tracks = read_tracks(course.root, whole)
    if tracks is None:
        return
    listed = [each for each in whole if each.name in wanted and tracks.times[each.name].limited]
    written = {(o.name[:2], cell.name) for o in whole for cell in o.named("exercise")}
    for lesson in listed:
        yield from _unmarked(lesson)
        yield from _unknown_elsewhere(lesson, written)
    milestones = {lesson.name: take_milestone(lesson) for lesson in whole}
    for track in tracks.tracks.values():
        if track.whole or track.file != PUBLIC:
            continue
        taken = {
            lesson.name: apply_track(lesson, tracks, track)
            for lesson in whole
            if tracks.has(track, lesson.name)
        }
        tree = Tree.of(taken.values(), whole, Address.read(course.root))
        for lesson in (each for each in listed if each.name in taken):
            reads = _Reads(tree, tracks, track, lesson)
            yield from reads.mistakes()
            shown = milestone_in(taken[lesson.name].lesson, milestones[lesson.name])
            if not (uses_own(shown.expression, taken[lesson.name].lesson) or reads.ends_with_own()):
                yield reads.at(
                    taken[lesson.name].lesson.place,
                    "it ends without anything of the student's own; let the track show a section "
                    "whose demo cell uses what is written",
                )


def mark_mistakes(lesson: Lesson) -> Iterator[str]:
    """Yield a sentence for each line of a whole lesson that rests on what the lesson has not."""
    known = {cell.name for cell in lesson.named("exercise", "demo")}
    known |= {f"section {section.name}" for section in sections(split_at_headings(lesson))}
    for cell in lesson.cells:
        marked = cell.node.metadata.get(passages.KEY, "")
        if marked and cell.role != "text":
            yield f"{cell.where}: only text says what its lines rest on; take the comments out"
        for name in passages.names(marked):
            if name not in known and not re.fullmatch(r"essay|lesson \d\d( \w+)?", name):
                what = f"a line of it rests on {name!r}, which the lesson does not have"
                yield f"{cell.where}: {what}; name an exercise, a demo cell, a section or a lesson"


def _unknown_elsewhere(lesson: Lesson, written: Container[tuple[str, str]]) -> Iterator[str]:
    """Yield a sentence for each line that rests on what another lesson does not have.

    written: the number of a lesson and the name of an exercise, of all exercises.
    """
    for cell in lesson.cells:
        for name in passages.names(cell.node.metadata.get(passages.KEY, "")):
            match = _ELSEWHERE.fullmatch(name)
            if match and match.groups() not in written:
                what = f"a line of it rests on {name!r}; lesson {match[1]} has no such exercise"
                yield f"{cell.where}: {what}"


# ── lines that do not say what they rest on ──────────────────────────────────────────────────


def _unmarked(lesson: Lesson) -> Iterator[str]:
    """Yield a sentence for each promise of the cover and line of the summary without a comment."""
    ask = "end the line with <!-- with NAME -->, the exercise or section that it rests on"
    cover = lesson.cells[0]
    for line in passages.unmarked(_as_written(cover)):
        if _PROMISE.search(line) and not line.endswith("?") and not _ITEM.match(line):
            yield f"{cover.where}: {_brief(line)} promises something; {ask}"
    for section in sections(split_at_headings(lesson)):
        if section.name == SUMMARY:
            yield from _unmarked_items(section, ask)


def _unmarked_items(section: Section, ask: str) -> Iterator[str]:
    for cell in section.cells:
        heads = True
        for line in passages.unmarked(_as_written(cell)):
            is_row = line.startswith("|")
            if _ITEM.match(line) and not (is_row and heads):
                yield f"{cell.where}: {_brief(line)} is a line of the summary; {ask}"
            heads = not is_row or (heads and not line.startswith("|--"))


def _as_written(cell: Cell) -> str:
    marked: str = cell.node.metadata.get(passages.KEY, "")
    return marked or split_sentences(cell.source)


def _brief(line: str) -> str:
    return repr(shortened(line, 50))


# ── what one lesson of a track says ──────────────────────────────────────────────────────────


class _Reads:
    """Read one lesson as a track has it, as a student would who sees nothing else."""

    def __init__(self, tree: Tree, tracks: Tracks, track: Track, whole: Lesson) -> None:
        self.tree, self.tracks, self.track, self.whole = tree, tracks, track, whole
        self.taken: Taken = tree.taken[whole.name]

    def at(self, where: str, what: str) -> str:
        """Return a sentence on this track's lesson."""
        return f"{where}: in the track {self.track.name}, {what}"

    def mistakes(self) -> Iterator[str]:
        """Yield a sentence for each name of what the track leaves out, and each wrong Next."""
        there = {cell.name for cell in self.taken.lesson.cells}
        lost = {cell.name for cell in self.whole.named("demo")} - there
        titles = [s.heading.partition(" · ")[2] for s in self._gone_sections()]
        titles = [title for title in titles if len(title.split()) >= _LEAST_WORDS]
        quoted = re.compile(rf"[“\"*]({'|'.join(map(re.escape, titles))})[”\"*]")
        for cell in self.taken.lesson.named("text", "manual"):
            if cell.source.startswith(GIVEN_HERE):
                continue
            found = [*missing_in(cell.source, self.tree, self.taken)]
            found += [name for name in _CODE.findall(cell.source) if name in lost]
            found += quoted.findall(cell.source) if titles else []
            for name in dict.fromkeys(found):
                what = f"it names {name!r}, which is not there; end the line with <!-- with … -->"
                yield self.at(cell.where, what)
            yield from self._next(cell)
        yield from self._nothing_next()
        yield from self._optional()

    def _gone_sections(self) -> Iterator[Section]:
        for section in sections(split_at_headings(self.whole)):
            if section.name in self.taken.gone:
                yield section

    def _next(self, cell: Cell) -> Iterator[str]:
        """Yield a sentence where Next does not name the lesson that the track has next."""
        _, mark, text = cell.source.partition(NEXT)
        if not mark:
            return
        names = [name for name in self.track.lessons if name > self.whole.name]
        named = _NUMBER.findall(text)
        if names and names[0][:2] not in named:
            yield self.at(cell.where, f"Next does not name lesson {names[0][:2]}, which is next")

    def _nothing_next(self) -> Iterator[str]:
        """Yield a sentence if a lesson with a summary says nothing of the lesson that follows."""
        names = [name for name in self.track.lessons if name > self.whole.name]
        texts = [cell.source for cell in self.taken.lesson.named("text")]
        has_summary = any(text.startswith(f"## {SUMMARY}") for text in texts)
        if names and has_summary and not any(NEXT in text for text in texts):
            what = f"it has no {NEXT} for lesson {names[0][:2]}, which is next"
            yield self.at(self.taken.lesson.place, what)

    def _optional(self) -> Iterator[str]:
        """Yield a sentence for each optional passage whose exercise is not there."""
        for section in sections(split_at_headings(self.taken.lesson)):
            for number, cell in enumerate(section.cells):
                below = section.cells[number + 1 :]
                asks = any(p.startswith(_OPTIONAL) for p in paragraphs(cell.source))
                if cell.role == "text" and asks and not any(c.role == "exercise" for c in below):
                    what = "it has an optional passage without its exercise; end its lines with"
                    yield self.at(cell.where, f"{what} <!-- with NAME -->")

    def ends_with_own(self) -> bool:
        """Return True if a demo cell below the last exercise uses what the student has written."""
        cells = self.taken.lesson.cells
        last = max(number for number, cell in enumerate(cells) if cell.role == "exercise")
        demos = (cell for cell in cells[last:] if cell.role == "demo")
        return any(uses_own(cell.source, self.taken.lesson) for cell in demos)


def uses_own(code: str, lesson: Lesson) -> bool:
    """Return True if code uses an exercise of the lesson, by itself or by what the lesson gives."""
    written = {cell.name for cell in lesson.named("exercise")}
    nodes = [node for cell in lesson.named("given") for node in cell.statements()]
    given = {name: used_names([node]) for node in nodes for name in bound_names([node])}
    return bool(reached(used_names(parsed(code)), given) & written)
