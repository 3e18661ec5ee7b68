"""Write what grading found: nbgrader's gradebook and the graded notebook. Also nbgrader's plugin.

opened.py           the gradebook, opened to read it, if there is one
gradebook.py        the gradebook, one transaction for each submission
new_gradebook.py    an empty gradebook
register.py         a lesson and its cells, entered where they are not there yet
changed_cells.py    the cells of a lesson that has hand-ins, when they change
removed.py          what nbgrader removes of a hand-in, removed here, too
queries.py          figures about a whole class, in a few queries
clear_errors.py     errors of SQLite as one sentence
lateness.py         penalties for late work, and extensions as nbgrader has them
deadline.py         a lesson's due date, and how its class stands to it
write_notebook.py   the graded notebook in autograded/
exchange.py         feedback through nbgrader's exchange
nbgrader_plugin.py  the classes that `nbgrader autograde` uses
"""
