"""Take what a class writes in the time that it has; the rest is given code, or goes.

read.py        tracks.toml: which exercises, sections and essays each track has
times.py       a lesson's table there: minutes, needs, and what serves each objective
taken.py       what a class has of a course: each lesson as taken, and the whole
apply.py       a lesson as a track has it
marked_text.py lines that rest on what a track leaves out go with it
minutes.py     how many minutes a section takes, in its heading
objectives.py  what serves each objective of a lesson, and whether it is enough
mentions.py    a link for what a track's text mentions and its class never saw

Short tracks are read for their promises in `build/edition.py`; code that a track gave is found in
hand-ins by `grading/given_code.py`; what a line rests on is read by `course/passages.py`.
"""
