"""The ``shardfeed`` command of an installed package: its engine is that program."""

from __future__ import annotations

import os
import sys

from ._program import find_binary
from .errors import EngineStartError


def main() -> None:
    """Becomes the program."""
    try:
        program = find_binary()
    except EngineStartError as e:
        sys.exit(f"shardfeed: {e}")
    os.execv(program, ["shardfeed", *sys.argv[1:]])
