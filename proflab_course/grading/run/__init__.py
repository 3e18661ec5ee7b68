"""The grader's side of execution: a plan goes in, replies come out, whatever the code did.

Two runners: `subprocess_runner.py` (one's own notebooks) and `sandbox_runner.py` (strangers').

    later_runner.py   a runner that starts when there is work for it
    runners.py        what all runners share: a second try alone, the student's environment
    session.py        one submission's turn: sends the plan, block by block
    statements.py     the statements of one cell or block, and their replies
    connection.py     the socket to the worker, with limits on time, memory and bytes
    replies.py        what came back, checked
    student_files.py  the files that travel with a submission
    time_allowance.py time for code that does not end; suspects.py: what uses the same functions
    processes.py      the processes of a turn, and how they ended
    zygote_client.py  client of one zygote; bubblewrap.py, seccomp.py, cgroups.py confine it
    cluster.py        the same on a Dask cluster; cluster_messages.py is its wire format
"""
