"""`proflab questions`: pages with a lesson's questions for a lecture, and counts of the answers.

feature.py    what the other commands get of all this
command.py    the command: which kind of questions, and the files that it writes
concepts_file.py  modules/LESSON/concepts.toml, which no release contains
block.py      the block of concept questions in a lesson, and what must not tell of them
asked.py      the questions as a class sees them, in the letters of its release
answers.py    what a class answered, as grading has kept it
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
