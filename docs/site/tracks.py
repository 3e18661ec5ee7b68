"""The page of tracks: what each has students write, and what a lesson needs, from tracks.toml."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from statistics import mean

from taken import Lessons, read_lessons

from proflab_course.course.layout import Course
from proflab_course.course.notebook import Lesson
from proflab_course.course.sections import prose_words, sections
from proflab_course.tracks.apply import track_points
from proflab_course.tracks.read import Track, Tracks

ROOT = Path(__file__).resolve().parents[2]

PICTURE = "tracks.svg"
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y = 150, 34, 60, 24

_PAGE = """\
# Tracks

A track says what a class writes in the time that it has. What it leaves out becomes given code, so
that every lesson still runs to its end. Each track has in it all that the one above it has, but for
*{variants}*: these change the track that they are made from.

{tracks}

Writing is what the exercises take; with it, *in all* counts what there is to read and to run, and
essays. {minutes} The short tracks leave a
reserve to the planned time.

## Week by week

Concept questions, five to ten minutes a lesson, come on top.

{plans}

## What students write

{exercises}

## What a lesson needs

`built.py` gives each lesson the functions of the lessons before it, so that code never stops a
class that skips one. What a class cannot skip is ideas. An arrow leads from a lesson to one that
builds on its ideas.

![{alternative}]({picture})

{needs}
"""


def overview(course: Course) -> str:
    """Return the table of tracks alone."""
    return _overview(read_lessons(course.root))


def tracks_page(course: Course) -> tuple[str, str]:
    """Return the page's Markdown and its picture, an SVG."""
    read = read_lessons(course.root)
    lessons, tracks = read.whole, read.tracks
    arrows = {name: needed(times.needs, lessons) for name, times in tracks.times.items()}
    edges = "; ".join(f"{n[:2]} needs {', '.join(b[:2] for b in b_s)}" for n, b_s in arrows.items()
                      if b_s)  # fmt: skip
    page = _PAGE.format(
        variants="*, *".join(t.title for t in tracks.tracks.values() if t.like),
        tracks=_overview(read),
        minutes=_estimated(tracks),
        plans=_plans(read),
        exercises=_exercises(tracks, lessons),
        needs=_needs(tracks, lessons),
        alternative=f"Which lesson needs which: {edges}.",
        picture=PICTURE,
    )
    return page, graph(arrows)


def _estimated(tracks: Tracks) -> str:
    """Return a sentence on where the minutes come from."""
    measured = {name: times.measured for name, times in tracks.times.items() if times.measured}
    if not measured:
        return "The minutes are estimated."
    listed = ", ".join(f"{name[:2]} ({count} students)" for name, count in measured.items())
    others = ", the others are estimated" if len(measured) < len(tracks.times) else ""
    return f"The minutes of {listed} follow what students say{others}."


def _overview(read: Lessons) -> str:
    rows = ["| track | planned | lessons | exercises | writing | in all | words | points |"]
    rows += ["|---|--:|--:|--:|--:|--:|--:|--:|"]
    tracks = read.tracks
    for track in read.public:
        taken = [read.of(track, name) for name in track.lessons]
        minutes = sum(s.minutes or 0 for lesson in taken for s in sections(lesson))
        cells = (
            f"**{track.title}**, `{track.name}`: {track.text}",
            f"{track.hours:g} h",
            f"{len(track.lessons)}",
            f"{sum(map(len, track.exercises.values()))}",
            _hours(sum(tracks.writing(track, name) for name in track.lessons)),
            _hours(minutes),
            f"{sum(map(prose_words, taken)):,}",
            f"{track_points(track, tracks, read.whole.values()):,g}",
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def _plans(read: Lessons) -> str:
    """Return the plan of each track that has one: lessons, exercises and time, by week or day."""
    made = []
    for track in read.public:
        rows = ["| | lessons | exercises | essay | in all |", "|---|---|--:|---|--:|"]
        for when, names in track.plan.items():
            taken = [read.of(track, name) for name in names]
            cells = (
                when,
                ", ".join(map(_link, names)),
                f"{sum(len(track.exercises[name]) for name in names)}",
                ", ".join(name[:2] for name in names if name in track.essays) or "–",
                _hours(sum(s.minutes or 0 for lesson in taken for s in sections(lesson))),
            )
            rows.append(f"| {' | '.join(cells)} |")
        if track.plan:
            made.append("\n".join([f"### {track.title}", "", *rows]))
    return "\n\n".join(made)


def _exercises(tracks: Tracks, lessons: Mapping[str, Lesson]) -> str:
    """Return the table of lessons by tracks; a track shows what it adds to the one before it.

    One that is made from another shows what it adds to that one.
    """
    public = list(tracks.tracks.values())
    rows = [f"| lesson | {' | '.join(track.title for track in public)} |"]
    rows += ["|---" * (len(public) + 1) + "|"]
    for name in lessons:
        cells, before = [], ()
        for track in public:
            base = tracks.track(track.like).exercises.get(name, ()) if track.like else before
            cells.append(_added(track, name, base, tracks))
            before = before if track.like else track.exercises.get(name, ())
        rows.append(f"| {_link(name)} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _added(track: Track, lesson: str, before: tuple[str, ...], tracks: Tracks) -> str:
    written = track.exercises.get(lesson, ())
    if tracks.takes_all_of(track, lesson):
        return f"all {len(written)}"
    added = ", ".join(f"`{name}`" for name in written if name not in before)
    if not written:
        return "–"
    if not added:
        return "the same"
    return f"+ {added}" if before else added


def _needs(tracks: Tracks, lessons: Mapping[str, Lesson]) -> str:
    rows = ["| lesson | builds on the ideas of | writing, all exercises |", "|---|---|--:|"]
    for name, times in tracks.times.items():
        ideas = "; ".join(need.replace(" §", ", section ") for need in times.needs) or "–"
        rows.append(f"| {_link(name)} | {ideas} | {_hours(sum(times.minutes.values()))} |")
    return "\n".join(rows)


def needed(needs: tuple[str, ...], lessons: Mapping[str, Lesson]) -> list[str]:
    """Return the lessons that these needs name."""
    return [name for name in lessons for need in needs if name.startswith(f"{need[:2]}_")]


def _link(name: str) -> str:
    path = f"release/{name}/{name}.ipynb"
    return f"[{_title(name)}](../{path})" if (ROOT / path).exists() else _title(name)


def _title(name: str) -> str:
    return name.replace("_", " ")


def _hours(minutes: int) -> str:
    return f"{minutes // 60} h {minutes % 60:02}" if minutes >= 60 else f"{minutes} min"


# ── the graph ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Place:
    column: int
    row: float

    @property
    def left(self) -> tuple[float, float]:
        """The middle of the left side."""
        x = self.column * (_WIDTH + _GAP_X)
        return x, self.row * (_HEIGHT + _GAP_Y) + _HEIGHT / 2

    @property
    def right(self) -> tuple[float, float]:
        """The middle of the right side."""
        x, y = self.left
        return x + _WIDTH, y


def graph(arrows: Mapping[str, list[str]]) -> str:
    """Return an SVG of lessons in columns, with an arrow to each from those that it needs.

    arrows: lesson → the lessons that it needs, all of them earlier ones. What follows from other
    arrows is not drawn.
    """
    ways = list(_ways(_without_detours(arrows)))
    places = _places(arrows, ways)
    drawn = [_arrow([places[stop] for stop in way]) for way in ways]
    drawn += [_box(places[name], _title(name)) for name in arrows]
    columns = 1 + max(place.column for place in places.values())
    rows = 1 + max(place.row for place in places.values())
    width, height = columns * (_WIDTH + _GAP_X) - _GAP_X + 4, rows * (_HEIGHT + _GAP_Y) - _GAP_Y + 4
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-2 -2 {width:g} {height:g}"'
    marker = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#777"/></marker></defs>'
    )
    style = 'font-family="sans-serif" font-size="13"'
    return "\n".join([f'{head} width="{width:g}" {style}>', marker, *drawn, "</svg>"]) + "\n"


def _without_detours(arrows: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the arrows without those that lead where others lead in several steps."""
    all_of: dict[str, set[str]] = {}
    for name in sorted(arrows):
        all_of[name] = set(arrows[name]).union(*(all_of[before] for before in arrows[name]))
    return {
        name: [b for b in before if not any(b in all_of[other] for other in before)]
        for name, before in arrows.items()
    }


def _ways(arrows: Mapping[str, list[str]]) -> Iterator[list[str]]:
    """Yield each arrow as its stops: two lessons, and a free place in each column between them."""
    column = _columns(arrows)
    for name, before in arrows.items():
        for begin in before:
            between = range(column[begin] + 1, column[name])
            yield [begin, *(f"{begin} {name} {number}" for number in between), name]


def _columns(arrows: Mapping[str, list[str]]) -> dict[str, int]:
    """Return the column of each lesson: behind all that it needs."""
    column: dict[str, int] = {}
    for name in sorted(arrows):
        column[name] = 1 + max((column[before] for before in arrows[name]), default=-1)
    return column


def _places(arrows: Mapping[str, list[str]], ways: list[list[str]]) -> dict[str, _Place]:
    """Return a place for each stop, about as high as what leads there."""
    column, before = _columns(arrows), dict[str, list[str]]()
    for way in ways:
        for begin, end in pairwise(way):
            column.setdefault(end, column[begin] + 1)
            before.setdefault(end, []).append(begin)
    tallest = max(Counter(column.values()).values())
    places: dict[str, _Place] = {}
    for number in sorted(set(column.values())):
        names = [name for name in column if column[name] == number]
        names.sort(key=lambda n: (mean([places[b].row for b in before.get(n, ())] or [0]), n))
        top = (tallest - len(names)) / 2
        places |= {name: _Place(number, top + row) for row, name in enumerate(names)}
    return places


def _box(place: _Place, text: str) -> str:
    x, y = place.left
    box = f'<rect x="{x:g}" y="{y - _HEIGHT / 2:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"'
    label = f'<text x="{x + _WIDTH / 2:g}" y="{y + 4.5:g}" text-anchor="middle" fill="#222"'
    return f'{box} fill="#eef3fa" stroke="#4a6fa5"/>{label}>{escape(text)}</text>'


def _arrow(stops: list[_Place]) -> str:
    path = ""
    for begin, end in pairwise(stops):
        (x, y), (to_x, to_y) = begin.right, end.left
        path += f"L{x:g} {y:g}" if path else f"M{x:g} {y:g}"
        bend = _GAP_X * 0.8
        path += f"C{x + bend:g} {y:g} {to_x - bend:g} {to_y:g} {to_x:g} {to_y:g}"
    return f'<path d="{path}" fill="none" stroke="#777" marker-end="url(#tip)"/>'
