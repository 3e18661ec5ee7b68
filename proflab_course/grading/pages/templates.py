"""Find the templates of a command's pages, and the palette that all pages share."""

from __future__ import annotations

from pathlib import Path

from jinja2 import BaseLoader, ChoiceLoader, FileSystemLoader, PackageLoader

PALETTE = "palette.css.j2"  # beside this file; templates include it by this name


def template_loader(package: str, *folders: Path) -> ChoiceLoader:
    """Return what finds a package's templates, those in other folders, and the palette."""
    own: list[BaseLoader] = [FileSystemLoader(folder) for folder in folders]
    shared = FileSystemLoader(Path(__file__).parent)
    return ChoiceLoader([*own, PackageLoader(package), shared])
