"""Release feedback through nbgrader's exchange to all who submitted through it.

`nbgrader submit` writes a secret into each hand-in. A student's page is released under a name made
from it, which nobody else can guess; so the file travels from submitted/ to autograded/, and
nbgrader copies it to feedback/.
"""

from __future__ import annotations

import glob
from pathlib import Path

from nbgrader.exchange.default import ExchangeReleaseFeedback

from proflab_course.grading.records.write_notebook import SECRET, read_secret
from proflab_course.grading.run.student_files import read_start
from proflab_course.grading.submissions.timestamp import STAMP, STAMP_BYTES


class ReleaseFeedback(ExchangeReleaseFeedback):
    """Release each page that has a secret; nbgrader's own command stops at the first without."""

    src_path: str

    def copy_files(self) -> None:
        """Copy the pages into the exchange; log the students whose page cannot be released."""
        for folder in sorted(glob.glob(self.src_path)):
            if can_be_released(Path(folder)):
                self.src_path = glob.escape(folder)
                super().copy_files()
            else:
                self.log.warning(
                    "%s is not released, because it has no %s of `nbgrader submit`: give this page "
                    "back by hand; if the hand-in came through the exchange, run `proflab grade "
                    "%s --regrade` and `nbgrader generate_feedback %s --force` first",
                    *(folder, SECRET, self.coursedir.assignment_id, self.coursedir.assignment_id),
                )


def can_be_released(folder: Path) -> bool:
    """Return True if the files that nbgrader needs to release a page are beside it."""
    try:
        stamp = (read_start(folder / STAMP, STAMP_BYTES) or b"").decode()
    except ValueError:
        return False
    return bool(stamp) and read_secret(folder) is not None
