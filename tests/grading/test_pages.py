"""What a student wrote or displayed becomes HTML that a browser only shows, within limits."""

import re

import nbformat
import psutil
import pytest
from grading_course import LESSON, command, copy_course, grade, hand_in, solved
from hostile import ATTACHMENTS, BUNDLES, MARKDOWN, TAGS
from inert_pages import assert_inert
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from proflab.lesson import plot
from proflab_course.grading.pages import render
from proflab_course.grading.pages.inert import filtered, readable
from proflab_course.grading.pages.markup import MOST, Piece, to_html
from proflab_course.grading.pages.notebook_pages import FILTERS, DisarmMarkup, FeedbackPage
from proflab_course.grading.pages.render import Inert, Renderer, shared_renderer


@pytest.mark.parametrize("text", [*TAGS, *MARKDOWN])
@pytest.mark.parametrize("kind", ["markdown", "html", "text", "code"])
def test_hostile_markup_is_inert(text, kind):
    shown = to_html(Piece(kind, text, ATTACHMENTS, folder="/etc"))
    # MathJax leaves alone what stands in a <pre>, as printed text and code do.
    assert_inert(shown, math=kind in ("markdown", "html"))


@pytest.mark.parametrize("bundle", BUNDLES)
def test_hostile_displays_are_inert(bundle):
    [output] = page_of(new_output("display_data", bundle)).cells[0].outputs
    assert output.data
    for mime, value in output.data.items():
        if mime == "image/png":
            assert re.fullmatch("[A-Za-z0-9+/=]*", value)
        elif mime == "text/latex":
            assert "\\href" not in value  # the template escapes the rest
        else:
            assert_inert(value)


def page_of(*outputs, cells=()):
    """A notebook with a cell that has these outputs, and these cells, as the page gets it."""
    notebook = new_notebook(cells=[new_code_cell("x", outputs=list(outputs)), *cells])
    return DisarmMarkup().preprocess(notebook, {})[0]


def test_harmful_tags_of_markdown_stay_as_text():
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in markdown("<script>alert(1)</script>")
    assert markdown('<a href="x">y</a>') == '<p>&lt;a href="x"&gt;y&lt;/a&gt;</p>\n'


@pytest.mark.parametrize(
    ("formula", "broken"),
    [
        (r"\csname href\endcsname{javascript:x}{y}", ["csname", "endcsname"]),
        (r"\begin{href}x\end{href}", ["begin", "end"]),
        (r"\text{\href{x}{y}} \\\href{x}{y}", ["href", "href"]),
        (r"\raise500pt{\rule{1000pt}{1000pt}}", ["raise", "rule"]),
        (r"\kern-2000pt\Huge\text{100/100}", ["kern", "Huge"]),
        (
            r"\def\alpha{\smash{x}} \require{html} \hspace{9999pt}",
            ["def", "smash", "require", "hspace"],
        ),
    ],
)
def test_a_formula_is_a_formula_and_no_more(formula, broken):
    for shown in (markdown(f"$${formula}$$"), latex(formula)):
        assert re.findall("\\\\\u200b([A-Za-z]+)", shown) == broken
        assert not any(re.search(rf"\\{name}\b", shown) for name in broken)


def latex(formula):
    [output] = page_of(new_output("display_data", {"text/latex": f"${formula}$"})).cells[0].outputs
    return output.data["text/latex"]


def test_lengths_and_codes_of_characters_are_broken_and_small_ones_stay():
    assert "\u200b[500pt]" in latex(r"a\\[500pt]b") and "\u200b[-9pt]" in latex(r"a\\ [-9pt]b")
    assert "^^" not in latex(r"\^^68ref{x}")
    for formula in (
        r"\frac{\partial L}{\partial w_{ij}} = \sum_{n=1}^N \hat{y}_n \quad \text{for all } w",
        r"\begin{pmatrix} a & b \\[4pt] c & d \end{pmatrix} \left( \mathbb{R}^2 \right)",
        r"\begin{align*} x &= 1 \\ y &= \sqrt{2} \end{align*}",
    ):
        assert latex(formula) == f"${formula}$"


def markdown(text, **more):
    return to_html(Piece("markdown", text, **more))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a < b, x<y? <b>bold</b><br>", "<p>a &lt; b, x&lt;y? <b>bold</b><br></p>\n"),
        ("[x](https://a.example)", "<p>x (https://a.example)</p>\n"),
        ("<https://a.example/b?c=1&d>", "<p>https://a.example/b?c=1&amp;d</p>\n"),
        ("[x](javascript:alert(1))", "<p>x (javascript:alert(1))</p>\n"),
        ("[![Open](//a.example/b.svg)](https://a.example)", "<p>Open (https://a.example)</p>\n"),
        ("![x](//a.example/x.png)", "<p>x <em>[a picture from elsewhere is not shown]</em></p>\n"),
        ("![x](x.png)", "<p>x <em>[the picture x.png is missing]</em></p>\n"),
        ("- [x] done\n- [ ] not", "<ul>\n<li>☑ done</li>\n<li>☐ not</li>\n</ul>\n"),
        ("# One\n\n###### Six", "<h2>One</h2>\n<h6>Six</h6>\n"),
        ("$a_b < c$", "<p>$a_b &lt; c$</p>\n"),
        ("a\x00b\x1f\ud800c", "<p>a\ufffdb\ufffd?c</p>\n"),
    ],
)
def test_markdown(text, shown):
    assert markdown(text) == shown


def test_pictures_beside_the_notebook_and_pasted_ones_are_in_the_page(tmp_path):
    png = b"\x89PNG\r\n\x1a\nx"
    (tmp_path / "a b.png").write_bytes(png)
    (tmp_path / "page.png").write_text("<script>")
    (tmp_path / "link.png").symlink_to(tmp_path / "a b.png")
    shown = markdown("![A](a%20b.png)", folder=str(tmp_path))
    assert shown == '<p><img src="data:image/png;base64,iVBORw0KGgp4" alt="A"></p>\n'
    for name in ("page.png", "link.png", "../a.png", "none.png", "/etc/passwd"):
        assert "<img" not in markdown(f"![A]({name})", folder=str(tmp_path))
    pasted = {"p 1.png": {"image/png": "aGk="}}
    assert 'src="data:image/png;base64,aGk="' in markdown(
        "![](attachment:p%201.png)", attachments=pasted
    )


@pytest.mark.parametrize(
    "pasted", [{}, {"x.png": {}}, {"x.png": None}, {"x.png": {"image/png": 1}}]
)
def test_a_missing_attachment_is_said_to_be_missing(pasted):
    assert "[the pasted picture x.png is missing]" in markdown(
        "![](attachment:x.png)", attachments=pasted
    )


def test_tables_plots_and_colours_stay():
    table = '<table class="dataframe"><tbody><tr><td>1</td></tr></tbody></table>'
    assert filtered(table) == table
    bundle = plot.bars({"a": 1, "b": 2})._repr_mimebundle_()
    assert filtered(bundle["text/html"]).count('<img alt="') == 1
    assert re.search(r'src="data:image/png;base64,iVBOR[^"]{1000,}"', filtered(bundle["text/html"]))
    assert to_html(Piece("text", "\x1b[1;31m3\x1b[0m <")) == (
        '<span class="ansi-red-intense-fg ansi-bold">3</span> &lt;'
    )
    assert '<span class="k">def</span>' in to_html(Piece("code", "def f(): ..."))


def test_an_output_that_no_page_shows_leaves_a_note():
    svg = new_output("display_data", {"image/svg+xml": "<svg/>"})
    drawn = new_output("display_data", {"text/html": "<script>1</script><div></div>"})
    both = new_output("display_data", {"text/html": "<script>1</script>", "text/plain": "Plot()"})
    shown = [list(o.data.items()) for o in page_of(svg, drawn, both).cells[0].outputs]
    assert shown[0] == [
        (
            "text/plain",
            "<p><em>[an output of the kind image/svg+xml is left out: pages show text and "
            "pictures.]</em></p>",
        )
    ]
    assert shown[1] == [
        ("text/plain", "<p><em>[what a script would have drawn is left out.]</em></p>")
    ]
    assert shown[2] == [("text/plain", "Plot()")]


def test_what_is_inert_is_not_laid_out_again():
    shown = page_of(new_output("stream", text="a < b"), cells=[new_markdown_cell("*a*")])
    again, _ = DisarmMarkup().preprocess(shown, {})
    assert again.cells[0].outputs[0].text == "a &lt; b"
    assert again.cells[1].source == "<p><em>a</em></p>\n"
    assert FILTERS["markdown2html"](again.cells[1].source) is again.cells[1].source
    assert FILTERS["ansi2html"]("a < b") == "a &lt; b"


def test_strange_fields_do_no_harm():
    cell = NotebookNode(cell_type="code", source="x", metadata=NotebookNode(), outputs=[])
    cell.metadata = NotebookNode({"tags": [1, '" onclick="x'], "nbgrader": {"grade_id": '"><b>'}})
    cell.outputs = [
        NotebookNode(),
        NotebookNode(output_type="stream"),
        NotebookNode(output_type="error", traceback=["a", None, "b"]),
        NotebookNode(output_type="display_data", data={"image/png": None, "text/plain": [1]}),
        NotebookNode(
            output_type="display_data",
            data={"image/png": ["aGk=", "\n"]},
            metadata={"image/png": {"width": '1 onload="x"', "height": 4}},
        ),
        NotebookNode(output_type="execute_result", data={"text/plain": "1"}, execution_count=-1),
    ]
    cell.execution_count = -7
    notebook = NotebookNode(cells=[cell], metadata=NotebookNode(widgets={}), nbformat=4)
    page, _ = DisarmMarkup().preprocess(notebook, {})
    assert page.cells[0].metadata == {"tags": []}
    stream, error, odd, picture, result = page.cells[0].outputs
    assert page.cells[0].execution_count is result.execution_count is None
    assert (stream.text, error.traceback, odd.data) == ("", ["a\nb"], {"text/plain": ""})
    assert picture.metadata == {"image/png": {"height": 4}}
    assert "widgets" not in page.metadata


# ── limits ──────────────────────────────────────────────────────────────────────────────────

SLOW = {
    "brackets": Piece("markdown", "[![" * 15_000),
    "quotes": Piece("markdown", "> " * 50_000),
    "emphasis": Piece("markdown", "*a _b " * 16_000),
    "links": Piece("markdown", "[a](<b" * 16_000),
    "entities": Piece("markdown", "&" * 100_000),
    "comments": Piece("markdown", "<!-- a " * 14_000),
    "math": Piece("markdown", "$$a \\begin{b}" * 7_000),
    "tables": Piece("markdown", "|a" * 30_000 + "\n" + "|-" * 30_000),
    "lists": Piece("markdown", "".join(" " * i + "- a\n" for i in range(400))),
    "escapes": Piece("text", "\x1b[31mx" * 14_000),
    "endless escape": Piece("text", "\x1b[" + "3;" * 49_000),
    "unfinished escapes": Piece("text", "\x1b[0" * 33_000),
    "quotation marks": Piece("code", "'" * 100_000),
    "parentheses": Piece("code", "(" * 100_000),
    "percent signs": Piece("code", "%%a\n" * 25_000),
    "deep": Piece("html", "<div>" * 200_000),
    "deep and closed": Piece("html", "<i>" * 150 + "x" + "</i>" * 150),
    "attributes": Piece("html", "<p " + " ".join(f"a{i}=1" for i in range(300_000)) + ">"),
    "misnested": Piece("html", "".join(f"<b title={i}>" for i in range(9_000)) + "<p>x" * 9_000),
    "many": Piece("html", "<i>x</i>" * 400_000),
}


# Of those that use up their time or memory `make test` lays out "deep", `make soak` the others.
LONG = ("math", "attributes", "misnested")


@pytest.mark.whole
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.soak if n in LONG else ()) for n in SLOW]
)
def test_a_slow_piece_is_bounded_and_the_page_says_what_is_left_out(name):
    shown, after = shared_renderer().page([SLOW[name], Piece("text", "after")])
    assert after == "after"
    assert len(shown) < 2_000_000
    assert (
        "[" not in shown or "left out" in shown or "stands here as" in shown or len(shown) > 9_999
    )
    assert_inert(shown)


def test_a_page_has_limits_of_its_own(monkeypatch):
    monkeypatch.setattr(render, "MOST_BYTES", 30_000)
    shown = shared_renderer().page([Piece("text", "x" * 9_000)] * 5 + [Piece("text", "y")])
    assert [len(each) for each in shown[:3]] == [9_000] * 3
    assert "too large" in shown[3] and "too large" in shown[4]
    assert shown[5] == "y"
    monkeypatch.setattr(render, "PAGE_SECONDS", 0)
    [late] = shared_renderer().page([Piece("markdown", "**x** <b>")])
    assert late == (
        "<p><em>[The page took too long: from here on it is not laid out and stands here as it "
        "was written.]</em></p><pre>**x** &lt;b&gt;</pre>"
    )


def test_long_pieces_and_many_outputs_are_cut_and_said_to_be():
    shown = to_html(Piece("text", "x" * (MOST["text"] + 7)))
    assert shown.endswith("x<p><em>[7 more characters are left out here.]</em></p>")
    many = page_of(*[new_output("stream", text="x")] * 500).cells[0].outputs
    assert len(many) == 201
    assert many[-1].text == "… 300 more outputs are left out here\n"


@pytest.mark.whole
def test_a_page_is_laid_out_after_the_process_died():
    renderer, before = Renderer(), {*psutil.Process().children(recursive=True)}
    try:
        assert renderer.page([Piece("text", "a")]) == ["a"]
        own = {*psutil.Process().children(recursive=True)} - before
        for each in own:
            each.kill()
        psutil.wait_procs(own, 60)
        first, second = renderer.page([Piece("text", "b"), Piece("text", "c")])
    finally:
        renderer.close()
    assert first.endswith("<pre>b</pre>")
    assert second == "c"
    assert isinstance(first, Inert) and isinstance(second, Inert)


# ── a class ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A class of which three make trouble, with their feedback."""
    course = copy_course(tmp_path_factory.mktemp("pages"), ["complete"])
    slow = solved()
    slow.cells += [new_markdown_cell(SLOW["brackets"].text), new_markdown_cell("![](attachment:x)")]
    deep = f"from IPython.display import HTML, display\ndisplay(HTML({'<div>'!r} * 200_000))"
    slow.cells += [new_code_cell(deep), new_markdown_cell("The end.")]
    hand_in(course, "slow", slow)
    hand_in(course, "broken", solved())
    grade(course)
    path = course.root / "autograded" / "broken" / LESSON / f"{LESSON}.ipynb"
    path.write_text(path.read_text("utf-8").replace('"cells": [', '"cells": [7,'), "utf-8")
    done = command(course, "nbgrader", "generate_feedback", LESSON)
    assert done.returncode == 0, done.stderr
    return course, done.stderr


def page(course, student):
    return (course.root / "feedback" / student / LESSON / f"{LESSON}.html").read_text("utf-8")


@pytest.mark.proves
def test_one_students_trouble_is_on_that_students_page_alone(course):
    course, log = course
    assert "100 of 100 points.</b> 10 more points are not yet marked" in page(course, "complete")
    slow = page(course, "slow")
    assert slow.count("This took too long or too much memory to be laid out and is left out") == 1
    assert "[the pasted picture x is missing]" in slow
    assert "The end." in slow and "100 of 110 points" in slow
    assert "this page could not be made" in page(course, "broken")
    assert "Please tell your instructor" in page(course, "broken")
    assert "The page of" in log and "broken" in log


def test_a_surrogate_in_a_graded_notebook_does_not_stop_its_page(tmp_path):
    cells = [new_code_cell("x", outputs=[new_output("stream", text="a")]), new_markdown_cell("b")]
    path = tmp_path / "n.ipynb"
    text = nbformat.writes(new_notebook(cells=cells))
    path.write_text(text.replace('"a"', '"a\\ud800"').replace('"b"', '"b\\udfff"'))
    exporter = FeedbackPage(preprocessors=[DisarmMarkup])
    resources = {"nbgrader": {"notebook": "n", "score": 1, "max_score": 2, "late_penalty": 0}}
    shown, _ = exporter.from_filename(str(path), resources=resources)
    assert "a?" in shown and "<p>b?</p>" in shown
    assert readable("\ud800") == "?"
