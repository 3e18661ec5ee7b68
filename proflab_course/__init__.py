"""Build lessons, assemble profilers, grade hand-ins: everything that only the instructor runs.

Each command has a folder. `course/` is the ground on which the others stand and imports none of
them. Only the programs in `grading/inside/` enter a student's process.

    cli.py      the `proflab` command: one line a subcommand
    course/     a course's folders, a lesson's cells, the harness's fingerprint
    cases/      the kinds of case in test cells: how each is read, sent and judged
    tracks/     what a class writes in the time that it has
    check/      proflab check: where a student is in a lesson
    build/      proflab build: source/ and release/ from modules/
    assemble/   proflab assemble: a student's notebooks into one profiler file
    collect/    proflab collect: a platform's archive into submitted/
    grading/    proflab grade, and nbgrader's plugin
    report/     proflab report: pages about a lesson and the term
    export/     proflab export: grades into a platform's file, code for a comparison
    doctor/     proflab doctor: the layers of isolation on this machine
"""

import sys

# jsonschema, and so nbformat, would import these at each start, and build the first one's grammars
# for two seconds, to check formats that no notebook's schema names: addresses and durations. Where
# they are not there jsonschema goes without.
for _name in ("rfc3987_syntax", "isoduration"):
    sys.modules.setdefault(_name, None)  # type: ignore[arg-type]
