"""Pack five hand-ins of the sample class as Canvas packs a class: `docs/first-evening.md` uses it.

    python docs/sample_canvas.py FOLDER

It writes FOLDER/submissions.zip, named as Canvas names the files of "Download Submissions",
FOLDER/gradebook.csv, as "Export" in Canvas's gradebook writes it, and FOLDER/class.csv, a class
list with the times that Canvas's API tells. The students are called One to Six; the second was
late, and the sixth has handed in nothing.
"""

from __future__ import annotations

import csv
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LESSON = "01_parameters"
# A folder of submitted/ for each student in order, and how the file was called when it was saved.
HAND_INS = {
    "complete": f"{LESSON}.ipynb",
    "forgets_biases": f"{LESSON}.ipynb",
    "empty": f"{LESSON}.ipynb",
    "lost_metadata": f"{LESSON}-1.ipynb",
    "browser_copy": f"{LESSON} (1).ipynb",
}
NAMES = ("One", "Two", "Three", "Four", "Five", "Six")
TIMES = (
    "2026-11-29T13:20:11Z",
    "2026-12-02T08:00:00Z",
    "2026-12-01T16:41:30Z",
    "2026-11-30T19:05:42Z",
    "2026-12-01T09:12:07Z",
    "",
)
FIRST_ID, FIRST_FILE = 40_001, 98_001  # Canvas's numbers of students and of files
COLUMN = "01 Parameters (55501)"


def main(arguments: list[str]) -> int:
    """Write the three files into the folder that is named; returns the exit status."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    if missing := [name for name in HAND_INS if not (ROOT / "submitted" / name).is_dir()]:
        problem = f"submitted/{missing[0]} of the sample class is not there"
        print(f"sample_canvas.py: {problem}: `git checkout submitted`", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "submissions.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for place, (student, name) in enumerate(HAND_INS.items()):
            [notebook] = (ROOT / "submitted" / student).rglob("*.ipynb")
            who = f"student{NAMES[place].lower()}_{FIRST_ID + place}_{FIRST_FILE + place}"
            archive.write(notebook, f"{who}_{name}")
    with (folder / "gradebook.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["Student", "ID", "SIS Login ID", "Section", COLUMN])
        table.writerow(["    Points Possible", "", "", "", "100"])
        for place, name in enumerate(NAMES):
            table.writerow([f"{name}, Student", FIRST_ID + place, f"s{place + 1:04}", "A", ""])
    with (folder / "class.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["student_id", "canvas_id", "name", "submitted"])
        for place, (name, time) in enumerate(zip(NAMES, TIMES, strict=True)):
            table.writerow([f"s{place + 1:04}", FIRST_ID + place, f"{name}, Student", time])
    print(f"{folder}: submissions.zip with {len(HAND_INS)} hand-ins, gradebook.csv and class.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
