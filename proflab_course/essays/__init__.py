"""`proflab essays`: share the marking of a lesson's essays, and bring the marks together.

command.py    the arguments, and what is printed
log.py        essays/log.jsonl: who marks which, and each mark that was read
deal.py       which essays each marker gets
sheets.py     a marker's table, written and read back
agreement.py  how often two markers agree on an item
settle.py     what goes into the gradebook, and what an instructor decides
"""
