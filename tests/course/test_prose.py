"""A paragraph in a lesson's source: one sentence a line, and one line in the notebook."""

import jupytext
import pytest
from cohort.run import ROOT

from proflab_course.course.layout import Course
from proflab_course.course.prose import join_sentences, split_sentences

COURSE = Course(ROOT)


@pytest.mark.parametrize("lesson", COURSE.lessons())
def test_the_source_has_one_sentence_a_line(lesson):
    notebook = jupytext.reads(COURSE.module(lesson).read_text("utf-8"), fmt="py:percent")
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            assert cell.source == split_sentences(cell.source)


def test_a_paragraph_is_one_line_in_the_notebook():
    assert (
        join_sentences("One.\nTwo `a`.\n\nThree\nand more.") == "One. Two `a`.\n\nThree and more."
    )


@pytest.mark.parametrize(
    "text",
    [
        "# A title\n## Another\n",
        "- one. Two\n- three\n  goes on",
        "1. one\n2. two",
        "| a | b |\n|---|---|\n| 1. A | 2 |",
        "```python\nx = 1\ny = 2\n```",
        "<details><summary>A hint</summary>\n\ntext\n\n</details>",
        "> a quote. It goes on\n> here",
        "![A picture. Of it](a.png)",
        "    code\n    code",
        "a line that breaks  \nhere",
    ],
)
def test_what_is_no_paragraph_stays_as_it_is(text):
    assert join_sentences(text) == split_sentences(text) == text


@pytest.mark.parametrize(
    ("line", "count"),
    [
        ("One. Two! Three? Four", 4),
        ("Tools, e.g. Nsight, count. No. 5 does not", 2),
        ("See `a. B` and (c. D) and $x. Y$.", 1),
        ("**Predict.** How many? A few", 2),
        ("It is 3.5 times, say 4.", 1),
        ("This is one op. That is another, on p. 5.", 2),
        ("He asks: “Why? Because.” So it is.", 2),
    ],
)
def test_sentences_are_told_from_other_points(line, count):
    assert split_sentences(line).count("\n") == count - 1
    assert join_sentences(split_sentences(line)) == line
