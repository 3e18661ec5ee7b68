"""What an instructor adds to a course that builds, grades, reports and exports without it.

marking/  essays and questions about verdicts: tables that people fill in, and what becomes of them
viva/     questions about students' own functions, with computed keys, and their marks
questions/  concept questions, guesses and votes of a lecture, and an examination
inventory/  questions before a course and after it, and what the class has gained
items/    what questions of all these have in common: it offers nothing by itself

Each other folder is a feature: it offers commands, columns, and parts of pages (feature.py), which
proflab_course/course/features.py explains. `proflab_course` never imports this package.
"""
