"""`proflab grade`: find, match, plan, run, judge, write. The map, in the order of the steps:

    command.py          the command: the class, in parallel, and nothing lost
    submissions/        find: which hand-ins there are, and what each of them is
    resume.py           find: what is graded already, and what a killed grading left
    reader.py           find and match, in processes that can be ended (limited_process.py)
    answer_key.py       the lesson: its cells as released, its test cells, split
    match_cells.py      match: which cell is which, and what was changed
    given_code.py       match: code that the track of a shorter notebook gave
    own_numbers/        match: what was drawn for this class or student alone
    plan.py             plan: the types that grader and runners share
    late_blocks.py      plan: which hidden blocks may share a copy; run: once more, if that may cost
    one_execution.py    run: what counts where a plan is executed again
    limits.py           every limit of time and memory, and where it is enforced
    limit_options.py    options that set limits of time
    run/                run: a plan goes in, replies come out, or those that were kept
    inside/             what runs in the student's process
    grade_notebook.py   judge: points from the verdicts, the outcome, the graded notebook
    judge_case.py       judge: one case, from its answer and its reply
    races.py            run: the tapes, plans and work logs of a hand-in
    apart.py            run: a process of the grader's own, apart from all student code
    points.py           judge: what a test cell earns, all or none or a share
    answers.py          judge: an answer by a letter, in the letters of its question's file
    broken_cells.py     judge: the cell of the student's that failed, where others lack its names
    failed_setup.py     judge: the part that caused a set-up error
    output_cells.py     judge: what a test cell shows in the graded notebook
    records/            write: gradebook and graded notebook
    pages/              show: feedback, report
    table.py            the table in the terminal

work_limit.py and size_limits.py bound the grader's own work for one hand-in, and grader_errors.py
reports its failures at it. defined_names.py finds a cell's names without parsing it; lock.py lets
one grading run at a time; lean.py saves a second at import; odd_json.py reads strangers' JSON.
"""
