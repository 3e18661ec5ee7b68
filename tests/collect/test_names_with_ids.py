"""Archives whose names hold more than a name: ids in them count where a roster is there."""

import pytest
from archives import zipped
from grading_course import LESSON
from test_collect import NAME, collect, solved, tree

from proflab_course.collect.attempts import Attempt
from proflab_course.collect.roster import Roster, Student

ROSTER = """student_id,first_name,last_name,email
jmueller,Jörg,Müller,joerg@uni.example
alee,Ann,Lee,ann.lee@uni.example
20261234,Siobhán,O'Brien,sobrien@uni.example
1,Bo,Chen,bo@uni.example
"""
ILIAS = "Müller_Jörg_jmueller_4711/20261120_{name}", "Lee_Ann_alee_4712/20261120_{name}"
PRAIRIELEARN = (
    "joerg@uni.example_1_lessons-1_1_2026-11-20T13:01:02_{name}",
    "alee@uni.example_1_lessons-1_1_2026-11-20T13:01:02_{name}",
    "20261234_1_lessons-1_1_2026-11-20T13:01:02_{name}",
)
CLASSROOM = "Jörg Müller - {name}", "Copy of {lesson} - Ann Lee.ipynb", "{lesson} - Bo Chen.ipynb"
WHOSE = {ILIAS: ("jmueller", "alee"), PRAIRIELEARN: ("jmueller", "alee", "20261234"),
         CLASSROOM: ("jmueller", "alee", "1")}  # fmt: skip


def write(tmp_path, names, roster=ROSTER):
    """Write an archive with a notebook of its own under each name, and the class list."""
    paths = [name.format(name=NAME, lesson=LESSON) for name in names]
    (tmp_path / "all.zip").write_bytes(zipped({path: solved(path) for path in paths}))
    (tmp_path / "roster.csv").write_text(roster, encoding="utf-8")
    return paths, [tmp_path / "all.zip", "--roster", str(tmp_path / "roster.csv")]


@pytest.mark.parametrize("names", WHOSE, ids=["ILIAS", "PrairieLearn", "Google Classroom"])
def test_ids_addresses_and_names_in_longer_names_count(course, tmp_path, names):
    paths, words = write(tmp_path, names)
    assert collect(*words) == 0
    found = tree(course)
    for path, student in zip(paths, WHOSE[names], strict=True):
        assert found[f"{student}/{LESSON}/{NAME}"].read_bytes() == solved(path)


def test_a_name_with_two_ids_and_a_part_of_another_word_are_nobodys(course, tmp_path, capsys):
    _, words = write(tmp_path, ["alee_jmueller/x.ipynb", "Joann Leeds/x.ipynb", "alee/x.ipynb"])
    assert collect(*words) == 1
    out = capsys.readouterr().out
    assert "alee_jmueller may be Jörg Müller (jmueller) and Ann Lee (alee)" in out
    assert "Joann Leeds is not on the roster" in out
    assert sorted({path.partition("/")[0] for path in tree(course)}) == ["alee"]


def test_a_roster_that_knows_nobody_is_one_sentence(course, tmp_path, capsys):
    _, words = write(tmp_path, [f"who{n:03}/{NAME}" for n in range(115)])
    assert collect(*words) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and len(err) < 500
    assert "none of the 115 names in the archive (who000, who001" in err
    assert "Brightspace, Blackboard or Gradescope does, or by STUDENT/FILE or STUDENT_L" in err
    assert not tree(course)


BRIGHTSPACE = "OrgDefinedId,Username,Last Name,First Name,Email,End-of-Line Indicator\n" + "".join(
    f"#{number},#{login},Schmidt,Anna,{login}@x.example,#\n"
    for number, login in ((1001, "aschmidt"), (1002, "aschmid2"))
)


@pytest.mark.parametrize("number", [1001, 7])
def test_two_of_one_name_on_brightspace(course, tmp_path, capsys, number):
    names = [
        f"{n}-900 - Anna Schmidt - Oct {n % 9 + 1}, 2026 215 PM/{NAME}" for n in (number, 1002)
    ]
    paths, words = write(tmp_path, names, BRIGHTSPACE)
    assert collect(*words) == int(number == 7)
    found = tree(course)
    assert found[f"aschmid2/{LESSON}/{NAME}"].read_bytes() == solved(paths[1])
    if number == 7:  # which is nobody's
        out = capsys.readouterr().out
        assert "may be Anna Schmidt (aschmidt) and Anna Schmidt (aschmid2)" in out
        assert "give the number 7 in the roster" in out
    else:
        assert found[f"aschmidt/{LESSON}/{NAME}"].read_bytes() == solved(paths[0])


def test_a_number_of_moodles_is_nobodys_on_another_platform():
    students = [Student("ann", "Ann", "Lee", number="101"), Student("wu", "Wu", "Wang", number="7")]
    roster = Roster(students, of_moodle=True)
    for platform, found in (("Canvas", "wu"), ("Moodle", "")):
        matched, reason = roster.match(Attempt("wuwang", "101", "wuwang_101"), platform)
        assert [student.id for student in matched] == ([found] if found else []), reason


def test_a_login_is_known_in_any_case():
    roster = Roster([Student("JMueller", "Jörg", "Müller")])
    matched, _ = roster.match(Attempt("Jo", "", "Jo", aliases=("jmueller",)), "Blackboard")
    assert [student.id for student in matched] == ["JMueller"]
