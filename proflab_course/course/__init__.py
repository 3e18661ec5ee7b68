"""Provide what several commands need; import none of them.

layout.py          a course's folders
settings.py        what an instructor chose for the course, in private/course.toml
dates.py           due dates, what lateness costs, and extensions
iso_time.py        times in ISO order, and by the clocks of a zone
toml_table.py      a TOML file, each of whose keys has a type
nbgrader_settings.py  jupyter_config.py, run as nbgrader runs it
database.py        the one gradebook that a course may have
notebook.py        a lesson's cells and their marks
address.py         where the course is published
sections.py        the sections of a lesson: their minutes, points and words
passages.py        what a line of text rests on
prose.py           the sentences of a paragraph, one a line in a lesson's source
exercises.py       the exercise that a test cell belongs to
features.py        which features there are, and what each may offer to the commands
answer_cells.py    cells in which questions are answered by letters, which are no exercises
wrong.py           known wrong and unusual right solutions, which no release contains
release_stamp.py   the release that a notebook comes from
harness.py         a fingerprint of the code that can change a verdict
files.py           files written whole or not at all
secret.py          the course's secret, and what is drawn from it
rubric.py          an essay's mark scheme: its items, and two answers to calibrate on
journal.py         a log to which lines are only added
csv_table.py       a CSV file of a platform or a spreadsheet
hand_table.py      a table that people fill in, row by row
look_alikes.py     ids of students that look alike
words.py           lists of names for messages
jobs.py            the default number of parallel jobs
"""
