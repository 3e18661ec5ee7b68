"""Watches which threads parse Python: in some releases of 3.11 no two may at the same time."""

from __future__ import annotations

import ast
import builtins
import threading

import pytest


def watch_parsing(patch: pytest.MonkeyPatch) -> set[threading.Thread]:
    """Return a set to which each thread is added that makes a syntax tree from text.

    `ast.parse`, `ast.literal_eval`, `inspect.signature` and IPython all come by `compile`.
    """
    threads: set[threading.Thread] = set()
    original = builtins.compile

    def compile(source, filename, mode, flags=0, *rest, **options):
        if flags & ast.PyCF_ONLY_AST:
            threads.add(threading.current_thread())
        return original(source, filename, mode, flags, *rest, **options)

    patch.setattr(builtins, "compile", compile)
    return threads
