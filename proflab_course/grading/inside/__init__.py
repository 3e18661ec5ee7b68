"""The student's side: programs that run in the sandbox, which binds this folder and no other.

Standard library only, and nothing here is imported as a package there: each file is a program or a
module beside one. `launch.py` becomes bubblewrap, `zygote.py` forks a turn, `confine.py` drops all
rights, `machine_files.py` covers the files of /proc that show what others do, `scratch.py` undoes
what a hidden block wrote, `worker.py` executes what `channel.py` brings, `outputs.py` keeps what it
prints and draws. `subprocess_worker.py` starts a worker where there is no sandbox.
"""
