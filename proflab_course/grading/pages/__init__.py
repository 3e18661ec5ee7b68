"""Pages that people look at: feedback, the report, formgrader's view of a submission.

notebook_pages.py  replaces all that a student wrote by HTML that a browser only shows
feedback.py        feedback: what a student may see of hidden cases
overview.py        feedback: what to mend first, and sections that are folded
exercises.py       to which exercise a test cell belongs
report.py          the page about a class and a lesson; term.py about all lessons
report_command.py  `proflab report`: which of both, and where it is written
class_guesses.py   what the class guessed, beside the answers
inert.py           the allow-lists: what may reach a browser
markup.py          a piece of a page as HTML; render.py has render_process.py do it within limits
"""
