"""A tiny course with tracks, for tests of what a track leaves out, gives and links.

Lesson 01 has three sections; `total` needs `tax` of section 1, and the demo of section 2 needs
`mean`. Lesson 02 uses what lesson 01 built.
"""

from __future__ import annotations

from pathlib import Path

from mini_course import HEADER, code, essay, exercise, given, graded, make_course, markdown

from proflab_course.course.layout import Course

SHOP = "\n".join([
    HEADER,
    markdown("# 01 · A shop\n\nPrices, and in lesson 02 whole carts."),
    given("from proflab.lesson import expect, guesses", "shop_imports"),
    markdown("## 1 · Taxes\n\nA tax is a share of a price."),
    given("RATE = 0.25", "rate"),
    exercise('''
def tax(price):
    """Return the tax on a price."""
    ### BEGIN SOLUTION
    return price * RATE
    ### END SOLUTION
''', "tax"),
    graded('''
expect("of 8", tax(8), 2.0)
### BEGIN HIDDEN TESTS
expect("of a dear thing", tax(76_804), 19_201.0)
expect("of a cheap thing", tax(0.5), 0.125)
### END HIDDEN TESTS
''', "test_tax", 30),
    given('print("tax", tax(100))', "demo_tax", ("demo",)),
    markdown("""
Words at the end of section 1.

## 2 · Sums

What `tax` does, section 1 says, and section 3 more; `discount` is in lessons 01 and 02.

**Predict.** How much are the two?
"""),
    code("guess_two = None  # your guess", tags=("guess",)),
    exercise('''
def total(prices):
    """Return the sum of the prices, each with its tax."""
    ### BEGIN SOLUTION
    return sum(price + tax(price) for price in prices)
    ### END SOLUTION
''', "total"),
    graded('''
expect("two", total([4, 8]), 15.0)
### BEGIN HIDDEN TESTS
expect("three", total([4, 8, 12]), 30.0)
expect("none", total([]), 0)
### END HIDDEN TESTS
''', "test_total", 40),
    markdown("""
The mean, too.

<details><summary>Hint 1: how many are there?</summary>

`len` knows.

</details>

**Take a break here.** What follows needs only `mean`.
"""),
    exercise('''
def mean(prices):
    """Return the mean of the prices."""
    ### BEGIN SOLUTION
    return sum(prices) / len(prices)
    ### END SOLUTION
''', "mean"),
    graded('''
expect("two", mean([4, 8]), 6.0)
### BEGIN HIDDEN TESTS
expect("three", mean([4, 8, 15]), 9.0)
expect("one", mean([31_337]), 31_337.0)
### END HIDDEN TESTS
''', "test_mean", 10),
    given('guesses.compare("two", guess_two, mean([total([4]), total([8])]))', "demo_sums",
          ("demo",)),
    markdown("## 3 · Discounts\n\nEverything is cheaper.\n\n**Predict.** By how much?"),
    code("guess_cheaper = None  # your guess", tags=("guess",)),
    exercise('''
def discount(price):
    """Return half of the price."""
    ### BEGIN SOLUTION
    return price / 2
    ### END SOLUTION
''', "discount"),
    graded('''
expect("of 8", discount(8), 4.0)
### BEGIN HIDDEN TESTS
expect("of 10", discount(10), 5.0)
expect("of 86_028", discount(86_028), 43_014.0)
### END HIDDEN TESTS
''', "test_discount", 20),
    given('guesses.compare("cheaper", guess_cheaper, discount(10))', "demo_cheaper", ("demo",)),
    markdown("## Reflect"),
    markdown("Who pays the tax?"),
    essay("essay_shop", "Ten points for naming the one who pays in the end."),
    markdown("## Summary\n\nPrices have taxes and discounts."),
])  # fmt: skip

CART = "\n".join([
    HEADER,
    markdown("# 02 · A cart\n\nIt begins where lesson 01 ends."),
    given("from built import mean, total\nfrom proflab.lesson import expect", "cart_imports"),
    markdown("## 1 · Carts\n\nA cart is a list."),
    exercise('''
def cart(prices):
    """Return total and mean."""
    ### BEGIN SOLUTION
    return total(prices), mean(prices)
    ### END SOLUTION
''', "cart"),
    graded('''
expect("two", cart([4, 8]), (15.0, 6.0))
### BEGIN HIDDEN TESTS
expect("one", cart([4]), (5.0, 4.0))
expect("two more", cart([8, 16]), (30.0, 12.0))
### END HIDDEN TESTS
''', "test_cart", 100),
])  # fmt: skip

TRACKS = """
[track.hour]
title = "An hour"
text = "Add up prices."
hours = 1
summary = false
01_shop = ["total"]

[track.day]
title = "A day"
text = "Also carts."
hours = 8
essays = ["01_shop"]
01_shop = ["tax", "total"]
02_cart = ["cart"]

[track.term]
title = "A term"
text = "Everything."
hours = 20
except = {}

[lesson.01_shop]
essay = 10

[lesson.01_shop.minutes]
tax = 10
total = 15
mean = 5
discount = 5

[lesson.02_cart]
needs = ["01 §2"]

[lesson.02_cart.minutes]
cart = 5
"""


def make_shop(root: Path, tracks: str = TRACKS, lesson: str = SHOP) -> Course:
    """Write the course into `root`, not yet built."""
    course = make_course(root, {"01_shop": lesson, "02_cart": CART})
    (root / "modules/tracks.toml").write_text(tracks, encoding="utf-8")
    return course


def declare_privately(course: Course, text: str) -> None:
    """Write the course's private/tracks.toml."""
    (course.root / "private").mkdir(exist_ok=True)
    (course.root / "private/tracks.toml").write_text(text, encoding="utf-8")
