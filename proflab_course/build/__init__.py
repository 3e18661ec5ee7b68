"""`proflab build`: modules/ becomes source/ and release/. The steps, in order:

command.py     the command: make, check, put in place
passes.py      the order of all that follows: passes, audits and notes, stage by stage
facts.py       what each of them is called with
prepare.py     all lessons are read, and the first stages made
make.py        the lessons are audited and written in a folder of their own
overlay.py     private cases and mark schemes take the place of the public ones
draw.py        what is drawn for a class: hidden cases (grading/own_numbers/), files, races
by_student.py  --per-student: files and races for each of them
redrawn.py     what is drawn otherwise than in source/, by which hand-ins are graded
stamp.py       links, points, Colab's first cell, and the last one
map_cell.py    the map below the title: what is built, how long it takes
policy.py      what students may ask AI assistants: said below the title, and to the assistants
durations.py   about how long a slow demo cell takes, in its first line
audit.py       what can be read off a lesson: its cells, its release
edition.py     no short track promises what it leaves out
audit_demos.py what is for demo cells alone: demos.py and guesses
measures.py    what a lesson asks of its reader
limits.py      how much of it may be
evidence.py    what hidden cases prove that visible ones do not tell
notes.py       what an instructor should know and nothing refuses
release.py     the students' notebook, by nbgrader
leaks.py       no solution or hidden value in it
claims.py      examples in docstrings, and the milestone of the last cell
trial.py       both notebooks are executed
stand_ins.py   no helper passes in an exercise's place; in_process.py executes test cells for it
class_tree.py  --through N, --track NAME: a tree for a class
"""
