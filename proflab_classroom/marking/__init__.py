"""What people mark: a lesson's essays, and students' questions about verdicts.

Both are shared in tables, one for each marker or assistant, and read back. What was dealt, marked,
asked and answered is kept in essays/log.jsonl and regrades/log.jsonl, to which lines are only
added.

feature.py          what the commands get of all this
essays_command.py   `proflab essays`: the arguments, and what is printed
essay_log.py        essays/log.jsonl: who marks which, and each mark that was read
deal.py             which essays each marker gets
essay_tables.py     a marker's table, written and read back
agreement.py        how often two markers agree on an item
settle.py           what goes into the gradebook, and what an instructor decides
scheme.py           formgrader: an essay's mark scheme, as check boxes above it
regrade_command.py  `proflab regrade`: collect, list, share, answer
request_log.py      regrades/log.jsonl: its lines, and what they say of each request
requests.py         requests in students' tables, in an archive of them, or in a form's export
request_tables.py   the tables for assistants, and their answers
ask.py              feedback: a table for questions about verdicts, and the answers
templates/          the HTML of formgrader's and of students' pages
"""
