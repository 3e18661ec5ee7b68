"""Read graded cells: a file for each kind of case says what is sent and how it is judged.

reader.py      a cell becomes blocks of steps, which enter a student's process, and of answers
case.py        a step, an answer, and what a case may say: literals, labels, tolerances
value.py       expect and expect_between: the value that came back is compared
raises.py      expect_raises: the exception that came back is compared
table.py       expect_table: each row is a case of one of these two kinds
race.py        expect_faster: a tape is run and counted
plan.py        expect_cheaper: a plan is simulated
log.py         expect_log: the steps of a work log are checked
hidden_blocks.py where hidden blocks lie in a cell's text, and which lines depend on which
vary.py        a hidden block whose numbers may be other ones: drawn, written, asked
vary_comments.py `# vary:` and `# keep:`: which numbers, within which bounds
asserts.py     a plain assert, which is refused: which call says the same
about_comments.py `# about:`: what a hidden case is about, which students may read later
hidden_doubles.py a double in a hidden block: its stub is sent, its script stays
"""
