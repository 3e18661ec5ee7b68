"""`proflab regrade`: students' questions about verdicts, to assistants and back to the students.

A student asks in a table that the feedback page offers. What was asked, to whom it went and what
was answered is kept in one file, regrades/log.jsonl, to which lines are only added.

log.py        the log: its lines, and what they say of each request
requests.py   requests in students' tables, in an archive of them, or in a form's export
sheets.py     the tables for assistants, and their answers
command.py    the command: collect, list, share, answer
"""
