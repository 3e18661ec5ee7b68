"""A Sphinx extension: what in the repository's pages leads out of the site.

Links to files that are no pages of the site lead to the repository, and a picture on another
server (a badge) becomes its text, so that reading a page asks nobody else for anything.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from posixpath import normpath

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class RemotePictures(SphinxTransform):
    """Replace pictures on other servers by their texts; a link around one becomes a button."""

    default_priority = 5

    def apply(self, **_) -> None:
        """Replace them on one page."""
        for picture in list(self.document.findall(nodes.image)):
            if "://" in picture["uri"] and not picture["uri"].startswith("data:"):
                if isinstance(picture.parent, nodes.reference):
                    picture.parent["classes"].append("button")
                picture.replace_self(nodes.inline("", picture.get("alt", "")))


def resolve_in_repository(app: Sphinx, env, node, content) -> nodes.reference | None:
    """Return a link to the repository for a relative link to one of its files or folders."""
    if node.get("reftype") != "myst":
        return None
    target, _, fragment = node["reftarget"].partition("#")
    path = normpath(PurePosixPath(node["refdoc"]).parent / target)
    there = Path(app.config.repository_root, path)
    if not target or path.startswith("..") or not there.exists():
        return None
    kind = "tree" if there.is_dir() else "blob"
    address = f"{app.config.repository}/{kind}/main/{path}" + (f"#{fragment}" if fragment else "")
    reference = nodes.reference("", "", internal=False, refuri=address)
    reference += content
    return reference


def name_the_fold(app: Sphinx, page: str, template: str, context: dict, doctree) -> None:
    """Let what a folded output says be its name, not myst-nb's "Toggle hidden content"."""
    if "body" in context:
        label = '<summary aria-label="Toggle hidden content">'
        context["body"] = context["body"].replace(label, "<summary>")


def setup(app: Sphinx) -> dict:
    """Connect both to Sphinx."""
    app.add_config_value("repository", "", "env", str)
    app.add_config_value("repository_root", "", "env", str)
    app.add_transform(RemotePictures)
    app.connect("missing-reference", resolve_in_repository)
    app.connect("html-page-context", name_the_fold)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
