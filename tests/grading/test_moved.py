"""Hand-ins of releases whose helpers were in `proflab.lesson` are graded as they were then."""

import json
import subprocess
import sys

import nbformat
import pytest
from grading_course import ROOT, cell, warm_runner

from proflab_course.course.answer_cells import ORDERS
from proflab_course.course.notebook import HIDDEN
from proflab_course.course.release_stamp import STAMP, make_stamp
from proflab_course.grading.answer_key import FORMER, make_key
from proflab_course.grading.grade_notebook import grade_notebook
from proflab_course.grading.races import COSTS, METADATA
from proflab_course.grading.records.nbgrader_plugin import ClearAnswers

# Of each lesson: a locked cell, what it imported then and imports now; an exercise, and what a
# student imported in it.
THEN = {
    "05_profiler": (
        "memory_tools",
        "from proflab.lesson.doubles import profiled",
        "import profiled  #",
        "op_bytes",
        "from proflab.lesson.doubles.profiled import interrupted\n"
        "from proflab.lesson.doubles import Before, earlier\n"
        "assert earlier.facts(read=8).read == 8 and doubles.Before is Before",
    ),
    "10_cuda_roofline": (
        "imports",
        "from proflab.lesson.cuda import doubles as fake",
        "import kernel_doubles as fake",
        "fma_lines",
        "from proflab.lesson.cuda.doubles import run_lines\n"
        "assert cuda.loops.SWEEP and cuda.workloads.TABLE",
    ),
    "11_gpu_training": (
        "imports",
        "from proflab.lesson.cuda import trace_doubles as fake",
        "import trace_doubles as fake",
        "gpu_busy",
        "import proflab.lesson.cuda.train_document as documents\n"
        "assert documents is cuda.train_document and documents.KINDS",
    ),
}


def handed_in(lesson, source):
    """Return the lesson's solved notebook as a release of then would have it."""
    locked, then, now, exercise, lines = THEN[lesson]
    notebook = nbformat.read(ROOT / "release" / lesson / f"{lesson}.ipynb", as_version=4)
    for each in notebook.cells:
        marks = each.metadata.get("nbgrader", {})
        if marks.get("solution") and not marks.get("grade"):
            each.source = cell(source, marks["grade_id"]).source
    given = cell(notebook, locked)
    assert now in given.source
    given.source = "\n".join(then if now in line else line for line in given.source.splitlines())
    cell(notebook, exercise).source = f"{lines}\n{cell(notebook, exercise).source}"
    notebook.metadata[STAMP] = make_stamp(lesson, notebook.cells)
    return notebook


@pytest.mark.parametrize("lesson", THEN)
def test_a_hand_in_with_the_former_places_keeps_all_its_points(lesson):
    folder = ROOT / "source" / lesson
    source = nbformat.read(folder / f"{lesson}.ipynb", as_version=4)
    key = make_key(lesson, source)
    result = grade_notebook(handed_in(lesson, source), key, folder, False, warm_runner())
    assert result.score == key.max_score, result.errors


@pytest.mark.whole
def test_exercises_that_moved_to_lesson_12_cost_a_hand_in_of_lesson_09_nothing():
    """The section on the KV cache, solved, as a release had it in lesson 09."""
    name = "09_optimization"
    source = nbformat.read(ROOT / f"source/{name}/{name}.ipynb", as_version=4)
    notebook = nbformat.read(ROOT / f"release/{name}/{name}.ipynb", as_version=4)
    for each in notebook.cells:
        marks = each.metadata.get("nbgrader", {})
        if marks.get("solution") and not marks.get("grade"):
            each.source = cell(source, marks["grade_id"]).source
    section = json.loads((ROOT / "tests/data/lesson_09_cache_section.json").read_text("utf-8"))
    names = {each["metadata"].get("nbgrader", {}).get("grade_id") for each in section}
    assert {"generation_flops", "test_generation_flops", "paged_tokens"} < names
    place = notebook.cells.index(cell(notebook, "test_through_tiles_3")) + 1
    notebook.cells[place:place] = [nbformat.from_dict(each) for each in section]
    notebook.metadata[STAMP] = make_stamp(name, notebook.cells)
    key = make_key(name, source)
    result = grade_notebook(notebook, key, ROOT / "source" / name, False, warm_runner())
    assert (result.score, result.status) == (key.max_score, "graded"), result.sentence


FIXED = '''
def buckets(layers, alpha_ms, ms_per_byte):
    """Return cuts behind which bytes take as long as latency."""
    cuts, held = [], 0
    for at, (_, size) in enumerate(layers):
        held += size
        if held * ms_per_byte >= alpha_ms or at == len(layers) - 1:
            cuts, held = [*cuts, at], 0
    return cuts
'''


@pytest.mark.whole
def test_an_unchanged_hand_in_is_graded_by_the_test_cell_that_its_release_had():
    """The race of buckets had another list of gradients, for which this plan was a better one."""
    name = "11_gpu_training"
    source = nbformat.read(ROOT / f"source/{name}/{name}.ipynb", as_version=4)
    notebook = nbformat.read(ROOT / f"release/{name}/{name}.ipynb", as_version=4)
    once = source.metadata[FORMER]["test_buckets"].partition(HIDDEN[0])[0]
    cell(notebook, "test_buckets").source = once.replace('WORKLOADS["resnet18"]', "gradients")
    given = cell(notebook, "gradients")
    given.source = given.source.replace("resnet50", "resnet18")
    cell(notebook, "buckets").source = FIXED
    key = make_key(name, source)

    def handed_in():
        result = grade_notebook(notebook, key, ROOT / "source" / name, False, warm_runner())
        return result.scores["test_buckets"], result.sentence

    points, said = handed_in()  # its stamp is today's: the cell was changed
    assert (points, "test_buckets was changed" in said) == (6.02, True)
    notebook.metadata[STAMP] = make_stamp(name, notebook.cells)
    points, said = handed_in()
    assert (points, said) == (6.88, "cell test_buckets was graded as its release had it")


def test_nbgraders_own_release_has_no_test_cell_of_a_former_one():
    source = nbformat.read(ROOT / "source/11_gpu_training/11_gpu_training.ipynb", as_version=4)
    about = {name: 0 for name in (FORMER, METADATA, COSTS, ORDERS)}
    source.metadata |= about
    notebook, _ = ClearAnswers().preprocess(source, {})
    assert STAMP in notebook.metadata and not about.keys() & notebook.metadata.keys()


def test_without_the_lessons_file_one_sentence_names_it(tmp_path):
    for code in ("import proflab.lesson.cuda.loops", "from proflab.lesson.cuda import loops"):
        words = [sys.executable, "-c", code]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert "proflab.lesson.cuda.loops is now loops.py, beside the notebook" in done.stderr


def test_a_module_of_today_is_found_before_a_name_that_moved():
    """The kernel doubles of lesson 10 have a function `document`, and so has `cuda` a module."""
    beside = ROOT / "modules" / "10_cuda_roofline"
    code = "import kernel_doubles; from proflab.lesson.cuda import document; print(document.load)"
    done = subprocess.run([sys.executable, "-c", code], cwd=beside, capture_output=True, text=True)
    assert "function load" in done.stdout, done.stderr
