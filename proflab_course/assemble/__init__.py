"""`proflab assemble`: a student's notebooks become one profiler file. The steps, in order:

command.py  the command: which notebooks, which file
gather.py   the names that a lesson defines, and what they need
bundle.py   --standalone: the engine travels inside the file
own.py      what passes its visible checks goes into mine.py
"""
