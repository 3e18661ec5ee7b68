"""`proflab doctor`: which layers of isolation this machine has.

command.py  the command: prints the layers, and whether students' code can be graded here
layers.py   each layer, tried on this machine
"""
