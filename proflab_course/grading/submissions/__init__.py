"""Find and read what was handed in, whatever it is, and never trust it. The steps, in order:

find.py           which students handed in
find_notebook.py  the lesson's notebook, under another name, deeper, or in a zip archive
which_lesson.py   of which lesson a notebook is
zip_archive.py    a zip archive, in memory, up to limits
decode_text.py    bytes to text, or a sentence about what they are instead
read_notebook.py  a notebook rebuilt from the few fields that grading needs
read_guesses.py   the guesses that its outputs keep
timestamp.py      when it was handed in
"""
