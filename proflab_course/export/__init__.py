"""`proflab export`: grades back into a platform's own file, and code for a similarity check.

command.py         which of both, and of which lesson
platform_files.py  the grade files that Canvas, Moodle and Brightspace export, filled in
student_code.py    what each student wrote, as one Python file
"""
