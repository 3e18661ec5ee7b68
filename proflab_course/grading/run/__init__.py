"""Execute plans, on the grader's side: a plan goes in, replies come out, whatever the code does.

Two runners: `subprocess_runner.py` (trusted notebooks) and `sandbox_runner.py` (untrusted ones).

    later_runner.py   a runner that starts when the first plan arrives
    keeping_runner.py a runner that executes only what has changed since an earlier grading
    runners.py        what all runners share: a second try alone, the student's environment
    session.py        one session: sends the plan block by block, forks copies for hidden blocks
    statements.py     the statements of one cell or block, and their replies
    connection.py     the socket to the worker; enforces the limits of `limits.py`
    replies.py        validation of replies
    student_files.py  the files that a submission may read
    time_allowance.py time for code that does not end; suspects.py: code that uses it
    processes.py      the processes of a session, and how they ended
    zygote_client.py  client of one zygote; bubblewrap.py, seccomp.py, cgroups.py confine it
    cluster.py        execution on a Dask cluster; cluster_messages.py is its wire format
"""
