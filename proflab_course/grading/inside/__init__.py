"""Execute statements, on the student's side: the programs that run in the sandbox.

The sandbox binds this folder and no other of the package. The files import only the standard
library and each other, by their bare names. `launch.py` becomes bubblewrap, `zygote.py` forks a
worker for each session, `confine.py` drops all rights, `machine_files.py` covers the files of /proc
that show other users' activity, `scratch.py` undoes what a hidden block wrote, `worker.py` executes
the statements that arrive through `channel.py`, and `outputs.py` captures outputs.
`subprocess_worker.py` starts a worker where there is no sandbox.
"""
