"""The course's configuration, read from this folder by nbgrader and by JupyterLab."""

from pathlib import Path

from nbconvert.preprocessors import ClearMetadataPreprocessor, CSSHTMLHeaderPreprocessor
from nbgrader.preprocessors import (
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ClearSolutions,
    ComputeChecksums,
    DeduplicateIds,
    GetGrades,
    IgnorePattern,
    IncludeHeaderFooter,
    InstantiateTests,
    LimitOutput,
    LockCells,
    OverwriteCells,
    OverwriteKernelspec,
    SaveAutoGrades,
    SaveCells,
)

from proflab_course.grading.pages.feedback import HideHidden
from proflab_course.grading.pages.marking_page import MarkScheme
from proflab_course.grading.pages.notebook_pages import FILTERS, DisarmMarkup, FeedbackPage
from proflab_course.grading.pages.overview import Overview
from proflab_course.grading.records.nbgrader_plugin import (
    ClearAnswers,
    CoursePenalties,
    ReadHandIn,
    SandboxedExecute,
)

c = get_config()  # noqa: F821 (traitlets provides it)

c.CourseDirectory.root = str(Path(__file__).resolve().parent)
c.CourseDirectory.course_id = "proflab"
# Where formgrader's "release" and "collect" buttons exchange files with students of this machine.
c.Exchange.root = str(Path(__file__).resolve().parent / "exchange")
# Pages of hand-ins that did not come through the exchange are named, and the others released.
c.ExchangeFactory.release_feedback = "proflab_course.grading.records.exchange.ReleaseFeedback"

# A hand-in is rebuilt before nbgrader looks at it: nbgrader stops the whole class at metadata that
# it refuses. The rest of the list is nbgrader's own.
c.Autograde.sanitize_preprocessors = [
    ReadHandIn,
    ClearOutput,
    DeduplicateIds,
    OverwriteKernelspec,
    OverwriteCells,
    CheckCellMetadata,
]

# `nbgrader autograde` and formgrader's button run submissions in the sandbox; the rest of the list
# is nbgrader's own, but that late work costs what private/dates.toml says. Without this list they
# run them with your rights.
c.Autograde.autograde_preprocessors = [
    SandboxedExecute,
    IgnorePattern,
    ClearMetadataPreprocessor,
    LimitOutput,
    SaveAutoGrades,
    CoursePenalties,
    CheckCellMetadata,
]

# In a release the answers to concept questions are None; the rest of the list is nbgrader's own.
c.GenerateAssignment.preprocessors = [
    IncludeHeaderFooter,
    InstantiateTests,
    LockCells,
    ClearSolutions,
    ClearAnswers,
    ClearOutput,
    CheckCellMetadata,
    ComputeChecksums,
    SaveCells,
    ClearHiddenTests,
    ClearMarkScheme,
    ComputeChecksums,
    CheckCellMetadata,
]

# In the lessons of this list a test cell gives its share of the cases that passed; in the others it
# gives all points or none. After a change, `proflab grade LESSON` grades all its hand-ins anew.
c.SandboxedExecute.partial_credit = []

# Feedback names hidden cases and says whether they passed, and nothing else about them. For the
# lessons in this list it also says what each failed one was about: after the deadline, add the
# lesson and run `nbgrader generate_feedback LESSON --force`.
c.HideHidden.explain = []

c.GenerateFeedback.preprocessors = [
    GetGrades,
    HideHidden,
    Overview,
    DisarmMarkup,
    CSSHTMLHeaderPreprocessor,
]

# The page that students are sent: ours, which needs nothing from the network. (Not a setting of
# HTMLExporter, which formgrader uses for its own pages.)
c.GenerateFeedback.exporter_class = FeedbackPage

# A submission's outputs and markdown may hold scripts, pictures from elsewhere, and what takes long
# to lay out: formgrader shows them as feedback does, filtered and within limits.
# Above an essay stand its ten items, to be ticked.
c.HTMLExporter.preprocessors = [MarkScheme, DisarmMarkup]
c.HTMLExporter.filters = FILTERS
