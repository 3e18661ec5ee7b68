"""Execute the statements of a session in the student's process, one request at a time.

The process contains nothing that a student may not see: no labels, no expected values, no later
blocks. Of the grading package this file imports only two neighbours, by their bare names, because
the rest does not exist in the sandbox. Cells behave as in ipykernel (magics, rich display, inline
figures, top-level await). Test statements are compiled unchanged, so that a student's transformers
do not affect them.

`run/connection.py` describes the messages. A request contains a cell, a statement, or all
statements of a block, which are answered one by one. While a request is carried out,
`proflab_grader.call(name, *arguments)` asks the grader for the result of a double; its script and
its log stay there.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import importlib.util
import os
import re
import signal
import socket
import sys
import threading
import time
import traceback
import types
import warnings
from collections.abc import Callable
from typing import Any

from channel import Channel
from outputs import OutputCapture, Stream, as_json, error_output, join_streams, safe_str

# Text that is not plain Python, or that a transformer might change.
_SPECIAL = re.compile(r"^\s*[%!?,;/]|=\s*[%!](?!=)|\?\s*$|>>>|\.\.\.|In \[|^[ \t]+$", re.MULTILINE)
# An indented docstring in which nothing but prompts of examples is special: IPython leaves these.
_DOCSTRING = re.compile(r'^[ \t]+"""(?:(?!"""|^(?:>>>|\.\.\.)|\\).)*"""', re.MULTILINE | re.DOTALL)
_EXAMPLE = re.compile(r">>>|\.\.\.")
# After a longer statement the worker waits for the next request. The grader never interrupts
# earlier than that, so an interrupt cannot hit the next statement.
_PAUSE = 0.05
_REHEARSAL = (
    "import math\ndef area(radius):\n    return math.pi * radius**2\narea(2)",
    "%pwd",
    "raise ValueError('rehearsal')",
)


def _make_shell(recorder: OutputCapture) -> Any:
    """Return an IPython shell whose outputs go to `recorder`."""
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type
    from traitlets.config import Config

    class RecordingHook(DisplayHook):
        def write_output_prompt(self) -> None: ...

        def write_format_data(self, format_dict: dict, md_dict: dict | None = None) -> None:
            recorder.rich(
                {
                    "output_type": "execute_result",
                    "execution_count": self.prompt_count,
                    "data": as_json(format_dict),
                    "metadata": as_json(md_dict or {}),
                }
            )

        def finish_displayhook(self) -> None:
            self._is_active = False

    class RecordingPublisher(DisplayPublisher):
        def publish(
            self, data: dict, metadata: dict | None = None, *about: Any, **options: Any
        ) -> None:
            recorder.rich(
                {
                    "output_type": "display_data",
                    "data": as_json(data),
                    "metadata": as_json(metadata or {}),
                }
            )

        def clear_output(self, wait: bool = False) -> None:
            recorder.clear_next = True
            if not wait:
                recorder._before()

    class RecordingShell(InteractiveShell):
        displayhook_class = Type(RecordingHook)
        display_pub_class = Type(RecordingPublisher)

        def enable_gui(self, gui: str | None = None) -> None: ...

        def should_run_async(self, raw_cell: str, **about: Any) -> bool:
            words = about.get("transformed_cell") or raw_cell
            if "await" not in words and "async" not in words:
                return False
            return super().should_run_async(raw_cell, **about)

        def transform_ast(self, node: ast.Module) -> ast.Module:
            return super().transform_ast(put_off_missing_imports(node))

        def system(self, cmd: str) -> None:
            _run_command(self, cmd)

        def ask_exit(self) -> None:
            print("exit has no effect here: the cells below are executed all the same")

        def _showtraceback(self, etype: type, evalue: BaseException, stb: list[str]) -> None:
            recorder.rich(error_output(etype, evalue, stb))

        def _format_exception_for_storage(self, exception: BaseException, *_: Any) -> dict:
            # For %notebook alone, IPython would render each traceback a second time.
            name, message = type(exception).__name__, safe_str(exception)
            return {"ename": name, "evalue": message, "traceback": []}

    config = Config()
    # IPython keeps its history in a file by a thread of its own, and a fork has no threads.
    config.HistoryManager.enabled = False
    config.HistoryAccessor.enabled = False
    shell = RecordingShell.instance(config=config)
    shell.input_transformer_manager = make_transformer()
    return shell


def make_transformer() -> Any:
    """Return IPython's transformer of cells, except that plain Python is returned unparsed."""
    from IPython.core.inputtransformer2 import TransformerManager

    class QuickTransformer(TransformerManager):
        def __init__(self) -> None:
            super().__init__()
            self._own = self._all()

        def _all(self) -> list:
            return [*self.cleanup_transforms, *self.line_transforms, *self.token_transformers]

        def transform_cell(self, cell: str) -> str:
            if is_plain_python(cell) and self._all() == self._own:
                return cell if cell.endswith("\n") else f"{cell}\n"
            return super().transform_cell(cell)

    return QuickTransformer()


def put_off_missing_imports(node: ast.Module) -> ast.Module:
    """Let a cell go on after an import of what is not here, and raise its error at the end.

    What does not use the module is defined then, and keeps its points.
    """
    found = [statement for statement in node.body if _is_import_of_what_is_missing(statement)]
    if not found:
        return node  # as nearly all are: to walk through a large one takes a millisecond
    for statement in found:
        caught = ast.ExceptHandler(_IMPORT_ERROR, "_missing_now", ast.parse(_NOTED).body)
        attempt = ast.copy_location(ast.Try([statement], [caught], [], []), statement)
        node.body[node.body.index(statement)] = ast.fix_missing_locations(attempt)
    node.body += ast.parse(_RAISED_AT_LAST).body
    return node


_IMPORT_ERROR = ast.Name("ImportError", ast.Load())
_NOTED = 'globals().setdefault("_missing_import", _missing_now)'
_RAISED_AT_LAST = """
if "_missing_import" in globals():
    raise globals().pop("_missing_import")
"""


def _is_import_of_what_is_missing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Import):
        names = [alias.name for alias in statement.names]
    elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
        names = [statement.module]
    else:
        return False
    try:
        return any(importlib.util.find_spec(name.partition(".")[0]) is None for name in names)
    except Exception:
        return False  # a module without a spec is here; a student's finder may raise anything


def is_plain_python(code: str) -> bool:
    """Return True if a cell contains no magic, prompt or indent for IPython to transform."""
    if not code or code[0].isspace():
        return False
    if _EXAMPLE.search(code):
        outside = _DOCSTRING.sub("", code)
        if _EXAMPLE.search(outside) or '"""' in outside or "'''" in outside:
            return False
        code = _EXAMPLE.sub("", code)
    return _SPECIAL.search(code) is None


def _run_command(shell: Any, command: str) -> None:
    """Run `!command` without the terminal that IPython would open."""
    import subprocess

    process = subprocess.Popen(
        shell.var_expand(command, depth=1),
        shell=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with process:
        for line in process.stdout:  # type: ignore[union-attr]  # it is a pipe, by the call
            sys.stdout.write(line.decode("utf-8", "replace"))
    shell.user_ns["_exit_code"] = process.returncode


class Worker:
    """Executes requests in one namespace, the notebook's.

    output: the bytes that a cell may print and display.
    """

    def __init__(
        self, dumps: Callable[[Any], bytes], loads: Callable[[bytes], Any], output: int
    ) -> None:
        self.channel: Channel  # from `serve` on: a zygote makes a worker before it has one
        self.dumps, self.loads = dumps, loads
        self.recorder = OutputCapture(output)
        self.shell = _make_shell(self.recorder)
        self.nonce, self.hidden = "", False
        self.names: dict[str, Any] = {}
        self.calling = threading.Lock()
        # run/statements.py sends these three kinds and no others.
        self.doers = {"cell": self.cell, "setup": self.setup, "value": self.value}
        # Stored before student code runs, which may replace these names.
        self.compile, self.exec, self.eval = builtins.compile, builtins.exec, builtins.eval
        # Of the thread: a process's clock moves by whole ticks where RLIMIT_CPU limits it.
        self.clock, self.wall_clock = time.thread_time, time.monotonic

    def rehearse(self) -> None:
        """Execute code that is slow the first time, before there is a student; leave no trace."""
        for code in _REHEARSAL:
            self.shell.run_cell(code)
        self.value("1 + 1")
        try:
            self.setup("raise ValueError('rehearsal')")
        except ValueError as error:
            self.raised(error)
        join_streams(self.recorder.take())
        self.shell.reset()

    def serve(self, channel: Channel) -> None:
        """Answer requests until the other side closes the channel."""
        self.channel = channel
        self.offer_calls()
        sys.stdout = Stream("stdout", self.recorder)
        sys.stderr = Stream("stderr", self.recorder)
        self.channel.send({"pid": os.getpid()})
        while True:
            try:
                request, _ = self.channel.receive()
            except EOFError:
                os._exit(0)
            if request["do"] == "snapshot":
                self.snapshot(request, self.channel.receive_socket())
            else:
                self.carry_out(request)

    def carry_out(self, request: dict) -> None:
        """Execute the statements of a request, and send each one's reply when it has ended.

        A reply contains "more": True if the next statement follows by itself. After an interrupt,
        a set-up that raised or a long statement, the worker waits for the grader's next request.
        """
        if request.get("anew"):  # what an earlier block of this copy has bound is forgotten
            self.shell.user_ns.clear()
            self.shell.user_ns.update(self.names)
        steps = [(request["do"], request["code"]), *request.get("then", ())]
        streams, since = (sys.stdout, sys.stderr), self.wall_clock()
        for place, (kind, code) in enumerate(steps):
            self.nonce = request["nonce"] if request.get("calls") else ""
            stops, began = False, self.clock()
            try:
                reply, blob = self.doers[kind](code)
            except BaseException as error:  # for example a late interrupt
                reply, blob = self.raised(error), b""
                stops = kind == "setup" or isinstance(error, KeyboardInterrupt)
            reply |= {"nonce": request["nonce"], "place": place}
            # The grader does not trust it: limits rest on what run/processes.py measures.
            reply["seconds"] = round(self.clock() - began, 4)
            # A thread that the statement has started must not call in the name of the next one.
            with self.calling:
                self.nonce = ""
            # The statement may have put its own in their place.
            sys.stdout, sys.stderr = streams
            if outputs := self.recorder.take():
                reply["outputs"] = join_streams(outputs)
            now = self.wall_clock()
            more = not (stops or now - since > _PAUSE or place == len(steps) - 1)
            self.channel.send(reply | {"more": more}, blob)
            if not more:
                return
            since = now

    def snapshot(self, request: dict, sock: socket.socket) -> None:
        """Fork a copy that keeps the notebook's current state and waits for requests on `sock`."""
        with quiet():  # Python 3.12 warns of BLAS's threads, but BLAS handles forks
            pid = os.fork()
        if pid == 0:
            self.channel.sock.close()
            self.channel, self.hidden = Channel(sock), True
            self.names = dict(self.shell.user_ns)
            self.channel.send({"pid": os.getpid()})
            return
        sock.close()
        self.channel.send({"nonce": request["nonce"]})

    def offer_calls(self) -> None:
        """Add the module `proflab_grader`, through which stubs call the grader's doubles."""
        # proflab/lesson/doubles/double.py imports it; elsewhere there is no such module.
        module = types.ModuleType("proflab_grader", "Call the grader's doubles.")
        vars(module)["call"] = self.call
        sys.modules[module.__name__] = module

    def call(self, name: str, *arguments: Any) -> Any:
        """Call the grader's double `name`; return its result, or raise RuntimeError.

        This works only while a statement of a test with doubles is executed.
        """
        blob = self.dumps(arguments)
        with self.calling:
            if not self.nonce:
                raise RuntimeError("the grader answers only in a test that has doubles")
            self.channel.send({"nonce": self.nonce, "call": name}, blob)
            answer, blob = self.channel.receive()
        if "refused" in answer:
            raise RuntimeError(answer["refused"])
        return self.loads(blob)

    def cell(self, code: str) -> tuple[dict, bytes]:
        """Execute a notebook's cell as Jupyter would."""
        self.shell.run_cell(code, store_history=True)
        return {}, b""

    def setup(self, code: str) -> tuple[dict, bytes]:
        """Execute one statement of a test's set-up."""
        self.exec(self.compile(code, "<test>", "exec"), self.shell.user_ns)
        return {}, b""

    def value(self, code: str) -> tuple[dict, bytes]:
        """Evaluate an expression; return its plain data, or a sentence if it has none."""
        value = self.eval(self.compile(code, "<test>", "eval"), self.shell.user_ns)
        try:
            return {}, self.dumps(value)
        except ValueError as error:
            return {"refused": safe_str(error)}, b""

    def raised(self, error: BaseException) -> dict:
        """Return the reply for an exception: its classes' names, its message, its traceback.

        The traceback of a hidden block is left out, because nobody sees it.
        """
        names = [kind.__name__ for kind in type(error).__mro__][:20]
        lines = [] if self.hidden else _shown_lines(error)
        return {"raised": names, "message": safe_str(error), "traceback": lines}


def _shown_lines(error: BaseException) -> list[str]:
    """Return a traceback's last lines, without the worker's own frames."""
    below = error.__traceback__
    while below is not None and below.tb_frame.f_code.co_filename != "<test>":
        below = below.tb_next
    lines = traceback.format_exception(type(error), error, below, chain=False)[-30:]
    return [line[:2000] for line in lines]


def quiet() -> contextlib.AbstractContextManager:
    """Ignore the warnings that os.fork gives from Python 3.12 on."""
    if sys.version_info < (3, 12):
        return contextlib.nullcontext()
    return warnings.catch_warnings(action="ignore")


def _refuse_input(*_: Any) -> str:
    """Raise EOFError in place of input(): there is no keyboard."""
    raise EOFError("input() cannot be answered while a notebook is graded")


def hide_programs() -> None:
    """Remove these modules from sys.modules: a student may have a worker.py."""
    # What zygote.py and subprocess_worker.py import of this folder: a new module belongs here, too.
    for name in ("worker", "channel", "outputs", "confine", "machine_files", "scratch"):
        sys.modules.pop(name, None)


def prepare(folder: str) -> None:
    """Set up the process like a notebook's kernel: interrupts, its folder last on the path."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path = [p for p in sys.path if p and p != os.path.dirname(os.path.abspath(__file__))]
    sys.path.append(folder)
    builtins.input = _refuse_input
