"""A reader's guess beside the answer: what is said, and what is kept."""

import math

import pytest

from proflab.lesson import guesses


@pytest.mark.parametrize(
    ("guess", "answer", "unit", "said"),
    [
        (None, 2_362_368, "", "layer: 2,362,368 (you made no guess)"),
        (2_362_368, 2_362_368, "", "layer: 2,362,368, as you guessed"),
        ("2.3 million", 2_300_000, "", "layer: 2,300,000, as you guessed"),
        ("Two million", 1_000_000, "", "layer: 1,000,000; you guessed 2,000,000, 2 times too high"),
        ("half a million", 500_000, "", "layer: 500,000, as you guessed"),
        ("five thousand MB", 5_000, "MB", "layer: 5,000 MB, as you guessed"),
        ("about two", 2, "", "layer: 2; your guess, 'about two', is not a number"),
        ("two apples", 2, "", "layer: 2; your guess, 'two apples', is not a number"),
        (2_000_000, 2_362_368, "", "layer: 2,362,368; you guessed 2,000,000, 15 % too low"),
        (100, 50, "ms", "layer: 50 ms; you guessed 100 ms, 2 times too high"),
        (1.02, 1, "ms", "layer: 1 ms; you guessed 1.02 ms, 2.0 % too high"),
        (1, 5_000_000, "", "layer: 5,000,000; you guessed 1, 5,000,000 times too low"),
        (-3, 5, "", "layer: 5; your guess, -3, is below 0, which this never is"),
        (-3, -5, "", "layer: -5; you guessed -3"),
        (0.5, 0.0, "MB", "layer: 0 MB; you guessed 0.5 MB"),
        ("many", 5, "", "layer: 5; your guess, 'many', is not a number"),
        ("50%", 40, "%", "layer: 40 %; you guessed 50 %, 25 % too high"),
        ("50 %", 40, "% of all", "layer: 40 % of all; you guessed 50 % of all, 25 % too high"),
        ("50%", 0.4, "", "layer: 0.4; your guess, '50%', is not a number"),
        ("3.5 ms", 4, "ms", "layer: 4 ms; you guessed 3.5 ms, 12 % too low"),
        ("2,000", 1000, "", "layer: 1,000; you guessed 2,000, 2 times too high"),
        ("2,5", 5, "", "layer: 5; your guess, '2,5', is not a number"),
        (".5", 1, "", "layer: 1; you guessed 0.5, 2 times too low"),
        (" Skip", 5, "", "layer: 5 (you skipped the guess)"),
        ("3 apples", 5, "", "layer: 5; your guess, '3 apples', is not a number"),
        (10**400, 5, "", f"layer: 5; your guess, '{10**199}', is not a number"),
        ((2, 362, 0), 2_362_000, "", "layer: 2,362,000, as you guessed"),
        ((2, 5), 5, "", "layer: 5; your guess, '(2, 5)', is not a number"),
        (0.37, 40, "%", "layer: 40 %; you guessed 0.37 %: did you mean 37?"),
        (0.37, 0.5, "%", "layer: 0.5 %; you guessed 0.37 %, 26 % too low"),
        (-3, 40, "%", "layer: 40 %; your guess, -3 %, does not lie between 0 and 100"),
        (130, 40, "%", "layer: 40 %; your guess, 130 %, does not lie between 0 and 100"),
        (130, 140, "%", "layer: 140 %; you guessed 130 %, 7.1 % too low"),
        (math.nan, 5, "", "layer: 5; your guess, 'nan', is not a number"),
        (True, 5, "", "layer: 5; your guess, 'True', is not a number"),
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


@pytest.mark.parametrize("constructed", [True, False])
def test_what_a_document_only_assumes_answers_no_guess(capsys, constructed):
    guesses.compare("L2 over memory", 3, 4.56, "times", document={"constructed": constructed})
    said = {
        True: "the document assumes 4.56 times, nobody measured it; you guessed 3 times",
        False: "4.56 times; you guessed 3 times, 34 % too low",
    }
    assert capsys.readouterr().out == f"L2 over memory: {said[constructed]}\n"
    record = {"what": "L2 over memory", "guess": 3, "answer": 4.56, "unit": "times"}
    record |= {"assumed": True} if constructed else {}
    assert guesses.told(record) == f"L2 over memory: {said[constructed]}"


def test_the_answer_of_a_function_that_fails_its_checks_judges_nothing():
    record = {"what": "MFU", "guess": 20, "answer": 0.1182, "unit": "%"}
    said = "MFU: 0.1182 %, but `training_mfu` does not pass its checks"
    assert guesses.told(record, ["training_mfu"]) == f"{said}: your guess is judged when it does"
    assert guesses.told(record | {"guess": None}, ["training_mfu"]) == said
    both = (
        "MFU: 0.1182 %, but `a` and `b` do not pass their checks: your guess is judged when they do"
    )
    assert guesses.told(record, ["a", "b"]) == both
