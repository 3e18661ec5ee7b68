"""docs/torch.md says what is there: it is generated, and has to be in step."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_list_of_what_is_there_is_in_step():
    spec = importlib.util.spec_from_file_location("make_torch_md", DOCS / "make_torch_md.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    assert (DOCS / "torch.md").read_text() == make.page(), "run: make api"
