"""What a teacher adds to a course that builds, grades, reports and exports without it.

marking/  essays and questions about verdicts: tables that people fill in, and what becomes of them

Each folder is a feature: it offers commands, columns, and parts of pages (feature.py), which
proflab_course/course/features.py explains. `proflab_course` never imports this package.
"""
