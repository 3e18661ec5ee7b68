"""ProfLab: a tensor engine to profile, lessons that profile it, and the grader that marks them."""

__version__ = "0.1.0"
