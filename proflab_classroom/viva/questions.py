"""Make questions about a student's own function from what it and its mutants return.

value    What does your f return for this input? The options are what wrong solutions return, or
         what yours returns with a line changed.
tell     Here is another f. For which of these inputs does yours return something else?
change   One line of yours was changed, and f returns this now. Which change was it?

Every key is what the student's code does. A question says what has to be run again before it is
asked, and claims of the outcomes by which exactly one option is right then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

from proflab_classroom.items.question import Question
from proflab_classroom.viva.changes import Change
from proflab_classroom.viva.execute import Run
from proflab_classroom.viva.inputs import Input
from proflab_classroom.viva.known_wrong import Known
from proflab_classroom.viva.seen import Outcome, agree, differ, is_readable, shown
from proflab_course.course.secret import shuffled

Kind = Literal["value", "tell", "change", "race", "row"]
_OPTIONS, _LEAST_OPTIONS = 4, 3
_MOST_OF_A_KIND = 8  # of an exercise, since some may fail when they are run again
SAME_RESULT = "8 and 8.0 count as the same result"


@dataclass(frozen=True)
class Claim:
    """Claim that a run's outcome agrees with another one; unless `same`, that the two differ.

    run: a run's place; other: another run's place, or an outcome that was seen before.
    """

    same: bool
    run: int
    other: int | Outcome

    def holds(self, outcomes: Sequence[Outcome]) -> bool:
        """Return True if it is so of these outcomes."""
        other = outcomes[self.other] if isinstance(self.other, int) else self.other
        return (agree if self.same else differ)(outcomes[self.run], other)


@dataclass(frozen=True, kw_only=True)
class SheetQuestion(Question):
    """One question of a sheet; its options are code, but in a question of kind race or row.

    error: True if the key is an error; inputs: the inputs that it shows; runs, claims: what is
    executed again at last, and what has to be so of the outcomes.
    """

    kind: Kind
    error: bool = False
    inputs: frozenset[str] = frozenset()
    runs: tuple[Run, ...] = ()
    claims: tuple[Claim, ...] = field(default=(), compare=False, repr=False)

    def holds(self, outcomes: Sequence[Outcome | None]) -> bool:
        """Return True if each run has an outcome, and all claims hold of these."""
        found = [outcome for outcome in outcomes if outcome is not None]
        return len(found) == len(outcomes) and all(claim.holds(found) for claim in self.claims)

    @property
    def new_lines(self) -> int:
        """Return how many lines of code its reader has not seen before."""
        return len(self.text.splitlines())

    @property
    def about_own_code(self) -> bool:
        """Return True if the question is about the student's function or race."""
        return self.kind != "row"


@dataclass(frozen=True)
class Draws:
    """All choices of a sheet: the course's secret, and the words that say whose sheet it is."""

    secret: bytes
    words: tuple[str, ...]

    def at(self, *words: str) -> Draws:
        """Return the draws under further words."""
        return Draws(self.secret, (*self.words, *words))

    def mixed(self, items: Sequence, *words: str) -> list:
        """Return the items in a drawn order."""
        return shuffled(self.secret, *self.words, *words, items=items)


def _placed(key: object, others: Sequence, draws: Draws, *words: str) -> tuple[list, int]:
    """Return the key among the others in a drawn order, and its place."""
    order = draws.mixed(range(len(others) + 1), *words)
    items = [key, *others]
    return [items[n] for n in order], order.index(0)


def _after(one: Input, rest: str, other: str) -> str:
    """Return the beginning of a stem: what is given, the set-up, and how it goes on."""
    given = "With the definitions below" if one.given else ""
    setup = f"after `{'; '.join(one.setup)}`" if one.setup else ""
    start = ", ".join(filter(None, (given, setup)))
    return f"{start[0].upper()}{start[1:]}{rest}" if start else other


def _given(inputs: Sequence[Input]) -> list[str]:
    """Return the definitions that a question has to print, each once."""
    return list(dict.fromkeys(text for one in inputs for text in one.given))


def _small_first(places: Sequence[int], inputs: Sequence[Input]) -> list[int]:
    return sorted(places, key=lambda place: not inputs[place].is_small)


# ── value ────────────────────────────────────────────────────────────────────────────────────


def value_questions(
    exercise: str,
    known: Known,
    own: Sequence[Outcome | None],
    draws: Draws,
    changed: Callable[[Input], Sequence[tuple[Outcome, str]]] = lambda one: (),
) -> Iterator[SheetQuestion]:
    """Yield questions on the value of the student's own function.

    changed: what it returns for an input with one line changed, each with that line; asked for
    where wrong solutions give too few options.
    """
    made = 0
    order = draws.mixed(range(len(known.inputs)), "value inputs")
    for place in _small_first(order, known.inputs):
        one, mine = known.inputs[place], own[place]
        if mine is None or not is_readable(mine) or made == _MOST_OF_A_KIND:
            continue
        # An error that the solution does not raise there is an accident, which nobody can foresee.
        if mine.raised and not one.error:
            continue
        mixed = draws.mixed(range(len(known.mutants)), "value options", one.text)
        theirs = [(known.wrong[n][place], known.mutants[n].sentence) for n in mixed]
        others = _apart(mine, theirs)
        if len(others) < _LEAST_OPTIONS - 1:
            others = _apart(mine, [*theirs, *changed(one)])
        if len(others) < _LEAST_OPTIONS - 1:
            continue
        made += 1
        options, key = _placed(
            (mine, "yours"), others[: _OPTIONS - 1], draws, "value places", one.text
        )
        right = known.right[place]
        note = ""
        if right is not None and differ(right, mine):
            note = f"A right {exercise} returns {shown(right)} here."
        yield SheetQuestion(
            exercise,
            f"{_after(one, ': what', 'What')} does your `{one.call}` return?",
            tuple(shown(outcome) for outcome, _ in options),
            key,
            text="\n".join(one.given),
            results=tuple(sentence for _, sentence in options),
            note=note,
            error=bool(mine.raised),
            inputs=frozenset([one.text]),
            # viva/sheet.py runs it once more, for only what comes again can be asked.
            runs=(Run(one),),
            kind="value",
            claims=tuple(Claim(n == key, 0, each) for n, (each, _) in enumerate(options)),
        )


def _apart(
    mine: Outcome, others: Iterable[tuple[Outcome | None, str]]
) -> list[tuple[Outcome, str]]:
    """Return those others that can be printed and differ from one's own and from each other."""
    found: list[tuple[Outcome, str]] = []
    for outcome, told in others:
        if outcome is None or outcome.raised or not is_readable(outcome):
            continue
        if all(differ(outcome, each) for each in (mine, *(seen for seen, _ in found))):
            found.append((outcome, told))
    return found


# ── tell ─────────────────────────────────────────────────────────────────────────────────────


def tell_questions(
    exercise: str,
    known: Known,
    own: Sequence[Outcome | None],
    draws: Draws,
    whose: str = "yours",
) -> Iterator[SheetQuestion]:
    """Yield questions on the one input that tells the student's function from a mutant.

    whose: "yours", or how the stem calls a function that is nobody's.
    """
    made = 0
    for number in draws.mixed(range(len(known.mutants)), "tell variants"):
        mutant, theirs = known.mutants[number], known.wrong[number]
        if not mutant.is_readable or made == _MOST_OF_A_KIND:
            continue
        both: dict[int, tuple[Outcome, Outcome]] = {}
        different, same = [], []
        order = draws.mixed(range(len(known.inputs)), "tell inputs", mutant.sentence)
        for place in _small_first(order, known.inputs):
            mine, other = own[place], theirs[place]
            if mine is None or other is None or (mine.raised and not known.inputs[place].error):
                continue
            both[place] = mine, other
            if differ(mine, other):
                different.append(place)
            elif agree(mine, other) and not mine.raised:
                same.append(place)
        # A value that differs is asked for before an error that does.
        different.sort(key=lambda p: any(outcome.raised for outcome in both[p]))
        same = _various(same, both)
        if not different or len(same) < _LEAST_OPTIONS - 1:
            continue
        made += 1
        places, key = _placed(
            different[0], same[: _OPTIONS - 1], draws, "tell places", mutant.sentence
        )
        inputs = [known.inputs[place] for place in places]
        runs = [Run(one, code) for one in inputs for code in ("", mutant.code)]
        yield SheetQuestion(
            exercise,
            f"Here is another `{exercise}`. For which of these does {whose} give another result? "
            f"({SAME_RESULT}.)",
            tuple(one.text for one in inputs),
            key,
            text="\n".join([*_given(inputs), mutant.shown]),
            results=tuple(
                f"{whose}: {_brief(both[p][0])}; the other: {_brief(both[p][1])}" for p in places
            ),
            note=f"The other one: {mutant.sentence}.",
            error=any(outcome.raised for outcome in both[different[0]]),
            inputs=frozenset(one.text for one in inputs),
            runs=tuple(runs),
            kind="tell",
            claims=tuple(_tell_claims([both[p] for p in places], key)),
        )


def _various(places: Sequence[int], both: Mapping[int, tuple[Outcome, Outcome]]) -> list[int]:
    """Return the places in their order, but first those whose outcomes differ from all before."""
    first: list[int] = []
    for place in places:
        if all(differ(both[place][0], both[other][0]) for other in first):
            first.append(place)
    return first + [place for place in places if place not in first]


def _brief(outcome: Outcome) -> str:
    text = shown(outcome)
    return text if len(text) <= 80 else f"{text[:78]} …"


def _tell_claims(seen: Iterable[tuple[Outcome, Outcome]], key: int) -> Iterator[Claim]:
    """Yield, of own and other function at each input: both as before, and different at the key."""
    for place, (mine, theirs) in enumerate(seen):
        own, other = 2 * place, 2 * place + 1
        yield from (Claim(True, own, mine), Claim(True, other, theirs))
        yield Claim(place != key, own, other)


# ── change ───────────────────────────────────────────────────────────────────────────────────


def change_questions(
    exercise: str,
    tried: Sequence[tuple[Input, Outcome, Sequence[tuple[Change, Outcome | None]]]],
    draws: Draws,
    number_of: Callable[[int], int | None],
) -> Iterator[SheetQuestion]:
    """Yield questions on the change of the student's own line that makes a difference.

    tried: inputs, each with the own outcome and with all changes that were tried and theirs;
    number_of: the number that the sheet prints beside a line, None if it prints that line not.
    """
    made = 0
    for one, mine, outcomes in tried:
        fine = [
            (change, after)
            for change, after in outcomes
            if after is not None and not after.raised and is_readable(after)
            and number_of(change.line) is not None
        ]  # fmt: skip
        if mine.raised or not is_readable(mine):
            continue
        for place in draws.mixed(range(len(fine)), "change keys", one.text):
            change, after = fine[place]
            # No other change that was tried may give this value, also none that is not asked for.
            alone = all(
                differ(after, other)
                for n, (_, other) in enumerate(outcomes)
                if other is not None and outcomes[n][0] is not change
            )
            if not alone or not differ(after, mine):
                continue
            others = _other_changes(fine, change, mine, draws, one.text)
            if len(others) < _LEAST_OPTIONS - 1:
                continue
            options, key = _placed((change, after), others, draws, "change places", one.text)
            start = _after(one, ", your", "Your")
            yield SheetQuestion(
                exercise,
                f"{start} `{one.call}` returns `{shown(mine)}`. With one line of your "
                f"`{exercise}` changed it returns `{shown(after)}`. Which change was it?",
                tuple(f"line {number_of(c.line)}: {c.after}" for c, _ in options),
                key,
                text="\n".join(one.given),
                results=tuple(f"then {shown(outcome)}" for _, outcome in options),
                inputs=frozenset([one.text]),
                runs=(Run(one), *(Run(one, c.code) for c, _ in options)),
                kind="change",
                claims=(
                    Claim(True, 0, mine),
                    *(Claim(n == key, n + 1, after) for n in range(len(options))),
                ),
            )
            made += 1
            break
        if made == _MOST_OF_A_KIND:
            return


def _other_changes(
    fine: Sequence[tuple[Change, Outcome]], key: Change, mine: Outcome, draws: Draws, *words: str
) -> list[tuple[Change, Outcome]]:
    """Return other changes, those first that have an effect, each at its own new line."""
    mixed = [fine[n] for n in draws.mixed(range(len(fine)), "change options", *words)]
    mixed.sort(key=lambda each: not differ(each[1], mine))
    found: list[tuple[Change, Outcome]] = []
    for change, outcome in mixed:
        looks = {c.after for c in (key, *(c for c, _ in found))}
        if change is not key and change.after not in looks:
            found.append((change, outcome))
    return found[: _OPTIONS - 1]


def are_alike(options: Sequence[str]) -> bool:
    """Return True if two options look the same on paper."""
    squeezed = ["".join(option.split()) for option in options]
    return any(one == other for one, other in combinations(squeezed, 2))
