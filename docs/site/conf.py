"""Sphinx's settings for the site of the course; `make site` (build.py) calls Sphinx with them.

The pages are those that build.py has put together in build/site/pages.
"""

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from proflab import __version__  # noqa: E402
from proflab_course.course.address import Address  # noqa: E402

project = "ProfLab"
author = "The ProfLab contributors"
copyright = "the ProfLab contributors, MIT licence"
release = version = __version__
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
extensions += ["links", "docstrings", "theme"]  # beside this file
repository = Address.read(ROOT).repository
repository_root = str(ROOT)
html_baseurl = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"].get(
    "Documentation", ""
)

# Pages are MyST; the notebooks have their outputs already.
myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 4
smartquotes = False  # the texts have the marks that they mean, and the audit finds them
nb_execution_mode = "off"
nb_code_prompt_show = "What you will see"
nb_code_prompt_hide = "What you will see"
suppress_warnings = ["mystnb.unknown_mime_type"]

# In docstrings `name` is code, and a link where the name is known.
default_role = "py:obj"
add_module_names = False
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autosummary_generate = False

html_theme = "furo"
html_title = "ProfLab"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_extra_path = [str(ROOT / "build" / "site" / "extra")]
html_copy_source = False
html_show_sphinx = False
html_use_index = True
html_domain_indices = False
html_theme_options = {
    "source_repository": f"{repository}/",
    "source_branch": "main",
    "top_of_page_buttons": [],
    "footer_icons": [
        {"name": "Repository", "url": repository, "html": "the repository", "class": ""},
        {
            "name": "Licence",
            "url": f"{repository}/blob/main/LICENSE",
            "html": "the licence",
            "class": "",
        },
    ],
}
