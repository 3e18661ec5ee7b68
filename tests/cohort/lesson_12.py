"""Lesson 12: what students get wrong about serving. Each part's mistakes stand in a file beside;
so do right solutions, and what is handed in for the race."""

from cohort import lesson_12_races as races
from cohort.kinds import merged
from cohort.lesson_12_alternates import ALTERNATES as OTHERS
from cohort.lesson_12_alternates_bytes import ALTERNATES as STORED
from cohort.lesson_12_alternates_formats import ALTERNATES as NARROW
from cohort.lesson_12_bytes import MUTANTS as BYTES
from cohort.lesson_12_drafts import MUTANTS as DRAFTS
from cohort.lesson_12_formats import HELPERS as FORMATS_HELPERS
from cohort.lesson_12_formats import MUTANTS as FORMATS
from cohort.lesson_12_passes import HELPERS as PASSES_HELPERS
from cohort.lesson_12_passes import MUTANTS as PASSES
from cohort.lesson_12_prices import MUTANTS as PRICES
from cohort.lesson_12_queues import MUTANTS as QUEUES

HELPERS = FORMATS_HELPERS + PASSES_HELPERS + races.HELPERS

MUTANTS = merged(BYTES, PASSES, PRICES, QUEUES, DRAFTS, FORMATS) | races.MUTANTS
ALTERNATES = OTHERS | STORED | NARROW | races.ALTERNATES
