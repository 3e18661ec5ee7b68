"""A Sphinx extension: what axe-core finds wrong with the theme's pages, mended once they are made.

The theme and myst-nb have no options for these, and their templates are too large to copy.
"""

from __future__ import annotations

from pathlib import Path

from sphinx.application import Sphinx

_CONTENTS = 'aria-label="On this page"'
MENDED = {
    # Landmarks of one kind need names.
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer">': f'<aside class="toc-drawer" {_CONTENTS}>',
    '<aside class="toc-drawer no-toc">': f'<aside class="toc-drawer no-toc" {_CONTENTS}>',
    # A heading needs a level.
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<div id="search-results"></div>': '<h1>Search</h1>\n<div id="search-results"></div>',
    # What a fold says is its name.
    '<summary aria-label="Toggle hidden content">': "<summary>",
}


def mend(app: Sphinx, error: Exception | None) -> None:
    """Replace these in every page, when Sphinx has written all."""
    if error is None and app.builder.format == "html":
        # A phone's head has room for the name alone.
        title, name = (
            f'<div class="brand">{words}</div>'
            for words in (app.config.html_title, app.config.project)
        )
        for path in Path(app.outdir).rglob("*.html"):
            text = path.read_text(encoding="utf-8").replace(title, name)
            for found, better in MENDED.items():
                text = text.replace(found, better)
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict:
    """Connect to the end of the build."""
    app.connect("build-finished", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
