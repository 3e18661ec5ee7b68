"""The course's site, built for tests, and a server for it; what its pages are made of."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from posixpath import dirname, join, normpath
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

from proflab_course.course.features import counted
from proflab_course.course.layout import Course

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "docs" / "site"
PROGRAM = ("build", "doc", "extensions", "lab")  # of JupyterLite
COURSE = Course(ROOT)
LESSONS = counted(COURSE.lessons("release"))
FIRST = LESSONS[0]
SHOWN = [FIRST, next(name for name in LESSONS if name.startswith("10"))]  # their demo cells run
REPORT = f"sample/reports/{FIRST}.html"


def lesson_page(lesson: str) -> str:
    """Return the path of a lesson's page below the site's folder."""
    return f"release/{lesson}/{lesson}.html"


def build_site(output: Path, *options: str) -> Path:
    """Build the site in a folder, as `make site` does; returns the folder of its pages."""
    command = [sys.executable, SITE / "build.py", "-o", output, *options]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "shows no solution and no hidden case" in answer.stdout
    return output / "html"


def parse(site: Path) -> dict[str, BeautifulSoup]:
    """Return every page by its path below the site's folder, but for JupyterLite's own."""
    found = {str(path.relative_to(site)): path for path in sorted(site.rglob("*.html"))}
    return {
        name: BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        for name, path in found.items()
        if not name.startswith(tuple(f"lite/{folder}/" for folder in PROGRAM))
    }


def broken_links(site: Path, pages: dict[str, BeautifulSoup]) -> list[str]:
    """Return a line for each link, picture, script or style of a page that leads nowhere."""
    named = {name: {each["id"] for each in page.select("[id]")} for name, page in pages.items()}
    files = {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()}
    found = []
    for name, page in pages.items():
        for element in page.select("[href], [src]"):
            target = urlsplit(element.get("href", element.get("src")))
            if target.scheme or target.netloc:
                continue
            place = normpath(join(dirname(name), unquote(target.path))) if target.path else name
            anchor = unquote(target.fragment)
            if place not in files or anchor and place in named and anchor not in named[place]:
                found.append(f"{name}: {element.name} {target.geturl()}")
    return found


def outside_requests(pages: dict[str, BeautifulSoup]) -> list[str]:
    """Return what loading the pages would ask other servers for."""
    loads = "img[src], script[src], iframe[src], source[src], video[src], audio[src], embed[src]"
    loads += ", link[rel=stylesheet], link[rel=preload], link[rel=preconnect], link[rel=icon]"
    return [
        f"{name}: {address}"
        for name, page in pages.items()
        for element in page.select(loads)
        if urlsplit(address := element.get("src") or element.get("href")).netloc
    ]


@contextmanager
def served(
    site: Path, sent: list[tuple[str, int]] | None = None, to_all: bool = False
) -> Iterator[str]:
    """Serve a folder; yields its address. sent: gets path and bytes of each file that is sent.

    to_all: also to pages of other servers, as Pyodide's own does.
    """

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Keep quiet."""

        def send_header(self, keyword: str, value: str) -> None:
            if sent is not None and keyword == "Content-Length" and self.command == "GET":
                sent.append((self.path, int(value)))
            super().send_header(keyword, value)

        def end_headers(self) -> None:
            if to_all:
                self.send_header("Access-Control-Allow-Origin", "*")
            super().end_headers()

        def copyfile(self, source, outputfile) -> None:
            try:
                super().copyfile(source, outputfile)
            except ConnectionError:  # the page was left
                pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
