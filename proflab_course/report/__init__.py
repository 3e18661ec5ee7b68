"""`proflab report`: write pages about the results of a class, from the gradebook.

command.py        the command: which page, and the file that it is written to
lesson_page.py    the page about one lesson
term_page.py      the page about all lessons
failed_cases.py   a student's failed cases, those with one cause as one
class_guesses.py  the guesses of the class, beside the answers
minutes.py        the minutes that a lesson took, and a patch of the estimates by them
templates/        the HTML of the pages
"""
