"""`proflab questions`: pages with a lesson's questions for a lecture, and counts of the answers.

command.py    the command: which kind of questions, and the files that it writes
guesses.py    the guesses that a lesson asks for: what each asks, and how its cell says to answer
pages.py      questions as a page for a phone, as a sheet of paper, and as a table to fill in
votes.py      the filled-in tables, read back as counts
templates/    the HTML of the pages

Another kind of questions has a file like guesses.py, whose rows are `pages.Question`s. The page
with the counts is one of `proflab report`: report/votes_page.py.
"""
