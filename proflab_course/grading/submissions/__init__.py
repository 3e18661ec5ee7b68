"""Find and read untrusted submissions. The steps, in order:

find.py           which students handed in
find_notebook.py  the lesson's notebook, under another name, deeper, or in a zip archive
which_lesson.py   the lesson that a notebook belongs to
zip_archive.py    the one reader of zip archives, a student's in memory, up to limits
file_names.py     what may be a notebook, by name and content, and which files fit first
decode_text.py    bytes to text, or a sentence about another kind of file
read_notebook.py  a notebook rebuilt from the few fields that grading needs
read_guesses.py   the guesses in its outputs
essay_numbers.py  the essay's numbers, looked up in its outputs
read_steps.py     the times of a work log in its outputs
timestamp.py      the time of submission
"""
