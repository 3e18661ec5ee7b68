"""Demo cells and long given cells are folded, and what they show stays to be seen."""

import pytest
from mini_course import FIRST, given, make_course

from proflab_course.build.command import build
from proflab_course.build.stamp import OPEN_LINES
from proflab_course.course.notebook import read_notebook

LONG = given("\n".join(f"x{n} = {n}" for n in range(OPEN_LINES + 1)), "long")
SHORT = given("\n\n".join(f"y{n} = {n}" for n in range(OPEN_LINES)), "short")


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    course = make_course(tmp_path_factory.mktemp("fold"), {"01_first": FIRST + LONG + SHORT})
    build(course)
    paths = (course.source("01_first"), course.release("01_first"))
    return [{c.name: c for c in read_notebook(path, "01_first").cells if c.name} for path in paths]


@pytest.mark.proves
def test_demos_and_long_given_cells_are_folded(cells):
    for each in cells:
        folded = {
            name
            for name, cell in each.items()
            if cell.node.metadata.get("jupyter", {}).get("source_hidden")
        }
        assert folded == {"colab_setup", "first_demo", "first_guess", "long"}
        assert all(each[name].node.metadata["cellView"] == "form" for name in folded)
        assert not any(
            "outputs_hidden" in cell.node.metadata.get("jupyter", {}) for cell in each.values()
        )


def test_compared_outputs_stay(cells):
    source, _ = cells
    assert "pi is 3.1416" in source["first_shown"].node.outputs[0].text
