"""Ask students about their own functions: five minutes, with keys that were computed.

feature.py    what the other commands get: a column, a sentence on a lesson's page
command.py    `proflab viva`: sheets of a class, pools for platforms, marks back
inputs.py     the calls that may be asked about, and draws of them
definitions.py  what a call uses that the sheet prints, or that nobody can know
known_wrong.py  which known wrong solutions are used, and what they return
changes.py    changes of one line of a function
execute.py    calls in the grader's sandbox
seen.py       values as a person sees them
questions.py  the three kinds of question
sheet.py      the choice of a sheet's questions, each verified at last
race_rows.py  questions about a race, from the student's own tapes
pages.py      sheet and key as pages
marks.py      marks of a viva
"""
