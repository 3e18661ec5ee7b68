"""`proflab check`: where a student is in a lesson, in a terminal. For students' own machines.

command.py  the command: which notebooks, and the table of each
execute.py  a notebook is run, its demo cells left out, and its last cell read
"""
