"""`proflab collect`: from a learning platform's archive to submitted/STUDENT/LESSON/.

The steps, one file each:

entries.py    the files of an archive or a folder, with their times
platforms.py  whose they are: the names that Moodle, Canvas and Brightspace give, or plain folders
roster.py     the class list: a platform's export or a plain CSV; who is meant by a name
store.py      the last attempt of each into submitted/, an earlier one never over a later
command.py    all of it in order, and the table that is printed
"""
