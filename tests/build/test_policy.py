"""What a class may ask of AI assistants: chosen by the instructor, told to both."""

import nbformat
import pytest
from mini_course import ROOT, make_course

from proflab.lesson.outline import Outline
from proflab_course.build.policy import FILES, chosen_policy, policies
from proflab_course.cli import main


def build(root, monkeypatch, *arguments):
    monkeypatch.chdir(root)
    return main(["build", *arguments, "--audit", "static"])


def choose(root, text):
    (root / "private").mkdir(exist_ok=True)
    (root / "private/course.toml").write_text(text, encoding="utf-8")


def first_cell(folder):
    [path] = folder.glob("*.ipynb")
    return nbformat.read(path, as_version=4).cells[0].source


@pytest.mark.parametrize("name", policies())
def test_a_policy_is_told_to_students_and_to_their_assistants(tmp_path, monkeypatch, capsys, name):
    root = make_course(tmp_path).root
    choose(root, f'[course]\nai = "{name}"\n')
    assert build(root, monkeypatch) == 0
    assert "AI" not in capsys.readouterr().out
    policy = policies()[name]
    for lesson in ("01_first", "02_second"):
        folder = root / "release" / lesson
        assert f"**AI assistants.** {policy.student}" in first_cell(folder)
        assert {(folder / file).read_text("utf-8") for file in FILES} == {policy.agents}
    assert build(root, monkeypatch, "--check") == 0


def test_without_a_choice_nothing_is_written_and_the_build_says_where_policies_are(
    tmp_path, monkeypatch, capsys
):
    root = make_course(tmp_path).root
    assert build(root, monkeypatch) == 0
    said = "note: no policy on AI assistants is chosen: docs/ai.md has three"
    assert said in capsys.readouterr().out
    assert "AI assistants" not in first_cell(root / "release/01_first")
    assert not [path for file in FILES for path in root.rglob(file)]


def test_a_class_tree_has_it_at_its_root_and_on_its_pages(tmp_path, monkeypatch):
    root = make_course(tmp_path / "course").root
    (root / "docs").mkdir()
    (root / "docs/students.md").write_text("# For students\n\nRead.\n")
    choose(root, '[course]\nai = "tutor"\n')
    assert build(root, monkeypatch, "--through", "1", "-o", str(tmp_path / "tree")) == 0
    policy, tree = policies()["tutor"], tmp_path / "tree"
    page = f"# For students\n\n{policy.paragraph}\n\nRead.\n"
    assert (tree / "README.md").read_text("utf-8") == page
    assert (tree / "docs/students.md").read_text("utf-8") == page
    assert (tree / "AGENTS.md").read_text("utf-8") == policy.agents
    assert (tree / "release/01_first/CLAUDE.md").read_text("utf-8") == policy.agents


def test_the_policy_may_change_and_hand_ins_are_of_the_same_release(tmp_path, monkeypatch):
    root, stamps = make_course(tmp_path).root, []
    for name in ("none", "log"):
        choose(root, f'[course]\nai = "{name}"\n')
        assert build(root, monkeypatch, "1") == 0
        path = root / "release/01_first/01_first.ipynb"
        stamps.append(nbformat.read(path, as_version=4).metadata["proflab"])
    assert stamps[0] == stamps[1]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[course]\nai = "yes"\n', "ai must be one of"),
        ("[course]\nai = 1\n", "course.ai must be a text in quotes, not 1"),
        ('ai = "log"\n', "has an entry 'ai'; it may have course"),
        ('[course]\nAI = "log"\n', "has an entry 'AI'; it may have ai, board, "),
        ('[course]\nbaord = "off"\n', "has an entry 'baord'; it may have "),
        ('[course]\nbaord = "off"\n', "; perhaps board is meant"),
        ("course = 1\n", "course must be a table, not 1"),
        ("[course\n", "is not TOML ("),
        ('[course]\nboard = "all"\n', 'board must be one of "aliases", "names", '),
        ('[course]\nlock = "yes"\n', "lock must be true or false, not 'yes'"),
        ("[course]\nregrade = 3\n", "regrade must be true, false or a sentence"),
        ("[course]\nconcept_points = true\n", "concept_points must be 1 for a point for each"),
        ('[course]\nlessons = ["99"]\n', "course.lessons: there is no lesson 99 (01, 02"),
        ('[course]\nlessons = [["01"]]\n', 'lessons must be a list of numbers such as ["01", '),
    ],
)
def test_a_mistaken_choice_is_one_sentence_that_names_the_file(
    tmp_path, monkeypatch, capsys, text, sentence
):
    root = make_course(tmp_path).root
    choose(root, text)
    assert build(root, monkeypatch) == 2
    said = capsys.readouterr().err.strip()
    assert sentence in said and "private/course.toml" in said and "\n" not in said
    assert not (root / "release").exists()


@pytest.mark.parametrize("lock", [False, True])
def test_lesson_json_says_whether_demo_cells_wait_for_guesses(tmp_path, monkeypatch, lock):
    root = make_course(tmp_path).root
    choose(root, f"[course]\nlock = {str(lock).lower()}\n")
    assert build(root, monkeypatch, "1") == 0
    outline = Outline.read(root / "release/01_first")
    assert outline.lock == lock


def test_an_empty_table_is_no_choice(tmp_path):
    choose(tmp_path, "[course]\n")
    assert chosen_policy(tmp_path) is None


def test_a_page_of_the_lessons_own_is_not_overwritten(tmp_path, monkeypatch, capsys):
    root = make_course(tmp_path).root
    (root / "modules/01_first/AGENTS.md").write_text("mine\n")
    choose(root, '[course]\nai = "log"\n')
    assert build(root, monkeypatch) == 2
    assert "01_first/AGENTS.md would be overwritten" in capsys.readouterr().err


def test_the_page_for_instructors_has_the_policies_to_the_word():
    page = " ".join((ROOT / "docs/ai.md").read_text(encoding="utf-8").replace("\n> ", " ").split())
    for policy in policies().values():
        assert policy.student in page
        assert " ".join(policy.agents.split()).startswith("This folder is a course")
    assert len((ROOT / "docs/ai.md").read_text(encoding="utf-8").split()) <= 900
