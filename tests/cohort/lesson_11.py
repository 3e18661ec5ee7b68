"""Lesson 11: what students get wrong; each kind of exercise has a file of its own."""

from cohort import lesson_11_races as races
from cohort.lesson_11_alternates import ALTERNATES as OTHERS
from cohort.lesson_11_kinds import MUTANTS as KINDS
from cohort.lesson_11_loop import MUTANTS as LOOP
from cohort.lesson_11_memory import MUTANTS as MEMORY
from cohort.lesson_11_overlap import MUTANTS as OVERLAP
from cohort.lesson_11_ranks import MUTANTS as RANKS
from cohort.lesson_11_reports import MUTANTS as REPORTS
from cohort.lesson_11_traces import MUTANTS as TRACES

HELPERS = races.HELPERS
OWN = TRACES | MEMORY | REPORTS | LOOP | RANKS | OVERLAP | races.MUTANTS
MUTANTS = {name: entries | KINDS.get(name, {}) for name, entries in OWN.items()}
ALTERNATES = OTHERS | races.ALTERNATES
