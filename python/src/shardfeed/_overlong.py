"""Reports long waits for the trainer's own functions while they last: their thread cannot."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from typing import Protocol

_EVERY = 1.0  # seconds

THREAD = "shardfeed-waits"  # its name; a fork waits until it does nothing


class Loop(Protocol):
    """A training loop."""

    def report_overlong(self) -> None:
        """Reports a function that has run for long and still does."""


class _Watch:
    """A thread that looks at the loops of this process, while there are any."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loops: weakref.WeakSet[Loop] = weakref.WeakSet()
        self._runs = False
        self._forks = threading.local()  # held: whether the thread that forks has the turn
        self._turn = threading.Lock()  # of the thread, while it asks loops, or of a fork

    def add(self, loop: Loop) -> None:
        with self._lock:
            self._loops.add(loop)
            if self._runs:
                return
            self._runs = True
        threading.Thread(target=self._run, name=THREAD, daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(_EVERY)
            with self._lock:
                loops = list(self._loops)
                if not loops:
                    self._runs = False
                    return
            while loops:
                with self._turn, contextlib.suppress(Exception):  # the loop itself raises what is wrong
                    loops.pop().report_overlong()

    def hold(self) -> None:
        """Keeps the thread from doing anything, as far as it does not wait for the caller."""
        self._forks.held = self._turn.acquire(timeout=_EVERY)

    def release(self) -> None:
        if self._forks.held:
            self._turn.release()


_watch = _Watch()


def watch(loop: Loop) -> None:
    """Watches a loop as long as it exists."""
    _watch.add(loop)


def _renew() -> None:
    """A forked child has no threads."""
    global _watch
    _watch = _Watch()


os.register_at_fork(before=lambda: _watch.hold(), after_in_parent=lambda: _watch.release(), after_in_child=_renew)
