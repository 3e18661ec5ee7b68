"""What is drawn for fuzzing, and what must hold of it: the checks that `test_fuzz.py` and the soak
run, a few hundred and a million times.

Each check takes what was drawn and fails by raising. Everything a student can send is drawn from:
bytes, JSON of any shape, and JSON that is nearly right.
"""

from __future__ import annotations

import functools
import json
import random
import tempfile
from pathlib import Path

import hypothesis
import nbformat
from grading_course import LESSON, release, source
from hostile import MARKDOWN, TAGS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inert_pages import assert_inert
from nbformat import NotebookNode

from proflab_course.grading.answer_key import make_key
from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.pages.markup import Piece, to_html
from proflab_course.grading.pages.render import Inert
from proflab_course.grading.plan import Result, statements
from proflab_course.grading.records.write_notebook import file_bytes
from proflab_course.grading.run.replies import (
    BadReply,
    cut_outputs,
    output_size,
    parse_message,
    read_reply,
)
from proflab_course.grading.submissions.read_notebook import parse_handin
from proflab_course.grading.submissions.timestamp import STAMP, read_timestamp

CHUNK = 2_000  # examples between which hypothesis forgets what it has tried

# ── what is drawn ───────────────────────────────────────────────────────────────────────────

TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=30),
    st.sampled_from(["", "\ud800", "\x00", "1e999", "NaN", "-0", "۳", "\u202e", "a" * 3_000]),
    st.sampled_from([*TAGS, *MARKDOWN]),
)
NUMBERS = st.one_of(
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.sampled_from([10**400, -1, 2**31, 2**63]),
)
ANYTHING = st.recursive(
    st.one_of(TEXTS, NUMBERS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=8,
)
MIMES = st.sampled_from(
    ["text/plain", "text/html", "image/png", "application/json", "a/x+json", "image/svg+xml"]
)


def nearly(**fields: st.SearchStrategy) -> st.SearchStrategy:
    """Draw a dictionary with some of these fields, each perhaps something else altogether."""
    loose = {name: st.one_of(inner, inner, inner, ANYTHING) for name, inner in fields.items()}
    return st.fixed_dictionaries({}, optional=loose)


OUTPUTS = nearly(
    output_type=st.sampled_from(["stream", "error", "display_data", "execute_result"]),
    name=st.sampled_from(["stdout", "stderr"]),
    text=TEXTS,
    data=st.dictionaries(st.one_of(MIMES, TEXTS), ANYTHING, max_size=3),
    metadata=ANYTHING,
    execution_count=NUMBERS,
    ename=TEXTS,
    evalue=TEXTS,
    traceback=st.lists(TEXTS, max_size=3),
)
MESSAGES = nearly(
    outputs=st.lists(OUTPUTS, max_size=3),
    raised=st.lists(TEXTS, max_size=3),
    traceback=st.lists(TEXTS, max_size=3),
    message=TEXTS,
    refused=TEXTS,
)
# Values in the reply format, or nearly.
TAGGED = st.recursive(
    st.one_of(TEXTS, NUMBERS),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from("ltdicafn"), inner).map(list),
        st.tuples(st.sampled_from("ld"), st.lists(inner, max_size=3)).map(list),
        st.tuples(st.just("d"), st.lists(st.tuples(inner, inner).map(list), max_size=3)).map(list),
        st.tuples(
            st.just("a"), st.sampled_from(["<f4", "<i8", "|b1", "<c8", "<f3"]),
            st.lists(st.integers(-2, 10**9), max_size=4), TEXTS,
        ).map(list),
    ),
    max_leaves=6,
)  # fmt: skip


def as_json(value: object) -> bytes:
    """Return the value as JSON, as a student's process may write it: escapes and all."""
    return json.dumps(value).encode()


def damaged(strategy: st.SearchStrategy) -> st.SearchStrategy:
    """Draw JSON, as it is or with a part of it replaced."""
    return st.one_of(
        strategy.map(as_json),
        strategy.map(as_json),
        st.tuples(strategy.map(as_json), st.integers(0, 400), st.binary(max_size=6)).map(
            lambda drawn: drawn[0][: drawn[1]] + drawn[2] + drawn[0][drawn[1] + len(drawn[2]) :]
        ),
    )


GRADE_IDS = sorted({c.metadata.get("nbgrader", {}).get("grade_id", "") for c in release().cells})
SOURCES = st.one_of(
    TEXTS, st.lists(TEXTS, max_size=3), st.sampled_from([c.source for c in release().cells])
)
METADATA = nearly(
    nbgrader=nearly(
        grade_id=st.sampled_from(GRADE_IDS),
        grade=st.booleans(),
        solution=st.booleans(),
        locked=st.booleans(),
        points=NUMBERS,
        schema_version=NUMBERS,
    ),
    tags=st.lists(TEXTS, max_size=2),
)
PASTED = st.dictionaries(
    TEXTS, st.one_of(st.dictionaries(st.one_of(MIMES, TEXTS), TEXTS, max_size=2), ANYTHING),
    max_size=3,
)  # fmt: skip
CELLS = nearly(
    cell_type=st.sampled_from(["code", "markdown", "raw"]),
    source=SOURCES,
    metadata=METADATA,
    attachments=PASTED,
    outputs=st.lists(OUTPUTS, max_size=2),
    execution_count=NUMBERS,
    id=TEXTS,
)
NOTEBOOKS = nearly(
    cells=st.lists(CELLS, max_size=6),
    metadata=ANYTHING,
    nbformat=st.sampled_from([4, 4, 4, 3, 5]),
    nbformat_minor=NUMBERS,
    worksheets=st.lists(nearly(cells=st.lists(CELLS, max_size=2)), max_size=2),
)
STAMPS = st.one_of(
    st.binary(max_size=60),
    TEXTS.map(lambda text: text.encode("utf-8", "replace")),
    st.datetimes().map(lambda when: f"{when} UTC".encode()),
    st.tuples(st.datetimes(), TEXTS).map(lambda d: f"{d[0]} {d[1]}".encode("utf-8", "replace")),
    st.text("0123456789-:. TZ+UTCGMaprilsundy/,", max_size=40).map(str.encode),
)
FRAGMENTS = st.sampled_from(
    "* _ ** ` ``` ~~ # > - [x] | |- $ $$ \\[ \\begin{a} \\end{a} [ ]( ) ![ [![ < > </b> <b> "
    "<a href= <img src= onerror= javascript: data: &#106; &lt; <!-- --> <![CDATA[ <? \\href{ \x1b[ "
    "31m ; attachment: groups.png https:// // <script> </script> <svg <style> <table> <td> \t \n "
    "\n\n ' \" = / \x00 \ud800 \u2028".split(" ")
)
MARKUP = st.one_of(
    st.lists(st.one_of(FRAGMENTS, FRAGMENTS, TEXTS), max_size=14).map("".join), TEXTS
)


# ── what must hold ──────────────────────────────────────────────────────────────────────────


def check_reply(drawn: tuple[bytes, bytes, str]) -> None:
    """Read a reply: BadReply, or one whose every part can be kept, shown and counted."""
    body, blob, kind = drawn
    try:
        message = parse_message(body)
    except BadReply:
        return
    reply = read_reply(message, blob, kind)
    json.dumps(reply.outputs, ensure_ascii=False).encode()
    json.dumps([reply.raised, reply.message, reply.traceback], ensure_ascii=False).encode()
    for output in reply.outputs:
        assert output_size(output) >= 0
        nbformat.validate(nbformat.from_dict(output), ref="output", version=4, version_minor=4)
    cut_outputs(reply.outputs, 200)


class Replying:
    """A runner that executes nothing: it answers every statement by what was drawn."""

    def __init__(self, messages: list[tuple[dict, bytes]]) -> None:
        self.messages = messages or [({}, b"")]

    def run(self, submission: object, plan: tuple) -> Result:
        """Answer the plan."""
        count = 0
        replies = []
        for item in plan:
            answers = []
            for kind, _ in statements(item):
                message, blob = self.messages[count % len(self.messages)]
                answers.append(read_reply(message, blob, kind))
                count += 1
            replies.append(answers)
        return Result("finished", "", replies)


@functools.cache
def the_key():
    """Return the key of lesson 01."""
    return make_key(LESSON, source())


def check_notebook(drawn: tuple[bytes, list[tuple[dict, bytes]]]) -> None:
    """Take a file through reading, aligning, planning, judging and writing."""
    data, messages = drawn
    handin = parse_handin(data.decode("utf-8", "replace"), "n.ipynb")
    if handin.notebook is None:
        assert handin.outcome and handin.sentence
        handin.sentence.encode()
        return
    graded = grade_notebook(handin.notebook, the_key(), runner=Replying(messages))
    assert 0 <= graded.score <= the_key().max_score
    graded.sentence.encode()
    written = file_bytes(graded.notebook)
    read = nbformat.reads(written.decode(), as_version=4)
    nbformat.validate(read, relax_add_props=True)
    for case in graded.cases:
        f"{case.label} {case.reason} {case.diagnosis}".encode()


def check_metadata(drawn: tuple[dict, object, int]) -> None:
    """Grade the release with one cell's metadata replaced, and the notebook's own."""
    metadata, own, place = drawn
    notebook = json.loads(json.dumps(release()))
    notebook["cells"][place % len(notebook["cells"])]["metadata"] = metadata
    notebook["metadata"] = own
    check_notebook((as_json(notebook), []))


def check_attachments(drawn: tuple[dict, str]) -> None:
    """Lay out markdown that names pasted pictures, as handed in and as any notebook has them."""
    pasted, name = drawn
    cell = {"cell_type": "markdown", "source": f"![a](attachment:{name})", "attachments": pasted}
    notebook = parse_handin(json.dumps({"nbformat": 4, "cells": [cell]}), "n.ipynb").notebook
    file_bytes(notebook).decode()
    for each in (notebook.cells[0].get("attachments", {}), pasted):
        for target in (name, f"<{name}>"):
            assert_inert(to_html(Piece("markdown", f"![a](attachment:{target})", each)), math=True)


def check_stamp(data: bytes) -> None:
    """Read a time stamp: a usable time or none."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / STAMP).write_bytes(data)
        handed = read_timestamp(Path(folder))
    assert handed.at is None or handed.at.tzinfo is None and str(handed.at)


def check_markup(drawn: tuple[str, str]) -> None:
    """Lay out text of any kind: what comes is inert and can be written."""
    kind, text = drawn
    shown = to_html(Piece(kind, text))
    assert_inert(shown, math=kind in ("markdown", "html"))
    shown.encode()


class Plainly:
    """Stands in for the process that lays out, to fuzz what is around it."""

    def page(self, pieces) -> list[Inert]:
        """Return the pieces' text, which is enough for what is around them."""
        return [Inert(piece.text[:20].encode("utf-8", "replace").decode()) for piece in pieces]


def check_page(drawn: list) -> None:
    """Rebuild any notebook for a page, well-formed or not."""
    from proflab_course.grading.pages import notebook_pages as pages

    cells = [
        NotebookNode({"cell_type": "code", "metadata": {}, "source": ""} | cell)
        for cell in drawn
        if isinstance(cell, dict)
    ]
    for cell in cells:
        cell.metadata = nbformat.from_dict(cell.metadata if isinstance(cell.metadata, dict) else {})
    notebook = NotebookNode(cells=cells, metadata=NotebookNode(), nbformat=4, nbformat_minor=4)
    kept, pages.shared_renderer = pages.shared_renderer, Plainly
    try:
        shown, _ = pages.DisarmMarkup().preprocess(notebook, {})
    finally:
        pages.shared_renderer = kept
    for cell in shown.cells:
        for output in cell.get("outputs", []):
            nbformat.validate(output, ref="output", version=4, version_minor=4)


KINDS = st.sampled_from(["markdown", "html", "text", "code"])
BODIES = st.one_of(damaged(MESSAGES), damaged(ANYTHING), st.binary(max_size=80))
BLOBS = st.one_of(damaged(TAGGED), damaged(ANYTHING), st.binary(max_size=80))
REPLIES = st.tuples(BODIES, BLOBS, st.sampled_from(["cell", "setup", "value"]))
ANSWERS = st.lists(st.tuples(MESSAGES, damaged(TAGGED)), max_size=3)

# Name → (what is drawn, what must hold, of a million the share of cases).
CHECKS = {
    "replies": (REPLIES, check_reply, 400_000),
    "time stamps": (STAMPS, check_stamp, 200_000),
    "markup": (st.tuples(KINDS, MARKUP), check_markup, 150_000),
    "attachments": (st.tuples(PASTED, TEXTS), check_attachments, 100_000),
    "pages": (st.lists(CELLS, max_size=4), check_page, 80_000),
    "notebooks": (st.tuples(damaged(NOTEBOOKS), ANSWERS), check_notebook, 50_000),
    "metadata": (st.tuples(METADATA, ANYTHING, st.integers(0, 99)), check_metadata, 20_000),
}


def fuzz(name: str, cases: int, seed: int) -> None:
    """Draw so many cases for a check; the first that fails is shrunk and shown."""
    strategy, check, _ = CHECKS[name]
    options = settings(
        max_examples=cases,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )

    @hypothesis.seed(seed)
    @options
    @given(strategy)
    def run(drawn):
        check(drawn)

    random.seed(seed)
    run()
