"""A Sphinx extension: links to files that are no pages of the site lead to the repository."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from posixpath import normpath

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform


class LinksToRepository(SphinxPostTransform):
    """Lead links to files and folders that are no pages of the site to the repository."""

    default_priority = 8  # before MyST-Parser would say that it does not know them

    def run(self, **_) -> None:
        """Replace them on one page."""
        for node in list(self.document.findall(addnodes.pending_xref)):
            if node["reftype"] == "myst" and node["refdomain"] != "doc":
                if address := self.address(node["reftarget"]):
                    reference = nodes.reference("", "", internal=False, refuri=address)
                    node.replace_self(reference)
                    reference += node.children

    def address(self, target: str) -> str:
        """Return the address of a file or folder of the repository; empty for what is none."""
        name, hash_, fragment = target.partition("#")
        path = normpath(PurePosixPath(self.env.docname).parent / name)
        there = Path(self.config.repository_root, path)
        if not name or path.startswith("..") or not there.exists():
            return ""
        kind = "tree" if there.is_dir() else "blob"
        return f"{self.config.repository}/{kind}/main/{path}{hash_}{fragment}"


def setup(app: Sphinx) -> dict:
    """Connect it to Sphinx."""
    app.add_config_value("repository", "", "env", str)
    app.add_config_value("repository_root", "", "env", str)
    app.add_post_transform(LinksToRepository)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
