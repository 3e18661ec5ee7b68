"""`proflab questions`: pages with a lesson's questions for a lecture, and counts of the answers.

feature.py    what the other commands get of all this
command.py    the command: which kind of questions, and the files that it writes
concepts.py   the concept questions, in the letters of the class's release
guesses.py    the guesses that a lesson asks for: what each asks, and how its cell says to answer
exam.py       an examination on paper: calls to work out, questions, functions to write
pages.py      questions as pages for a hall, a phone and paper, and as a table to fill in
peer.py       what peer instruction does after a vote
votes.py      the filled-in tables, read back as counts
votes_page.py     `proflab report LESSON --votes`: what was guessed in a lecture
rounds_page.py    `proflab report LESSON --votes`: votes by letter, in two rounds
concept_items.py  what a class answered: figures for a lesson's page, and a table of letters
templates/    the HTML of the pages
"""
