"""`proflab collect`: sort a learning platform's archive into submitted/STUDENT/LESSON/.

The steps, one file each:

entries.py           the files of an archive or a folder, with their times, in limited processes
copy_files.py        there: a student's files copied piece by piece
platforms.py         the platform of an archive; the students of Moodle's, Canvas's … files
gradescope.py        the students of the files in an export of Gradescope
own_folder.py        the students of the files in a folder that the instructor made
attempts.py          one student's hand-in at one time, which these three return
lesson_stamps.py     another lesson's archive, detected by the notebooks' stamps
times.py             the times that platforms write, and the times of a download
roster.py            the class list: a platform's export or a plain CSV; who is meant by a name
moodle_worksheet.py  the columns of Moodle's worksheet in four languages
store.py             the last attempt of each student into submitted/, never an earlier one
command.py           the command, and the table that it prints
"""
