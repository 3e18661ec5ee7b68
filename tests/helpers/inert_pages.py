"""Asserts that HTML made of a student's words does nothing in a browser."""

from __future__ import annotations

import re

from proflab_course.grading.pages.inert import ATTRIBUTES

ALLOWED_TAGS = re.compile(r"</?[a-z][a-z0-9]*(?: [a-z]+=\"[^\"<>]*\")*>")
ATTRIBUTE = re.compile(r" ([a-z]+)=\"([^\"<>]*)\"")
KNOWN = set().union(*ATTRIBUTES.values()) | {"class"}


def assert_inert(page, math=False):
    """Assert that every tag is well-formed, and every attribute one that does nothing."""
    assert "<" not in ALLOWED_TAGS.sub("", page)
    for tag in ALLOWED_TAGS.findall(page):
        assert not re.match(r"</?(?:a|script|svg|math|style|form|input|iframe|meta|base)\b", tag)
        for name, value in ATTRIBUTE.findall(tag):
            assert name in KNOWN
            assert name != "src" or value.startswith("data:image/")
            assert name != "style" or "url" not in value
    assert not math or "\\href" not in page and "\\style" not in page and "\\bbox" not in page
