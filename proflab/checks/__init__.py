"""The checks of a test cell, and what they rest on.

expect.py    the calls of a test cell
compare.py   is a value what was expected?
diagnose.py  what does a wrong number look like?
values.py    plain data: what may be compared, and cross between processes
"""
