"""The engine's program, which is also the ``shardfeed`` command."""

from __future__ import annotations

import os
from pathlib import Path

from .errors import EngineStartError


def find_binary() -> Path:
    """Returns the engine's program: $SHARDFEED_BIN, else the one that came with the package."""
    if given := os.environ.get("SHARDFEED_BIN"):
        path = Path(given).absolute()
        if not path.is_file() or not os.access(path, os.X_OK):
            raise EngineStartError(f"SHARDFEED_BIN names {path}, which cannot be run as a program")
        return path
    path = Path(__file__).parent / "_bin" / "shardfeed"
    if not os.access(path, os.X_OK):
        raise EngineStartError(
            f"this installation has no engine ({path}): install a wheel for this machine, run pip install with Go, "
            "or set SHARDFEED_BIN to a shardfeed program"
        )
    return path
