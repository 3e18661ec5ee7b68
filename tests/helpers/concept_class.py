"""Concept questions for the sample class of lesson 01, and answers of a simulated class to them.

course = with_concepts(copy_course(tmp_path, ["complete"]))    # three questions, in a new order
answers, points = simulated()                                   # 60 students of known ability
"""

from __future__ import annotations

import json
import math
import random
import sqlite3
from dataclasses import asdict

import nbformat
from grading_course import LESSON

from proflab_course.course.answer_cells import ORDERS
from proflab_course.course.layout import Course
from proflab_course.grading.answers import Answered, as_guesses

CONCEPTS = """
[[question]]
id = "01_1"
after = "conv2d_parameters"
stem = "A convolution from 64 to 128 channels with 3 × 3 kernels and biases gets `groups=64`. How many parameters has it?"
options = { A = "73,856", B = "1,280", C = "1,154", D = "1,216" }
key = "B"
slips = { A = "groups are ignored", C = "only the output channels are divided", D = "one bias for each input channel" }
why = "A filter reads the channels of its own group, here one: 128 · 9 + 128."
line = "conv2d_parameters(64, 128, 3, groups=64)"
value = 1280

[[question]]
id = "01_2"
after = "count_parameters"
stem = "A network calls one and the same `Linear(1000, 1000)` ten times in a row. How many parameters has the network?"
options = { A = "1,001,000", B = "10,010,000", C = "1,000,000", D = "It depends on the size of the input" }
key = "A"
slips = { B = "tied tensors count as often as they are yielded", C = "biases are left out", D = "parameters are taken for work" }
why = "A tensor is stored once, however often it is used."
line = "layer = nn.Linear(1000, 1000); count_parameters(nn.Sequential(*[layer] * 10))"
value = 1001000
fixed = ["D"]

[[question]]
id = "01_A"
kind = "audit"
after = "gpt2_parameters"
stem = "One page gives GPT-2 small in float32 as 498 MB, another as 475 MB. Both counted every parameter once. What differs?"
options = { A = "One left the output layer out", B = "Nothing but the megabyte: 10⁶ bytes in one, 1024² in the other", C = "One stored a part in float16", D = "One added the gradients" }
key = "B"
slips = { A = "a different size is taken for a different count", C = "the dtype is suspected before the unit", D = "gradients as well" }
why = "497,759,232 bytes are both; a table without a unit cannot be checked."
line = "n = 4 * gpt2_parameters(50257, 1024, 768, 12); (n / 10**6, n / 1024**2)"
value = [497.759232, 474.70]
source = "[Two pages](https://example.org/) on GPT-2, read on 3 March 2026."
"""  # noqa: E501
ORDER = {"01_1": "CABD", "01_2": "BCAD", "01_A": "ABCD"}


def with_concepts(course: Course, orders: dict[str, str] | None = None) -> Course:
    """Give lesson 01 these questions; orders: those that its build chose."""
    path = course.module(LESSON).with_name("concepts.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(CONCEPTS, encoding="utf-8")
    source = nbformat.read(course.source(LESSON), as_version=4)
    source.metadata[ORDERS] = ORDER if orders is None else orders
    nbformat.write(source, course.source(LESSON))
    return course


def answer(course: Course, answers: dict[str, dict[str, str]]) -> None:
    """Put answers of graded students into the gradebook, by question, in letters of the file."""
    with sqlite3.connect(course.gradebook) as book:
        for student, letters in answers.items():
            found = {name: Answered(each, right=False) for name, each in letters.items()}
            kept = json.dumps([asdict(each) for each in as_guesses(found)])
            row = "INSERT OR REPLACE INTO proflab_guesses (student, assignment, guesses)"
            book.execute(f"{row} VALUES (?, ?, ?)", (student, LESSON, kept))


def simulated(
    students: int = 60, seed: int = 7
) -> tuple[dict[str, dict[str, str]], dict[str, float]]:
    """Answers and points by the 3-parameter model: a sharp question, an easy one, a blunt one."""
    drawn = random.Random(seed)  # noqa: S311
    answers, points = {}, {}
    for number in range(students):
        ability, name = drawn.gauss(0, 1), f"student{number:03}"
        points[name] = min(100.0, max(0.0, 75 + 15 * ability))
        answers[name] = {}
        for (question, key), slope, hard in zip(
            (("01_1", "B"), ("01_2", "A"), ("01_A", "B")), (2.5, 1, 0), (0.3, -5, 0), strict=True
        ):
            known = 1 / (1 + math.exp(-slope * (ability - hard)))
            right = drawn.random() < 0.25 + 0.75 * known
            others = [letter for letter in "ABCD" if letter != key]
            answers[name][question] = key if right else drawn.choice(others)
    return answers, points
