"""Records of grading: nbgrader's gradebook, the graded notebook, and nbgrader's plugin."""
