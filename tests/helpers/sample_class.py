"""The sample class in submitted/: sixteen hand-ins for lesson 01, made from the release notebook.

`python tests/helpers/sample_class.py` writes them anew after the lesson has changed. EXPECTED says
what each must get; tests/grading/test_grade.py grades them and compares.
"""

from __future__ import annotations

import copy
import io
import json
import textwrap
import zipfile
from pathlib import Path

from proflab_classroom.questions.concepts_file import read_concepts
from proflab_course.course.answer_cells import is_answer_cell, open_answers
from proflab_course.course.layout import Course

ROOT = Path(__file__).resolve().parents[2]
LESSON = "01_parameters"

COMPLETE = {
    "linear_parameters": """
        def linear_parameters(in_features, out_features, bias=True):
            for size in (in_features, out_features):
                if size < 1:
                    raise ValueError(f"a layer needs at least one feature, not {size}")
            weights = in_features * out_features
            return weights + out_features if bias else weights
    """,
    "conv2d_parameters": """
        def conv2d_parameters(in_channels, out_channels, kernel_size, bias=True, groups=1):
            try:
                height, width = kernel_size
            except TypeError:
                height = width = kernel_size
            if min(in_channels, out_channels, groups, height, width) < 1:
                raise ValueError("every size must be at least 1")
            if in_channels % groups != 0 or out_channels % groups != 0:
                raise ValueError("groups must divide the input and the output channels")
            weights = out_channels * (in_channels // groups) * height * width
            if bias:
                weights += out_channels
            return weights
    """,
    "attention_parameters": """
        def attention_parameters(d_model, bias=True):
            # query, key, value, output
            return sum(linear_parameters(d_model, d_model, bias) for _ in range(4))
    """,
    "count_parameters": """
        def count_parameters(model, trainable_only=False):
            if isinstance(model, Tensor):
                return 0
            if not hasattr(model, "parameters"):
                raise ValueError("this is not a model")
            seen = set()
            total = 0
            for p in model.parameters():
                if id(p) in seen:
                    continue
                seen.add(id(p))
                if trainable_only and not p.requires_grad:
                    continue
                total += p.numel()
            return total
    """,
    "parameter_memory_mb": """
        def parameter_memory_mb(model, dtype=None):
            if isinstance(model, Tensor):
                return 0.0
            if not hasattr(model, "parameters"):
                raise ValueError("this is not a model")
            size = None
            if dtype is not None:
                try:
                    size = np.dtype(dtype).itemsize
                except TypeError as problem:
                    raise ValueError(f"unknown dtype {dtype}") from problem
            tensors = {id(p): p for p in model.parameters()}
            total = 0
            for p in tensors.values():
                total += p.numel() * (size if size is not None else np.dtype(p.dtype).itemsize)
            return total / 2**20
    """,
    "parameter_table": """
        def parameter_table(model):
            if isinstance(model, Tensor):
                return []
            if not hasattr(model, "named_parameters"):
                raise ValueError("this is not a model")
            seen, rows = [], []
            for name, p in model.named_parameters():
                if not any(p is other for other in seen):
                    seen.append(p)
                    rows.append(dict(name=name, shape=tuple(p.shape), count=p.numel()))
            total = sum(row["count"] for row in rows)
            for row in rows:
                row["share"] = row["count"] / total
            rows.sort(key=lambda row: -row["count"])
            return rows
    """,
    "gpt2_parameters": """
        def gpt2_parameters(vocab_size, context, d_model, layers):
            if any(size < 1 for size in (vocab_size, context, d_model, layers)):
                raise ValueError("all sizes must be positive")
            vectors = vocab_size * d_model + context * d_model
            attention = 4 * (d_model**2 + d_model)
            mlp = d_model * 4 * d_model + 4 * d_model + 4 * d_model * d_model + d_model
            norms = 2 * (2 * d_model)
            return vectors + layers * (attention + mlp + norms) + 2 * d_model
    """,
    "reflect_deployment": """
        def reflect_deployment(parameters, bytes_per_parameter, memory_gb):
            for value in (parameters, bytes_per_parameter, memory_gb):
                if value <= 0:
                    raise ValueError("nothing can be negative or zero here")
            size = parameters * bytes_per_parameter
            return {"model_mb": size / 1024**2, "fits": size <= memory_gb * 1024**3}
    """,
}

ESSAY = """
AlexNet: 60,965,224 · 4 = 243.9 · 10⁶ bytes, rounded down to 240. SqueezeNet: 1,248,424 · 4 is 4.76
in MB of 1024². The reduction is 48.8×. My table would have the exact count and the dtype.
"""

# The biases are forgotten, and a matrix that is used twice is counted twice.
NO_BIAS_NO_TIES = {
    "linear_parameters": """
        def linear_parameters(in_features, out_features, bias=True):
            if in_features < 1 or out_features < 1:
                raise ValueError("sizes must be positive")
            return in_features * out_features
    """,
    "attention_parameters": """
        def attention_parameters(d_model, bias=True):
            if d_model < 1:
                raise ValueError("d_model must be positive")
            return 4 * d_model * d_model
    """,
    "count_parameters": """
        def count_parameters(model, trainable_only=False):
            if isinstance(model, Tensor):
                return 0
            if not hasattr(model, "parameters"):
                raise ValueError("not a model")
            kept = [p for p in model.parameters() if p.requires_grad or not trainable_only]
            return sum(p.numel() for p in kept)
    """,
    "gpt2_parameters": """
        def gpt2_parameters(vocab_size, context, d_model, layers):
            if min(vocab_size, context, d_model, layers) < 1:
                raise ValueError("sizes must be positive")
            block = 12 * d_model**2 + 13 * d_model
            head = vocab_size * d_model
            return (vocab_size + context) * d_model + layers * block + 2 * d_model + head
    """,
}

# A megabyte is taken for 10⁶ bytes throughout, and the convolution's kernel for a square.
OTHER_MEGABYTE = {
    "conv2d_parameters": """
        def conv2d_parameters(in_channels, out_channels, kernel_size, bias=True, groups=1):
            if isinstance(kernel_size, (tuple, list)):
                kernel_size = kernel_size[0]
            if min(in_channels, out_channels, kernel_size, groups) < 1:
                raise ValueError("sizes must be positive")
            if in_channels % groups or out_channels % groups:
                raise ValueError("groups must divide the channels")
            return out_channels * (in_channels // groups * kernel_size**2 + bool(bias))
    """,
    "parameter_memory_mb": """
        def parameter_memory_mb(model, dtype=None):
            size = np.dtype(dtype or "float32").itemsize
            return count_parameters(model) * size / 1e6
    """,
    "reflect_deployment": """
        def reflect_deployment(parameters, bytes_per_parameter, memory_gb):
            if min(parameters, bytes_per_parameter, memory_gb) <= 0:
                raise ValueError("must be positive")
            mb = parameters * bytes_per_parameter / 1e6
            return {"model_mb": mb, "fits": mb <= memory_gb * 1000}
    """,
}

ALL = set(COMPLETE)
FIRST_FOUR = ("linear_parameters", "conv2d_parameters", "attention_parameters", "count_parameters")

# For each hand-in: its status, the exercises (or single test cells) that earn all of their points,
# and whether the essay waits for a person.
EXPECTED = {
    "complete": ("graded", ALL, True),
    "half_done": ("graded", set(FIRST_FOUR), False),
    "forgets_biases": (
        "graded",
        {"conv2d_parameters", "parameter_memory_mb", "parameter_table", "reflect_deployment"}
        | {"test_linear_parameters_2", "test_attention_parameters_2"}
        | {"test_count_parameters", "test_count_parameters_3", "test_count_parameters_4"},
        True,
    ),
    "other_megabyte": (
        "graded",
        ALL - {"conv2d_parameters", "parameter_memory_mb", "reflect_deployment"},
        True,
    ),
    "empty": ("graded", set(), False),
    "syntax_error": ("graded", ALL - {"parameter_table"}, True),
    "lost_metadata": ("metadata recovered", ALL, True),
    "not_json": ("not a notebook", set(), False),
    "one_cell": ("graded", ALL, True),
    "rearranged": ("graded", ALL, True),
    "browser_copy": ("renamed", ALL, True),
    "zipped": ("renamed", ALL, True),
    "no_folder": ("renamed", ALL, True),
    "older_release": ("older release", ALL, True),
    "utf16": ("graded", ALL, True),
    "wrong_date": ("graded", ALL, True),
}


def make_files() -> dict[str, bytes]:
    """Return all of submitted/: the content of each file, by its path."""
    texts = make_all()
    files = {f"{name}/{LESSON}/{LESSON}.ipynb": text.encode() for name, text in texts.items()}
    complete = texts["complete"]
    files[f"browser_copy/{LESSON}/{LESSON} (1).ipynb"] = complete.encode()
    files[f"zipped/{LESSON}/homework.zip"] = packed(f"homework/{LESSON}.ipynb", complete)
    files[f"no_folder/{LESSON}.ipynb"] = complete.encode()
    files[f"utf16/{LESSON}/{LESSON}.ipynb"] = ("\ufeff" + complete).encode("utf-16-le")
    files[f"wrong_date/{LESSON}/timestamp.txt"] = b"03.12.2026\n"
    return files


def make_all() -> dict[str, str]:
    """The text of each notebook that was handed in in its place, by the hand-in's name."""
    release = json.loads((ROOT / "release" / LESSON / f"{LESSON}.ipynb").read_text("utf-8"))
    broken = textwrap.dedent(COMPLETE["parameter_table"]).replace("rows = []", "rows = [")
    broken = broken.replace("seen, rows = [], []", "seen, rows = [], [")
    first_four = {name: COMPLETE[name] for name in FIRST_FOUR}
    notebooks = {
        "complete": solved(release, COMPLETE, ESSAY),
        "half_done": solved(release, first_four, None),
        "forgets_biases": solved(release, COMPLETE | NO_BIAS_NO_TIES, ESSAY),
        "other_megabyte": solved(release, COMPLETE | OTHER_MEGABYTE, ESSAY),
        "empty": release,
        "syntax_error": solved(release, COMPLETE | {"parameter_table": broken}, ESSAY),
        "lost_metadata": as_colab_may_save(solved(release, COMPLETE, ESSAY)),
        "one_cell": in_one_cell(solved(release, {}, ESSAY)),
        "rearranged": rearranged(solved(release, COMPLETE, ESSAY)),
        "older_release": solved(earlier(release), COMPLETE, ESSAY),
        "wrong_date": solved(release, COMPLETE, ESSAY),
    }
    texts = {name: json.dumps(nb, indent=1, ensure_ascii=False) for name, nb in notebooks.items()}
    # An upload that broke off in the middle.
    texts["not_json"] = texts["complete"][: len(texts["complete"]) // 2]
    return {name: text + "\n" for name, text in texts.items()}


def solved(release: dict, solutions: dict[str, str], essay: str | None) -> dict:
    """A copy of the release notebook with these exercises written."""
    notebook = copy.deepcopy(release)
    right = {concept.name: concept.key for concept in read_concepts(Course(ROOT), LESSON)}
    for cell in notebook["cells"]:
        grade_id = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        if grade_id in solutions:
            cell["source"] = textwrap.dedent(solutions[grade_id]).strip()
        elif grade_id.startswith("essay") and essay:
            cell["source"] = essay.strip()
        elif grade_id.startswith("concept_") and is_answer_cell(grade_id):
            names = open_answers("".join(cell["source"]))
            cell["source"] = "\n".join(f'{name} = "{right[name]}"' for name in names)
    return notebook


def as_colab_may_save(notebook: dict) -> dict:
    """nbformat_minor 0, an id of its own in each cell's metadata, and nbgrader's metadata gone."""
    notebook = copy.deepcopy(notebook)
    notebook["nbformat_minor"] = 0
    notebook["metadata"] = {
        "colab": {"provenance": []},
        "kernelspec": {"display_name": "Python 3", "name": "python3"},
    }
    for number, cell in enumerate(notebook["cells"]):
        cell.pop("id", None)
        cell["metadata"] = {"id": f"{number:012x}"}
    return notebook


def place_of(notebook: dict, grade_id: str) -> int:
    """Return the position of the cell with this grade_id."""
    marks = [cell["metadata"].get("nbgrader", {}) for cell in notebook["cells"]]
    return [found.get("grade_id") for found in marks].index(grade_id)


def own_cell(code: str) -> dict:
    """Return a code cell of a student's own."""
    empty = {"execution_count": None, "metadata": {}, "outputs": []}
    return {"cell_type": "code", **empty, "source": code}


def in_one_cell(notebook: dict) -> dict:
    """All functions in one cell above the first exercise, the exercises' own cells deleted."""
    code = "\n\n\n".join(textwrap.dedent(text).strip() for text in COMPLETE.values())
    notebook["cells"].insert(place_of(notebook, next(iter(COMPLETE))), own_cell(code))
    for name in COMPLETE:
        del notebook["cells"][place_of(notebook, name)]
    return without_ids(notebook)


def rearranged(notebook: dict) -> dict:
    """Two exercises' cells merged, one split in two, one emptied and written in a cell above."""
    cells = notebook["cells"]
    first, second = (place_of(notebook, name) for name in FIRST_FOUR[:2])
    cells[first]["source"] += "\n\n\n" + cells.pop(second)["source"]
    place = place_of(notebook, "attention_parameters")
    cells.insert(place, own_cell("heads = 4  # query, key, value, output"))
    place = place_of(notebook, "gpt2_parameters")
    cells.insert(place, own_cell(cells[place]["source"]))
    cells[place + 1]["source"] = ""
    return without_ids(notebook)


def without_ids(notebook: dict) -> dict:
    """The notebook in the format before cells had ids."""
    notebook["nbformat_minor"] = 4
    for cell in notebook["cells"]:
        cell.pop("id", None)
    return notebook


def earlier(release: dict) -> dict:
    """A release of the lesson in which one test had other points, and another one case only."""
    import nbformat
    from nbgrader.preprocessors import ComputeChecksums

    from proflab_course.course.release_stamp import STAMP, make_stamp

    notebook = nbformat.reads(json.dumps(release), as_version=4)
    points = notebook.cells[place_of(notebook, "test_linear_parameters")]
    points.metadata.nbgrader.points = 12
    text = notebook.cells[place_of(notebook, "test_conv2d_parameters")]
    text.source = 'expect("1 → 1, 1 × 1", conv2d_parameters(1, 1, 1), 2)'
    notebook.metadata[STAMP] = make_stamp(LESSON, notebook.cells)
    return json.loads(nbformat.writes(ComputeChecksums().preprocess(notebook, {})[0]))


def packed(path: str, text: str) -> bytes:
    """A zip archive of one file, the same bytes on every machine: not compressed, no date."""
    member = zipfile.ZipInfo(path, date_time=(2026, 1, 1, 0, 0, 0))
    member.create_system, member.external_attr = 3, 0o644 << 16
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(member, text.encode())
    return buffer.getvalue()


def main() -> None:
    """Write submitted/."""
    for path, data in make_files().items():
        place = ROOT / "submitted" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


if __name__ == "__main__":
    main()
