"""Grade with what is another one for each class or student: numbers of hidden cases, a program.

cases.py          hidden cases with other numbers, by a seed or for each student
solved_values.py  what such a case expects: what the lesson's own solution returns
program.py        the given program that the build has drawn for one student

How a case says what may vary is in `cases/vary.py`. What a lesson's draw.py draws, the build tries
and writes (`build/draw.py`, `build/by_student.py`), since it executes whole lessons for that.
"""
