"""`proflab doctor`: print each layer of isolation and whether students' code can be graded here."""

from __future__ import annotations

import argparse
import platform

from proflab_course.doctor.layers import examine_layers

_MARKS = {"works": "✓", "partly": "~", "missing": "✗"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `proflab doctor`: none."""


def run(arguments: argparse.Namespace) -> int:
    """Print every layer's state; return 0 if strangers' code can be graded here, else 1."""
    print(f"On {platform.system()} {platform.release()}, Python {platform.python_version()}:")
    layers = examine_layers()
    width = max(len(layer.name) for layer in layers)
    for layer in layers:
        print(f"  {_MARKS[layer.state]} {layer.name:<{width}}  {layer.sentence}")
    if layers[-1].state == "missing":
        print(
            "Strangers' code cannot be graded here: `proflab grade` refuses without --no-sandbox."
        )
        return 1
    print("Strangers' code can be graded here.")
    return 0
