"""A reader's guess beside the answer: what is said, and what is kept."""

import math

import pytest

from proflab.lesson import guesses


@pytest.mark.parametrize(
    ("guess", "answer", "unit", "said"),
    [
        (None, 2_362_368, "", "layer: 2,362,368 (you made no guess)"),
        (2_362_368, 2_362_368, "", "layer: 2,362,368, exactly your guess"),
        (2_000_000, 2_362_368, "", "layer: 2,362,368; you guessed 2,000,000, 15 % too low"),
        (100, 50, "ms", "layer: 50 ms; you guessed 100 ms, 2 times too high"),
        (1.02, 1, "ms", "layer: 1 ms; you guessed 1.02 ms, 2.0 % too high"),
        (1, 5_000_000, "", "layer: 5,000,000; you guessed 1, 5,000,000 times too low"),
        (-3, 5, "", "layer: 5; you guessed -3"),
        (0.5, 0.0, "MB", "layer: 0 MB; you guessed 0.5 MB"),
        ("many", 5, "", "layer: 5; your guess, 'many', is not a number"),
        (math.nan, 5, "", "layer: 5; your guess, nan, is not a number"),
        (True, 5, "", "layer: 5; your guess, True, is not a number"),
        ("Memory ", "memory", "", "layer: memory, as you guessed"),
        ("compute", "memory", "", "layer: memory; you guessed compute"),
    ],
)
def test_a_guess_is_told_beside_the_answer(capsys, guess, answer, unit, said):
    guesses.compare("layer", guess, answer, unit)
    assert capsys.readouterr().out == f"{said}\n"


def test_in_a_notebook_the_pair_is_kept_in_the_output():
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    shell = InteractiveShell.instance()
    try:
        with capture_output() as kept:
            shell.run_cell(
                "import numpy as np\nfrom proflab.lesson import guesses\n"
                "guesses.compare('one call', np.float32(2), np.int64(8), unit='ms')"
            )
        (output,) = kept.outputs
        assert output.data == {
            "text/plain": "one call: 8 ms; you guessed 2 ms, 4 times too low",
            guesses.MIME: {"what": "one call", "guess": 2, "answer": 8, "unit": "ms"},
        }
    finally:
        InteractiveShell.clear_instance()
