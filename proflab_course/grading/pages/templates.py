"""Find the templates of a command's pages, and what all pages share.

That lies beside this file: `page.html.j2`, the frame that a page extends; `head.html.j2`, what it
may load and run; `palette.css.j2`, the colours; and `kit.html.j2`, what several pages draw or say,
as bars, tables that scroll, heads of columns, a count with its noun.
"""

from __future__ import annotations

from pathlib import Path

from jinja2 import BaseLoader, ChoiceLoader, FileSystemLoader, PackageLoader


def template_loader(package: str, *folders: Path) -> ChoiceLoader:
    """Return what finds a package's templates, those in other folders, and the shared ones."""
    own: list[BaseLoader] = [FileSystemLoader(folder) for folder in folders]
    shared = FileSystemLoader(Path(__file__).parent)
    return ChoiceLoader([*own, PackageLoader(package), shared])
