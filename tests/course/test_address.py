"""Where a course is published: what pyproject.toml lacks is said, with what to write."""

import pytest

from proflab_course.course.address import Address
from proflab_course.course.layout import CourseError

URLS = '[project]\nversion = "1.2"\n[project.urls]\n'
GIVEN = URLS + 'Repository = "https://github.com/ann/course/"\n'


def test_the_tag_is_the_version(tmp_path):
    (tmp_path / "pyproject.toml").write_text(GIVEN)
    assert Address.read(tmp_path) == Address("https://github.com/ann/course", "v1.2")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "pyproject.toml must give "),
        (URLS.encode(), "pyproject.toml must give "),
        (b"project = 5", "pyproject.toml must give "),
        (b'[project]\nversion = "1"\nurls = ["x"]', "pyproject.toml must give "),
        (b"[project\n", "pyproject.toml is not TOML "),
        (GIVEN.replace("ann", "Zo\u00eb").encode("latin-1"), "pyproject.toml is not in UTF-8: "),
    ],
)
def test_what_is_wrong_is_said(tmp_path, text, said):
    (tmp_path / "pyproject.toml").write_bytes(text)
    with pytest.raises(CourseError, match=said):
        Address.read(tmp_path)


def test_without_the_file_it_says_what_to_write(tmp_path):
    with pytest.raises(CourseError, match=r"Repository = .https://github.com/OWNER/NAME"):
        Address.read(tmp_path)
