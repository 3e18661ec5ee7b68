"""`proflab assemble`: turn a student's notebooks into one profiler file. The steps, in order:

command.py  the command: finds the notebooks, writes the file
gather.py   the statements of each lesson that the file needs
fill.py     --standalone: the course's own code for what is given or not written
bundle.py   --standalone: adds the engine to the file
package.py  --package: what lies beside the file so that pip installs its folder, make_wheel.py
own.py      stores functions that pass their visible checks in mine.py
"""
