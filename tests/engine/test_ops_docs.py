"""docs/torch.md says what is there: it is generated, and has to be in step."""

from pathlib import Path

from lesson_demos import module_at

DOCS = Path(__file__).parents[2] / "docs"


def test_the_list_of_what_is_there_is_in_step():
    make = module_at(DOCS / "make_torch_md.py")
    assert (DOCS / "torch.md").read_text() == make.page(), "run: make api"
