"""Questions with four options, whatever they are asked in: a lesson, a lecture, a survey, an exam.

item.py       what such a question is, and the order of its options
question.py   the same as somebody is asked it
quizzes.py    quizzes for Moodle and Canvas: GIFT and QTI
figures.py    what a class's answers say about a question: difficulty, interval, discrimination
"""
