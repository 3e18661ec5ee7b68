"""Write a quiz for a platform, with its keys: GIFT for Moodle, QTI 1.2 for Canvas.

GIFT is Moodle's own text format (docs.moodle.org, "GIFT format"); QTI 1.2 is the IMS's, in the
package that Canvas imports: a zip with imsmanifest.xml and an assessment of items of the type
`multiple_choice_question`.
"""

from __future__ import annotations

import hashlib
import html
import io
import re
import zipfile
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from proflab_classroom.items.question import Question

# A pool of the viva has questions of the kind "tell" alone (viva/command.py).
_TITLES = {"viva": "which input tells?", "concepts": "concept questions"}


# ── GIFT ─────────────────────────────────────────────────────────────────────────────────────


def as_gift(lesson: str, questions: Sequence[Question]) -> str:
    """Return the questions in GIFT, in a category of their own; texts are HTML."""
    parts = [f"$CATEGORY: $course$/top/{lesson}", ""]
    for number, q in enumerate(questions, 1):
        title = _gift(f"{lesson} {number} {q.name}")
        lines = [f"::{title}::[html]{_gift(_html(q))} {{"]
        for place, option in enumerate(q.options):
            sign = "=" if place == q.key else "~"  # right or wrong; # answers an option, #### all
            result = q.results[place] if q.results else ""
            told = f"#{_gift(html.escape(result))}" if result else ""
            lines.append(f"{sign}{_gift(_option(q, option))}{told}")
        lines += [f"####{_gift(_prose(q.note))}"] if q.note else []
        parts += ["\n".join([*lines, "}"]), ""]
    return "\n".join(parts)


def _gift(text: str) -> str:
    r"""Return text with GIFT's own characters escaped, in one line.

    >>> _gift("a = {1: 2}")
    'a \\= \\{1\\: 2\\}'
    """
    return re.sub(r"([\\~=#{}:])", r"\\\1", text).replace("\n", " ")


def _html(q: Question) -> str:
    """Return stem and code of a question as HTML without line ends."""
    return f"<p>{_prose(q.stem)}</p>" + (f"<pre>{_lines(q.text)}</pre>" if q.text else "")


def _prose(text: str) -> str:
    """Return prose as HTML, with what stands between backticks as code."""
    parts = html.escape(text).split("`")
    return "".join(f"<code>{p}</code>" if n % 2 else p for n, p in enumerate(parts))


def _lines(code: str) -> str:
    return "<br>".join(html.escape(line).replace(" ", "&nbsp;") for line in code.splitlines())


def _option(q: Question, option: str) -> str:
    """Return an option as HTML: code, or prose where the question is about no code."""
    if not q.about_own_code:
        return _prose(option)
    return f"<code>{'<br>'.join(map(html.escape, option.splitlines()))}</code>"


# ── QTI ──────────────────────────────────────────────────────────────────────────────────────

# What no XML may hold, such as a control character of a student's own text.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_QTI = "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"
_PACKAGE = "http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1"
_ITEM = """\
      <item ident="{ident}" title={title}>
        <itemmetadata>
          <qtimetadata>
            <qtimetadatafield>
              <fieldlabel>question_type</fieldlabel>
              <fieldentry>multiple_choice_question</fieldentry>
            </qtimetadatafield>
            <qtimetadatafield>
              <fieldlabel>points_possible</fieldlabel>
              <fieldentry>1</fieldentry>
            </qtimetadatafield>
          </qtimetadata>
        </itemmetadata>
        <presentation>
          <material><mattext texttype="text/html">{stem}</mattext></material>
          <response_lid ident="response1" rcardinality="Single">
            <render_choice>
{labels}
            </render_choice>
          </response_lid>
        </presentation>
        <resprocessing>
          <outcomes>
            <decvar maxvalue="100" minvalue="0" varname="SCORE" vartype="Decimal"/>
          </outcomes>
{told}          <respcondition continue="No">
            <conditionvar><varequal respident="response1">{key}</varequal></conditionvar>
            <setvar action="Set" varname="SCORE">100</setvar>
          </respcondition>
        </resprocessing>
{feedback}      </item>
"""
# What Canvas shows to an answer; `other` is any answer at all, and stands for the reason.
_TELLS = """\
          <respcondition continue="Yes">
            <conditionvar>{answer}</conditionvar>
            <displayfeedback feedbacktype="Response" linkrefid="{ident}_fb"/>
          </respcondition>
"""
_FEEDBACK = """\
        <itemfeedback ident="{ident}_fb">
          <flow_mat>
            <material><mattext texttype="text/html">{text}</mattext></material>
          </flow_mat>
        </itemfeedback>
"""
_LABEL = """\
              <response_label ident="{ident}">
                <material><mattext texttype="text/html">{text}</mattext></material>
              </response_label>"""
_ASSESSMENT = """\
<?xml version="1.0" encoding="UTF-8"?>
<questestinterop xmlns="{qti}">
  <assessment ident="{ident}" title={title}>
    <qtimetadata>
      <qtimetadatafield>
        <fieldlabel>cc_maxattempts</fieldlabel>
        <fieldentry>1</fieldentry>
      </qtimetadatafield>
    </qtimetadata>
    <section ident="root_section">
{items}    </section>
  </assessment>
</questestinterop>
"""
_MANIFEST = """\
<?xml version="1.0" encoding="UTF-8"?>
<manifest identifier="{ident}_manifest" xmlns="{package}">
  <metadata>
    <schema>IMS Content</schema>
    <schemaversion>1.1.3</schemaversion>
  </metadata>
  <organizations/>
  <resources>
    <resource identifier="{ident}" type="imsqti_xmlv1p2">
      <file href="{ident}/{ident}.xml"/>
    </resource>
  </resources>
</manifest>
"""


def as_qti(lesson: str, questions: Sequence[Question], kind: str = "viva") -> bytes:
    """Return the questions as a QTI 1.2 package, the same bytes for the same questions."""
    ident = f"{kind}_{lesson}"
    title = quoteattr(f"{lesson}: {_TITLES[kind]}")
    items = "".join(_item(f"{ident}_{n}", lesson, q) for n, q in enumerate(questions, 1))
    files = {
        "imsmanifest.xml": _MANIFEST.format(ident=ident, package=_PACKAGE),
        f"{ident}/{ident}.xml": _ASSESSMENT.format(ident=ident, title=title, qti=_QTI, items=items),
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as package:
        for name, text in files.items():
            # A bare ZipInfo has a fixed date; with a name alone, the bytes would have the time.
            package.writestr(zipfile.ZipInfo(name), _NO_XML.sub("\ufffd", text).encode())
    return out.getvalue()


def _item(ident: str, lesson: str, q: Question) -> str:
    """Return a question as an item; Canvas wants answers' names to be unique in the package."""
    names = [
        f"a{int(hashlib.sha256(f'{ident} {place}'.encode()).hexdigest()[:7], 16)}"
        for place in range(len(q.options))
    ]
    labels = "\n".join(
        _LABEL.format(ident=name, text=escape(_option(q, option)))
        for name, option in zip(names, q.options, strict=True)
    )
    answers = {
        name: (f'<varequal respident="response1">{name}</varequal>', result)
        for name, result in zip(names, q.results, strict=False)
        if result
    }
    if q.note:
        answers["general"] = ("<other/>", q.note)
    return _ITEM.format(
        ident=ident,
        told="".join(_TELLS.format(ident=n, answer=answer) for n, (answer, _) in answers.items()),
        feedback="".join(
            _FEEDBACK.format(ident=n, text=escape(f"<p>{_prose(text)}</p>"))
            for n, (_, text) in answers.items()
        ),
        title=quoteattr(f"{lesson} {q.name}"),
        stem=escape(_html(q)),
        labels=labels,
        key=names[q.key],
    )
