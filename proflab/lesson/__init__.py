"""Give lessons the calls of a test cell, and whatever else two or more of them use.

What one lesson uses lies beside that lesson, in its folder. For cells:

guesses:       compare a reader's guess with the answer
plot:          draw pictures in one style
alt_text:      say in words what a picture shows
demo:          make demo cells smaller where a test runs them
noise:         show load and interval beside what was measured
measuring:     measure a machine: turns, thread counts, array sizes
digits:        a classifier whose weights are stored in fewer bits
hardware:      describe the machine, and its two roofs
machine:       tell what this Python lacks: threads, processes, psutil
blas:          count and set the threads of matrix products
recording:     give a recorder of ops its rows, columns and regions
recorded:      put rows of several recorded passes together
tensor_memory: tell which memory a tensor looks at
tracebacks:    find whose function allocated
race:          speed that earns points, without a clock
doubles:       stand for clocks, models and memory in test cells
cuda:          measure a CUDA device, and keep what was measured
concepts:      read answers to concept questions, and count them

For a notebook on its way, and for the course's commands:

first_guess:   keep a reader's first guesses
run_all:       let Run All go to a notebook's end
imports:       say which modules the grader has
kernel_record: note what a notebook's cells did
errors:        explain a cell's error in a sentence
lines_shown:   show the student's lines below such a sentence
progress:      show where a student is in a lesson
mine:          keep a student's functions for later lessons
words:         put names and counts into sentences
outline:       read what lesson.json holds of a lesson
names:         list the names that code binds and uses
statements:    list the statements that a file is made of
moved:         find what earlier releases had here
"""

from proflab.checks import expect as _calls
from proflab.checks.expect import *
from proflab.lesson.concepts import choice
from proflab.lesson.run_all import install

__all__ = ["choice"]
__all__ += _calls.__all__  # in this form type checkers can read it

install()
