"""Write the tables that tests of guesses and of votes read."""

import pytest


@pytest.fixture
def table(tmp_path):
    """Return a function that writes a table of votes."""

    def write(text, name="votes.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write
