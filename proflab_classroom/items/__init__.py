"""Questions with four options, whatever they are asked in: a lesson, a lecture, a survey, an exam.

figures.py    what a class's answers say about a question: difficulty, interval, discrimination
"""
