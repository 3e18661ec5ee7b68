"""Hand-ins of groups: a copy for each member that the roster names, or a refusal by name."""

import pytest
from archives import LESSON, NAME, canvas, collect, moodle, solved, students, tree, zipped

TEAMS = {"Group A_17": solved("a"), "The Rooflines_18": solved("b")}
WORKSHEET = (
    "Identifier,Full name,ID number,Group,Last modified (submission)\n"
    'Participant 17,Ann Lee,s1,The Rooflines,"Sunday, 29 November 2026, 6:30 PM"\n'
    'Participant 4712,Bo Chen,s2,Group A,"Sunday, 29 November 2026, 7:30 PM"\n'
    'Participant 4713,Cy Dee,s3,Group A,"Sunday, 29 November 2026, 7:30 PM"\n'
)
GROUPS = "name,canvas_user_id,user_id,login_id,sections,group_name,canvas_group_id,group_id\n"


def save(place, content, name="all.zip"):
    (place / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(place / name)


def works(course):
    return {
        path.split("/")[0]: file.read_bytes()
        for path, file in tree(course).items()
        if path.endswith(NAME)
    }


def test_moodles_groups_are_no_students(course, tmp_path, capsys):
    assert collect(save(tmp_path, moodle(TEAMS))) == 1
    assert not tree(course) and not students(course)
    out = capsys.readouterr().out
    assert out.count("these are hand-ins of groups: give a --roster with a column `group`") == 2


def test_those_in_no_group_are_no_student(course, tmp_path, capsys):
    """Moodle gives their folder no number."""
    files = {
        f"Default group_assignsubmission_file/{NAME}": solved("x"),
        f"The Rooflines_18_assignsubmission_file/{NAME}": solved("b"),
    }
    assert collect(save(tmp_path, zipped(files))) == 1
    assert not tree(course) and "hand-ins of groups" in capsys.readouterr().out


def test_a_roster_without_groups_does_not_make_one_of_a_member(course, tmp_path, capsys):
    """The group's number may by chance be a participant's."""
    text = WORKSHEET
    for group in (",The Rooflines", ",Group A", ",Group"):
        text = text.replace(group, "")
    options = ["--roster", save(tmp_path, text, "sheet.csv")]
    assert collect(save(tmp_path, moodle(TEAMS)), *options) == 1
    assert not tree(course)
    out = capsys.readouterr().out
    assert "Group A has the number of Ann Lee (s1): for a group, give a roster" in out
    assert "The Rooflines is not on the roster" in out


def test_each_member_has_the_groups_hand_in(course, tmp_path, capsys):
    options = ["--roster", save(tmp_path, WORKSHEET, "sheet.csv"), "--timezone", "UTC"]
    assert collect(save(tmp_path, moodle(TEAMS)), *options) == 0
    assert works(course) == {"s1": solved("b"), "s2": solved("a"), "s3": solved("a")}
    stamp = (course / "submitted" / "s3" / LESSON / "timestamp.txt").read_text()
    assert stamp == "2026-11-29 19:30:00 UTC\n"
    assert "3 taken" in capsys.readouterr().out


def test_canvas_gives_a_group_the_number_of_one_member(course, tmp_path, capsys):
    source = save(tmp_path, canvas({"groupa_101": solved("a"), "therooflines_103": solved("b")}))
    assert collect(source) == 1
    assert not tree(course) and not students(course)
    assert capsys.readouterr().out.count("these are hand-ins of groups") == 2
    gradebook = "Student,ID,SIS Login ID\n" + '"Lee, Ann",101,s1\n"Chen, Bo",103,s2\n'
    assert collect(source, "--roster", save(tmp_path, gradebook, "grades.csv")) == 1
    assert not tree(course)
    assert "groupa has the number of Ann Lee (s1)" in capsys.readouterr().out
    lines = [
        "Ann Lee,101,1,s1,A,Group A,5,",
        "Cy Dee,102,2,s3,A,Group A,5,",
        "Bo Chen,103,3,s2,A,The Rooflines,6,",
    ]
    roster = save(tmp_path, GROUPS + "\n".join(lines), "groups.csv")
    assert collect(source, "--roster", roster) == 0
    assert works(course) == {"s1": solved("a"), "s3": solved("a"), "s2": solved("b")}


def test_two_groups_that_are_one_here_are_refused(course, tmp_path, capsys):
    roster = "student_id,group\ns1,Group A\ns2,Group-A\n"
    source = save(tmp_path, canvas({"groupa_101": solved("a")}))
    assert collect(source, "--roster", save(tmp_path, roster, "r.csv")) == 1
    assert "groupa may be the group 'Group A' or 'Group-A'" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["Tim Grouper_1", "Siobhán O'Brien_2", "王小明_3", "Jean Teamo_4"])
def test_a_persons_name_is_no_groups(course, tmp_path, name):
    data = moodle({name: solved("x"), "Ann Lee_9": solved("y")}, days_apart=1)
    assert collect(save(tmp_path, data)) == 0
    assert len(works(course)) == 2


def test_a_person_whose_name_is_written_in_two_ways_keeps_the_number(course, tmp_path):
    roster = (
        "Identifier,Full name,ID number\nParticipant 9,Ann Maria Lee,s1\nParticipant 8,B C,s2\n"
    )
    data = moodle({"Ann Lee_9": solved("y"), "B C_8": solved("z")}, days_apart=1)
    assert collect(save(tmp_path, data), "--roster", save(tmp_path, roster, "r.csv")) == 0
    assert set(works(course)) == {"s1", "s2"}
