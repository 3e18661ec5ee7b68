"""Lesson 03: its wrong and its unusual solutions, gathered from the files beside by topic."""

from cohort import (
    lesson_03_calls,
    lesson_03_choices,
    lesson_03_clocks,
    lesson_03_kinds,
    lesson_03_statistics,
    lesson_03_warnings,
)
from cohort.kinds import nameless
from cohort.lesson_03_alternates import ALTERNATES as CLOCK_ALTERNATES
from cohort.lesson_03_unusual import ALTERNATES as OTHER_ALTERNATES

TOPICS = (
    lesson_03_clocks,
    lesson_03_calls,
    lesson_03_statistics,
    lesson_03_warnings,
    lesson_03_choices,
)

ALTERNATES = CLOCK_ALTERNATES | OTHER_ALTERNATES
MUTANTS = {
    name: found | lesson_03_kinds.MUTANTS[name]
    for topic in TOPICS
    for name, found in topic.MUTANTS.items()
}
for exercise in ("calibrate", "confidence_interval", "measurement_warnings", "best_batch"):
    MUTANTS[exercise] |= nameless(exercise)
HELPERS = "".join(topic.HELPERS for topic in (*TOPICS, lesson_03_kinds))
