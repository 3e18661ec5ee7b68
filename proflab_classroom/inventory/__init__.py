"""The inventory: the same ideas asked before a course and after it, and what a class has gained.

feature.py    what `proflab build`, `report` and `export` get of all this
items.py      modules/inventory.toml, and who takes which form
notebooks.py  a notebook of each half and form, and the list for a class
answers.py    what students have answered, from their graded notebooks
gain.py       gain with its interval, and tests by pair, from numbers alone
page.py       the page: items before and after, and the gain
table.py      the answers of those who agreed, without names
templates/    the page's HTML
"""
