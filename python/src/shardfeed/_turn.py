"""A lock of an iterator."""

from __future__ import annotations

import os
import threading


class Turn:
    """The lock of an iterator: ``with turn():``. In a forked child it is free."""

    __slots__ = ("_lock", "_pid")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def __call__(self) -> threading.Lock:
        if self._pid != os.getpid():
            self._lock, self._pid = threading.Lock(), os.getpid()
        return self._lock
