"""Turn a student's text and outputs into HTML that a browser only displays.

All HTML on the pages is filtered by the allow-lists in this file: no script, no style sheet, no
form, no address that is fetched. Limits on time and memory are in render.py.
"""

from __future__ import annotations

import html
import re

import nh3
from pygments.token import STANDARD_TYPES

# ── the allow-lists ─────────────────────────────────────────────────────────────────────────

_TAGS = set(
    "abbr b blockquote br caption code col colgroup dd del details div dl dt em figcaption "
    "figure h1 h2 h3 h4 h5 h6 hr i img kbd li mark ol p pre s small span strong sub summary sup "
    "table tbody td tfoot th thead tr u ul".split()
)
ATTRIBUTES = {
    "img": {"src", "alt", "width", "height"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "col": {"span"},
    "ol": {"start"},
    "details": {"open"},
    "*": {"title", "style"},
}
# None that moves a thing, or covers another.
_STYLES = {"color", "background-color", "font-weight", "font-style", "text-align"}
# Only classes that colour text; others could use the page's own styles and scripts.
_NAMES = "black red green yellow blue magenta cyan white".split()
_COLOURS = {f"ansi-{n}{i}-{e}" for n in _NAMES for i in ("", "-intense") for e in ("fg", "bg")}
_MARKS = {"ansi-bold", "ansi-underline", "ansi-default-inverse-fg", "ansi-default-inverse-bg"}
_CLASSES = {
    "span": _COLOURS | _MARKS | set(STANDARD_TYPES.values()) - {""},
    "div": {"highlight"},
    "table": {"dataframe"},
}
PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]+")

FORBIDDEN_TAG = re.compile(rf"<(?=[A-Za-z/!?])(?!/?(?:{'|'.join(sorted(_TAGS))})[\s/>])", re.I)
_TAG = re.compile(r"<(/?)([a-z0-9]+)")
_VOID = {"br", "col", "hr", "img"}  # tags that nothing closes
_DEEPEST = 100
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]")

# Commands for formgrader's MathJax: symbols, and how they are placed side by side or stacked.
# None that links, defines, styles, moves, overlaps or takes a length.
_TEX = set(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi "
    "pi varpi rho varrho sigma varsigma tau upsilon phi varphi chi psi omega Gamma Delta Theta "
    "Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell hbar Re Im aleph partial nabla infty emptyset "
    "varnothing forall exists nexists neg lnot land lor wedge vee in notin ni subset subseteq "
    "supset supseteq cup cap bigcup bigcap setminus times cdot cdots ldots dots vdots ddots dotsb "
    "dotsc div pm mp ast star circ bullet oplus ominus otimes odot bigoplus bigotimes le leq ge "
    "geq ne neq lt gt ll gg approx approxeq sim simeq cong equiv propto doteq prec succ mid nmid "
    "parallel perp angle to gets mapsto leftarrow rightarrow Leftarrow Rightarrow leftrightarrow "
    "Leftrightarrow uparrow downarrow longrightarrow longleftarrow implies impliedby iff "
    "therefore because hookrightarrow rightharpoonup rightleftharpoons sum prod coprod int iint "
    "iiint oint lim limsup liminf max min sup inf arg argmax argmin deg det dim exp gcd hom ker "
    "lg ln log Pr sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh coth bmod pmod mod "
    "operatorname frac dfrac tfrac cfrac binom dbinom tbinom sqrt root over choose overline "
    "underline overbrace underbrace overset underset stackrel substack hat widehat tilde "
    "widetilde bar vec dot ddot check breve acute grave overrightarrow overleftarrow xrightarrow "
    "xleftarrow not prime dagger ddagger top bot left right middle big Big bigg Bigg bigl bigr "
    "Bigl Bigr biggl biggr Biggl Biggr langle rangle lceil rceil lfloor rfloor lbrace rbrace "
    "lbrack rbrack lvert rvert lVert rVert vert Vert backslash text textbf textit textrm texttt "
    "textsf mathrm mathbf mathit mathsf mathtt mathcal mathbb mathfrak mathscr boldsymbol bm rm "
    "bf it tt sf cal mbox displaystyle textstyle scriptstyle limits nolimits quad qquad thinspace "
    "tag notag nonumber hline begin end boxed color textcolor S P degree checkmark square "
    "blacksquare triangle Box cr".split()
)
_TEX_BLOCKS = set(
    "align aligned alignat alignedat array bmatrix Bmatrix cases equation gather gathered matrix "
    "multline pmatrix smallmatrix split subarray vmatrix Vmatrix eqnarray math displaymath".split()
)
_BACKSLASH = r"(?:\\|&#0*92;|&#x0*5c;|&bsol;)"
_TEX_COMMAND = re.compile(rf"({_BACKSLASH})([A-Za-z]+)")
_TEX_BLOCK = re.compile(r"\s{0,9}\{\s{0,9}([a-zA-Z]{1,20})\*?\s{0,9}\}")
# A line break may have a height: two digits of points, or one of a letter's height.
_TEX_BREAK = re.compile(rf"({_BACKSLASH}{{2}}\s*)\[(?=\s*[-+.,\d])")
_TEX_HEIGHT = re.compile(r"\s*(?:\d{1,2}(?:\.\d+)?\s*(?:pt|px|mu)|\d(?:\.\d+)?\s*(?:em|ex))\s*\]")
_BROKEN = "\u200b"

# ── text ────────────────────────────────────────────────────────────────────────────────────


def readable(text: str) -> str:
    """Return the text without surrogates and control characters."""
    return _CONTROL.sub("\ufffd", text.encode("utf-8", "replace").decode())


def cut(text: str, most: int) -> tuple[str, str]:
    """Return the first `most` characters, and a note, as HTML, on the rest."""
    if len(text) <= most:
        return text, ""
    return text[:most], note(f"{len(text) - most:,} more characters are left out here")


def note(sentence: str) -> str:
    """Return a remark by the page itself, as HTML."""
    return f"<p><em>[{html.escape(sentence)}.]</em></p>"


# ── the filter ──────────────────────────────────────────────────────────────────────────────


def filtered(rendered: str, math: bool = True) -> str:
    """Return the HTML with only what the allow-lists contain.

    math: keep formulas, for a page that typesets them.
    """
    safe = nh3.clean(
        rendered,
        tags=_TAGS,
        attributes=ATTRIBUTES,
        attribute_filter=_allowed_attribute,
        allowed_classes=_CLASSES,
        filter_style_properties=_STYLES,
        url_schemes={"data"},
        link_rel=None,
    )
    return plain_math(safe) if math else safe


def plain_math(text: str) -> str:
    """Return the text with all TeX commands broken that are not on the allow-list.

    A character without width after the backslash breaks a command and leaves its name readable.
    """
    text = _TEX_COMMAND.sub(_allowed_command, text.replace("^^", f"^{_BROKEN}^"))
    return _TEX_BREAK.sub(_allowed_break, text)


def _allowed_command(found: re.Match) -> str:
    """Return a TeX command as it is if it is on the list, else broken."""
    allowed = found[2] in _TEX
    if found[2] in ("begin", "end"):
        block = _TEX_BLOCK.match(found.string, found.end())
        allowed = block is not None and block[1] in _TEX_BLOCKS
    return found[0] if allowed else f"{found[1]}{_BROKEN}{found[2]}"


def _allowed_break(found: re.Match) -> str:
    """Return a line break with its height if that is small, else with the height as text."""
    small = _TEX_HEIGHT.match(found.string, found.end())
    return found[0] if small else f"{found[1]}{_BROKEN}["


def _allowed_attribute(tag: str, name: str, value: str) -> str | None:
    """Return the value that an attribute may keep, if any.

    It must not raise, because nh3 would then keep the attribute.
    """
    if name == "src":
        return value if PICTURE.fullmatch(value) else None
    if name in ("width", "height", "colspan", "rowspan", "span", "start"):
        return value if re.fullmatch(r"[0-9]{1,4}%?", value) else None
    if name == "style":
        return None if re.search(r"[(\\@]|/\*", value.replace("rgb(", "")) else value
    return value


def too_deep(safe: str) -> bool:
    """Return True if tags are nested too deeply for a browser."""
    depth = 0
    for tag in _TAG.finditer(safe):
        if tag[2] not in _VOID:
            depth += -1 if tag[1] else 1
            if depth > _DEEPEST:
                return True
    return False
