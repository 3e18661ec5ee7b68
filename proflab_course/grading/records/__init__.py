"""Records of grading: nbgrader's gradebook, the graded notebook, and nbgrader's plugin.

gradebook.py        points, outcome and cases of a hand-in, in one transaction
first_rows.py       the rows of a hand-in that is graded for the first time
new_gradebook.py    an empty gradebook
queries.py          what the gradebook knows about a whole class
lateness.py         extensions, and a penalty for each day
clear_errors.py     SQLite's complaints as sentences
write_notebook.py   the graded notebook, in autograded/
nbgrader_plugin.py  `nbgrader autograde` with this grader
exchange.py         feedback through nbgrader's exchange
"""
