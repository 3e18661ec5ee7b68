"""The command line of a profiler in one file."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from proflab.standalone.arguments import positive
from proflab.standalone.compare import COMMANDS, NEEDED_TO_COMPARE, compare
from proflab.standalone.example import show_example
from proflab.standalone.lines import NEEDED_FOR_LINES, profile_lines
from proflab.standalone.measure import NEEDED, Report, Request, measure
from proflab.standalone.page import HEAD, figures, operations, page, predictions
from proflab.standalone.pinned import begin_anew
from proflab.standalone.predict import NEEDED_TO_PREDICT, plan_sizes, predict
from proflab.standalone.tables import print_table, tolerate
from proflab.standalone.torch_diff import NEEDED_TO_DIFF
from proflab.standalone.torch_report import FILES, NEEDED_TO_READ, read_file
from proflab.standalone.torch_table import NEEDED_FOR_TORCH, torch_table
from proflab.standalone.zoo import CHOICES, OWN, Choice, own_model

_SHOWN = 10
# What takes no model: the function that is called, and the exercises that it calls.
_COMMANDS: dict[str, tuple[Callable[..., int], dict[str, str]]] = {
    **dict.fromkeys(COMMANDS, (compare, NEEDED_TO_COMPARE)),
    **dict.fromkeys(FILES, (read_file, NEEDED_TO_READ)),
    "lines": (profile_lines, NEEDED_FOR_LINES),
    "table": (torch_table, NEEDED_FOR_TORCH),
}


def main(
    names: dict[str, Any],
    unwritten: dict[str, str],
    arguments: Sequence[str] | None = None,
) -> int:
    """Do what the command line asks for; return the exit status, 2 where that cannot be done.

    names: all that the student's file defines. unwritten: its exercises that are still to be
    written, each with its lesson. Without any words it shows an example.
    """
    file = _called(names)
    words = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None and hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends it, as it ends other tools
    if words[:1] != ["lines"]:  # there it is the program's own until the report
        tolerate(sys.stdout)
    if not words:
        begun = begin_anew(words, 1)
        return show_example(names, unwritten, file) if begun is None else begun
    if words[0] not in _COMMANDS:
        return _profile(names, unwritten, file, words)
    command, needed = _COMMANDS[words[0]]
    if words[0] in FILES and "--diff" in words:
        needed = needed | NEEDED_TO_DIFF
    return _run(command, needed, names, unwritten, file, words)


def _called(names: dict[str, Any]) -> str:
    """Return the file's name, without its ending where pip has made a command of it."""
    path = Path(names.get("__file__", "my_profiler.py"))
    installed = names.get("__name__") == path.stem == Path(sys.argv[0]).stem
    return path.stem if installed else path.name


def _profile(
    names: dict[str, Any], unwritten: dict[str, str], file: str, words: Sequence[str]
) -> int:
    """Profile the model that the words name; return 0 if the report was written, else 2."""
    parser = _parser(file)
    given = parser.parse_args(words)
    begun = begin_anew(words, given.threads)
    if begun is not None:
        return begun
    # Not by the parser: a model of the student's own is made once, by the process that profiles it.
    try:
        given.model = _model(given.model)
    except argparse.ArgumentTypeError as error:
        parser.error(f"argument model: {error}")
    needed = NEEDED | (NEEDED_TO_PREDICT if given.at else {})
    lacking = _lacking(needed, names, unwritten)
    if lacking:
        return _refuse(file, lacking)
    request, refused = _request(given, parser), "--at cannot be as asked"
    try:
        planned = plan_sizes(names, request)
        refused = f"{request.title} cannot be run"
        report = measure(names, request, lambda line: print(f"· {line} …", flush=True))
        report.predictions = predict(names, request, planned, report)
    except NotImplementedError as error:
        return _not_written(file, unwritten, error)
    except ValueError as error:  # such as one value a channel, of which batch_norm has no variance
        print(f"{file}: {refused}: {error}", file=sys.stderr)
        return 2
    except MemoryError:
        print(f"{file}: {request.title} does not fit into this machine's memory", file=sys.stderr)
        return 2
    _print_report(report)
    when = datetime.now().strftime("%Y-%m-%d %H:%M")
    try:
        given.output.write_text(page(report, when), encoding="utf-8")
    except OSError as error:
        parser.error(f"{given.output} cannot be written: {error.strerror}")
    print(f"\nwritten: {given.output}")
    return 0


def _parser(file: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=file,
        description="Profile a model with the functions of the lessons.",
        epilog=f"To compare two commands: {file} compare --help, {file} gate --help. For the lines "
        f"of a program: {file} lines --help. To read what torch writes: {file} trace --help, "
        f"{file} memory --help. For any model of torch: {file} table --help.",
    )
    parser.add_argument("model", help=f"{', '.join(CHOICES)}, or {OWN}")
    parser.add_argument("--batch", type=positive, default=1, metavar="N", help="inputs at a time")
    parser.add_argument("--tokens", type=positive, metavar="N", help="length of a text (128)")
    parser.add_argument("--image", type=positive, metavar="N", help="side of an image (224)")
    parser.add_argument(
        "--at",
        type=positive,
        nargs="+",
        default=[],
        metavar="N",
        help="predict these sizes, too: tokens, side of an image, or else batch",
    )
    parser.add_argument("--train", action="store_true", help="forward and backward pass")
    parser.add_argument("--passes", type=positive, default=5, metavar="N", help="how often (5)")
    parser.add_argument(
        "--threads", type=positive, default=1, metavar="N", help="of matrix products (1)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("report.html"), help="the page to write"
    )
    return parser


def _run(
    command: Callable[..., int],
    needed: dict[str, str],
    names: dict[str, Any],
    unwritten: dict[str, str],
    file: str,
    words: Sequence[str],
) -> int:
    """Run a command that takes no model, or say in one sentence why that cannot be done."""
    asked = {"-h", "--help"} & {*words}
    lacking = {} if asked else _lacking(needed, names, unwritten)
    if lacking:
        return _refuse(file, lacking)
    try:
        return command(names, file, words)
    except NotImplementedError as error:
        return _not_written(file, unwritten, error)
    except (ValueError, OSError) as error:
        print(f"{file}: {error}", file=sys.stderr)
        return 2


def _lacking(
    needed: dict[str, str], names: dict[str, Any], unwritten: dict[str, str]
) -> dict[str, str]:
    """Return those of the needed exercises that the file does not have, each with its lesson."""
    missing = [name for name in needed if name in unwritten or name not in names]
    return {name: unwritten.get(name, needed[name]) for name in missing}


def _model(text: str) -> Choice:
    """Return a model by its name, or one of the student's own."""
    if text in CHOICES:
        return CHOICES[text]
    file, colon, function = text.rpartition(":")
    if not colon:
        known = ", ".join(CHOICES)
        raise argparse.ArgumentTypeError(f"invalid choice: {text!r} (choose from {known}, {OWN})")
    try:
        return own_model(Path(file), function)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _request(given: argparse.Namespace, parser: argparse.ArgumentParser) -> Request:
    choice = given.model
    sizes = {"tokens": given.tokens, "image": given.image}
    for kind, size in sizes.items():
        if size is not None and kind != choice.kind:
            parser.error(f"{choice.title} takes no --{kind}")
    size = sizes.get(choice.kind) or choice.size
    if given.at and given.train:
        parser.error("--at predicts forward passes: leave out --train")
    if given.output.is_dir() or not given.output.parent.is_dir():
        parser.error(f"{given.output} cannot be written: give -o a file in a folder that exists")
    return Request(
        choice, given.batch, size, given.train, given.passes, given.threads, tuple(given.at)
    )


def _refuse(file: str, lacking: dict[str, str]) -> int:
    """Say in one sentence what the student's folder lacks; return 2."""
    listed = ", ".join(f"{name} ({lesson})" for name, lesson in lacking.items())
    print(f"{file} still lacks {listed}: write it, and assemble the file again", file=sys.stderr)
    return 2


def _not_written(file: str, unwritten: dict[str, str], error: NotImplementedError) -> int:
    """Say the same for an exercise that another one turned out to need; return 2."""
    if str(error):
        print(f"{file}: {error}", file=sys.stderr)
        return 2
    frame, name = error.__traceback__, ""
    while frame is not None:
        name, frame = frame.tb_frame.f_code.co_qualname.partition(".")[0], frame.tb_next
    return _refuse(file, {name: unwritten.get(name, "not yet written")})


def _print_report(report: Report) -> None:
    """Print the table: single numbers, and the operations of most time."""
    print(f"\n{report.title}, on {report.threads}\n{report.machine}\n")
    for name, value in figures(report):
        print(f"{name:<28}{value:>30}")
    print_table([HEAD, *operations(report, _SHOWN)])
    if report.predictions:
        print_table(predictions(report))
