"""Lesson 10: what students, and those who publish GPU timings, get wrong.

The entries stand by topic in the files beside: lesson_10_kernels, …_hardware, …_times, …_crossover,
…_roofs, …_documents, …_energy, …_triton, kinds that many share in …_kinds and …_limits; the right
ones in lesson_10_alternates, …_hardware, …_energy and …_triton.
"""

from cohort import (
    lesson_10_alternates,
    lesson_10_crossover,
    lesson_10_documents,
    lesson_10_energy,
    lesson_10_hardware,
    lesson_10_kernels,
    lesson_10_kinds,
    lesson_10_limits,
    lesson_10_roofs,
    lesson_10_times,
    lesson_10_triton,
)

PARTS = (
    lesson_10_kernels,
    lesson_10_hardware,
    lesson_10_times,
    lesson_10_roofs,
    lesson_10_documents,
    lesson_10_crossover,
    lesson_10_energy,
    lesson_10_triton,
)
HELPERS = "".join(part.HELPERS for part in (*PARTS, lesson_10_kinds, lesson_10_limits))
MUTANTS = {
    name: entries | lesson_10_kinds.MUTANTS.get(name, {}) | lesson_10_limits.MUTANTS.get(name, {})
    for part in PARTS
    for name, entries in part.MUTANTS.items()
}
ALTERNATES = (
    lesson_10_alternates.ALTERNATES
    | lesson_10_hardware.ALTERNATES
    | lesson_10_energy.ALTERNATES
    | lesson_10_triton.ALTERNATES
)
