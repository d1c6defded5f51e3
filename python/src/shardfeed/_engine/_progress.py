"""A progress line on the terminal while the engine lists and reads footers."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

_AFTER = 2.0  # seconds


class Line:
    """Shows progress on standard error when it is a terminal and the wait is long, and erases it at
    the end.
    """

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._shown = 0

    def __enter__(self) -> Line:
        return self

    def show(self, progress: dict[str, Any]) -> None:
        """Shows a Progress message."""
        if time.monotonic() - self._begun < _AFTER or sys.stderr is None or not sys.stderr.isatty():
            return
        self._write(describe(progress))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self._shown:
            self._write("")
            self._shown = 0

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write("\r" + text.ljust(self._shown) + ("" if text else "\r"))
            sys.stderr.flush()
        except (OSError, ValueError):  # the terminal is gone, or the stream was closed
            return
        self._shown = max(self._shown, len(text))


def describe(progress: dict[str, Any]) -> str:
    """Returns the text for a Progress message."""
    shards, footers, of = (progress.get(k, 0) for k in ("shards", "footers", "of"))
    doing = progress.get("doing")
    if doing == "list":
        return f"shardfeed: listing, {shards} shards"
    if doing == "footers":
        return f"shardfeed: reading footers, {footers} of {of or shards}"
    if doing == "rows":
        return f"shardfeed: counting rows, {progress.get('counted', 0)} of {of} row groups"
    if doing == "memory":
        return "shardfeed: computing the memory"
    return "shardfeed: reading the first batch" if doing == "first batch" else f"shardfeed: {doing}"
