"""The ground on which the commands stand: it imports none of them.

layout.py          a course's folders
database.py        the one gradebook that a course may have
notebook.py        a lesson's cells and their marks
asserts.py         an assertion of a test cell
test_cells.py      a test cell, split into steps and what is expected of them
explanations.py    what may be said of hidden cases after the deadline
hidden_doubles.py  the doubles that hidden tests may make
tracks.py          which exercises a class writes in the time that it has
release_stamp.py   which release a notebook comes from
harness.py         a fingerprint of the code that can change a verdict
files.py           files written whole or not at all
jobs.py            how many things at a time
"""
