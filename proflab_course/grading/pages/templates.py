"""Find the templates of a command's pages, and what all pages share.

That lies beside this file: `palette.css.j2`, and `head.html.j2`, with what a page may load and run.
"""

from __future__ import annotations

from pathlib import Path

from jinja2 import BaseLoader, ChoiceLoader, FileSystemLoader, PackageLoader


def template_loader(package: str, *folders: Path) -> ChoiceLoader:
    """Return what finds a package's templates, those in other folders, and the shared ones."""
    own: list[BaseLoader] = [FileSystemLoader(folder) for folder in folders]
    shared = FileSystemLoader(Path(__file__).parent)
    return ChoiceLoader([*own, PackageLoader(package), shared])
