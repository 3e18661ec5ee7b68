"""Lessons and glossary agree: where a word is first used, and that it is explained there."""

from __future__ import annotations

import re
from functools import cache

import pytest
from cohort.run import ROOT

from proflab_course.build.facts import Facts
from proflab_course.build.stamp import put_links
from proflab_course.course.layout import Course
from proflab_course.course.notebook import read_module

COURSE = Course(ROOT)
ENTRY = re.compile(r"^([^\n:|#].*)\n: .*?First in lesson (\d\d)\.", re.MULTILINE)

# Entries whose word is ordinary English, too: a search cannot tell which is meant.
ORDINARY = set(
    "Accumulation|Attention|Cold|Double|Event|Gap|Gate|Host|Instrument|Interaction|Mix|Page|Peak|"
    "Rank|Sample|Segment|Stream|Tail|Tile|Kernel|Parameter|Fused|Token|Block, of a softmax|"
    "Sample, as a profiler|Overhead, of a profiler|Bandwidth|Correlation|Latency|Decode|Draft|"
    "Expert".split("|")
)


def entries() -> dict[str, str]:
    """Return each word of the glossary that a search can find, with its lesson's number."""
    found = ENTRY.findall((ROOT / "docs/glossary.md").read_text("utf-8"))
    return {head: lesson for head, lesson in found if head not in ORDINARY}


@cache
def prose(name: str) -> str:
    """Return a lesson's text, without its code and its mark scheme."""
    cells = [c for c in read_module(COURSE.module(name), name).cells if c.role == "text"]
    return re.sub(r"```.*?```", "", "\n".join(cell.source for cell in cells), flags=re.DOTALL)


def forms(head: str) -> re.Pattern:
    """Return a pattern of an entry's word, in the singular and the plural, in any case."""
    word = head.partition(",")[0].partition(" (")[0]
    return re.compile(rf"(?<![\w-]){re.escape(word)}(?:s|es)?(?![\w-])", re.IGNORECASE)


def explained(head: str, text: str) -> bool:
    """Return True if the word stands once in italics, in a link, as code or in a heading."""
    word = forms(head).pattern
    marked = rf"[*`\[][^*`\[\]\n]{{0,40}}{word}[^*`\[\]\n]{{0,40}}[*`\]]|^#+ [^\n]*{word}"
    return bool(re.search(marked, text, re.IGNORECASE | re.MULTILINE))


def test_a_word_is_not_used_before_the_lesson_that_explains_it():
    found = {
        f"{name[:2]} {head}"
        for head, lesson in entries().items()
        for name in COURSE.lessons()
        if name[:2] < lesson and forms(head).search(prose(name))
    }
    assert not found, "explain these where they are first used, and name that lesson"


def test_a_word_is_explained_in_its_lesson():
    names = {name[:2]: name for name in COURSE.lessons()}
    found = {
        head
        for head, lesson in entries().items()
        if lesson in names and not explained(head, prose(names[lesson]))
    }
    assert not found, "explain these where they are first used, in italics"


@pytest.mark.parametrize("name", COURSE.lessons())
def test_each_lesson_s_opening_links_the_glossary(name):
    facts = Facts(COURSE, [read_module(COURSE.module(name), name)])
    opening, address = put_links(facts.lesson(name), facts).cells[0].source, facts.address
    assert f"[glossary]({address.glossary})" in opening
    assert (ROOT / "docs/glossary.md").is_file() and address.glossary.endswith("docs/glossary.md")
