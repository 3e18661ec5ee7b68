"""The course's configuration, read from this folder by nbgrader and by JupyterLab."""

from pathlib import Path

from nbconvert.preprocessors import CSSHTMLHeaderPreprocessor
from nbgrader.preprocessors import GetGrades

from proflab.grading.feedback import EscapeMarkup, HideHidden

c = get_config()  # noqa: F821 (traitlets provides it)

c.CourseDirectory.root = str(Path(__file__).resolve().parent)
c.CourseDirectory.course_id = "proflab"

# A deleted test cell is put back, as `proflab grade` does.
c.OverwriteCells.add_missing_cells = True

# Feedback names hidden cases and says whether they passed, and nothing else about them.
c.GenerateFeedback.preprocessors = [
    GetGrades,
    HideHidden,
    EscapeMarkup,
    CSSHTMLHeaderPreprocessor,
]

# A submission's outputs and markdown may hold scripts: neither formgrader nor feedback runs them.
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.preprocessors = [EscapeMarkup]
