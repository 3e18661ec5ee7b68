"""`proflab collect`: from a learning platform's archive to submitted/STUDENT/LESSON/.

The steps, one file each:

entries.py           the files of an archive or a folder, with their times
platforms.py         which platform wrote it, and whose the files of Moodle, Canvas, … are
gradescope.py        whose they are in an export of Gradescope
own_folder.py        whose they are in a folder of one's own
attempts.py          what these return: what one student handed in at one time
lesson_stamps.py     another lesson's archive, told by the notebooks' stamps
times.py             the times that platforms write, and times of a download
roster.py            the class list: a platform's export or a plain CSV; who is meant by a name
moodle_worksheet.py  the columns of Moodle's worksheet in four languages
store.py             the last attempt of each into submitted/, an earlier one never over a later
command.py           all of it in order, and the table that is printed
"""
