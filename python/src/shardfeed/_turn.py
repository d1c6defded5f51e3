"""A lock of an iterator."""

from __future__ import annotations

import os
import threading

_forks = 0  # between the first process and this one


def _forked() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_forked)  # each next() asks: a system call would be slow


class Turn:
    """The lock under which threads take turns: ``with turn():``.

    In a forked child it is free, whatever thread held it in the parent.
    """

    __slots__ = ("_forks", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forks = _forks

    def __call__(self) -> threading.Lock:
        if self._forks != _forks:
            self._lock, self._forks = threading.Lock(), _forks
        return self._lock
