"""Write the outputs of test cells in the graded notebook: a line a case, one error for all failed.

A hidden case's line is marked in its metadata, so that the feedback for students can shorten it.
"""

from __future__ import annotations

from typing import Any

import nbformat
from nbformat import NotebookNode

from proflab.checks.compare import Verdict, show_passed
from proflab.checks.expect import failed_text, passed_line
from proflab_course.cases.case import Answer
from proflab_course.grading.plan import Reply

# In graded notebooks: pages/feedback.py takes out what has this mark. Under another name, students
# would read the hidden cases of those graded before.
HIDDEN = "hidden"


class OutputWriter:
    """The outputs that a test cell has in the graded notebook."""

    def __init__(self) -> None:
        self.outputs: list[dict] = []
        self.failures: list[str] = []
        self.tracebacks: list[str] = []
        self.setup_failures: list[str] = []
        self.hidden_failures = 0

    def add(self, outputs: list[dict]) -> None:
        """Add what the student's code printed or displayed.

        nbgrader reads the points from a test cell's outputs, where a line on stderr means none and
        a value is the score. Therefore both become plain text or display data.
        """
        for output in outputs:
            if output["output_type"] == "stream":
                self._text(output["text"])
            elif output["output_type"] != "error":
                data = {"output_type": "display_data", "data": output["data"], "metadata": {}}
                self.outputs.append(data)

    def case(self, answer: Answer, reply: Reply, verdict: Verdict, hidden: bool) -> None:
        """Add a case's line; mark a hidden one, so that feedback can shorten it."""
        if hidden:
            # pages/feedback.py and pages/overview.py know lines by these signs.
            mark = "✅" if verdict.passed else "❌"
            why = f": {verdict.reason} {verdict.diagnosis}".rstrip() if verdict.reason else ""
            about: dict[str, Any] = {"diagnosis": verdict.diagnosis} if verdict.diagnosis else {}
            about |= {} if verdict.share is None else {"share": verdict.share}
            text = f"{mark} {answer.label} (hidden){why}"
            self._hidden(text, {"label": answer.label, "passed": verdict.passed} | about)
            self.hidden_failures += not verdict.passed
        elif verdict.passed:
            if answer.held is not None:
                shown = "\n   ".join(filter(None, (verdict.reason, verdict.diagnosis)))
            elif answer.call == "expect_raises":
                shown = answer.exception
            else:
                shown = show_passed(reply.value)
            self._text(passed_line(answer.label, shown) + "\n")
        else:
            self.failures.append(failed_text(answer.label, verdict))
            if reply.state == "raised" and verdict.reason != reply.message:  # which says it all
                self.tracebacks += ["".join(reply.traceback).rstrip()]

    def setup_failed(
        self, code: str, reply: Reply, hidden: bool, sentence: str, cause: str = ""
    ) -> None:
        """Add that a statement of the set-up raised, which costs the cell its points.

        sentence: the one for the student if the statement is hidden; cause: about an earlier cell
        because of which it raised.
        """
        what = f"{reply.raised[0]}: {reply.message}" if reply.raised else reply.message
        text = f"❌ `{code.splitlines()[0]}` ended with {what}"
        if cause:
            text = f"❌ `{code.splitlines()[0]}` was not reached: {cause}"
        if hidden:
            self._hidden(f"{text} (hidden)", {"label": sentence, "passed": False})
            self.setup_failures.append(f"❌ on other input: {sentence}")
        else:
            self.failures.append(f"{text}\n   What follows in this cell was not reached.")
            self.tracebacks += ["".join(reply.traceback).rstrip()] if reply.traceback else []

    def not_reached(self, answer: Answer, hidden: bool) -> None:
        """Add the line of a case after a set-up statement that raised."""
        if hidden:
            mark = {"label": answer.label, "passed": False, "reached": False}
            self._hidden(f"– {answer.label} (hidden): not reached", mark)
        else:
            self._text(f"– {answer.label}: not reached\n")

    def finish(
        self, score: float = 0.0, points: float = 0.0, race: bool = False
    ) -> list[NotebookNode]:
        """Return all outputs; failures come as one error, as an assertion in a notebook would.

        nbgrader reads an error as no points, and a value as the points. If the cell has earned a
        part of its points, failures are text, and the score is the cell's value. race: the cell
        earns shares, so that it may have a part, or nothing, without a failure.
        """
        if self.hidden_failures:
            cases = "case" if self.hidden_failures == 1 else "cases"
            self.failures.append(f"❌ {self.hidden_failures} {cases} on other input failed")
        self.failures += self.setup_failures
        if (self.failures and score) or (race and not self.failures and score < points):
            note = f"Partial credit: {score:g} of {points:g} points"
            shown = [*dict.fromkeys(self.tracebacks), *self.failures, note]
            self._text("".join(f"{line}\n" for line in shown))
            value = {"data": {"text/plain": repr(score)}, "metadata": {}, "execution_count": None}
            self.outputs.append({"output_type": "execute_result"} | value)
        elif self.failures:
            self.outputs.append(
                {
                    "output_type": "error",
                    "ename": "AssertionError",
                    "evalue": self.failures[0],
                    "traceback": [*dict.fromkeys(self.tracebacks), *self.failures],
                }
            )
        return [output_node(output) for output in self.outputs]

    def _text(self, text: str) -> None:
        last = self.outputs[-1] if self.outputs else {}
        if last.get("output_type") == "stream":
            last["text"] += text
        else:
            self.outputs.append({"output_type": "stream", "name": "stdout", "text": text})

    def _hidden(self, text: str, mark: dict) -> None:
        """Add a line for instructors; feedback for students is made from `mark`."""
        data, metadata = {"text/plain": text}, {"proflab": {HIDDEN: mark}}
        self.outputs.append({"output_type": "display_data", "data": data, "metadata": metadata})


def output_node(output: dict) -> NotebookNode:
    """Return an output as nbformat's `from_dict` does, without visiting each line of its texts."""
    node = NotebookNode(output)
    for name in ("data", "metadata"):
        if name in output:
            node[name] = nbformat.from_dict(output[name])
    return node


def lost_output(message: str) -> NotebookNode:
    """Return the output of a cell that sent no reply."""
    text = f"This cell was not executed to its end: {message}."
    return output_node(
        {"output_type": "error", "ename": "NotExecuted", "evalue": message, "traceback": [text]}
    )
