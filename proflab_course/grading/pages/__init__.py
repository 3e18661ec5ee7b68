"""Pages about one submission: feedback, and formgrader's view. `proflab report` has its own folder.

notebook_pages.py  replace all that a student wrote by HTML that a browser only displays
feedback.py        feedback: what a student may see of hidden cases
overview.py        feedback: what to correct first, and folded sections
marking_page.py    formgrader: what stands above an answer that a person marks
board.py           races: the class's lowest costs, for the report too
templates.py       where templates are, and what all pages share: frame, colours, kit
inert.py           allow-lists of the HTML that may reach a browser
markup.py          a piece of a page as HTML
render.py          make that HTML in a limited process, page by page
"""
