"""`proflab export`: write grades into a platform's own file, and code for a similarity check.

command.py              the command
columns.py              which column of such a file takes what is exported
platform_files.py       the grade files that Canvas, Moodle and Brightspace export, filled in
code_for_comparison.py  each student's own code, as one Python file
"""
