"""What is written: the gradebook (nbgrader's own), the graded notebook, and nbgrader's plugin."""
