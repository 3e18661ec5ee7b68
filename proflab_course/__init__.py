"""The part that only the instructor runs: build lessons, assemble profilers, grade hand-ins.

One command, one folder. `course/` is the ground on which the others stand and imports none of them.
Nothing of this package enters a student's process but the programs in `grading/inside/`.

    cli.py      the `proflab` command: one line a subcommand
    course/     a course's folders, a lesson's cells, the names that code defines, test cells
    build/      proflab build: source/ and release/ from modules/
    assemble/   proflab assemble: a student's notebooks into one profiler file
    grading/    proflab grade, report, doctor
"""
