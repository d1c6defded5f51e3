"""A lock of an iterator."""

from __future__ import annotations

import os
import threading
import weakref


class Turn:
    """The lock under which threads take turns: ``with turn.lock:``.

    In a forked child it is free, whatever thread held it in the parent.
    """

    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        _turns.add(self)


_turns: weakref.WeakSet[Turn] = weakref.WeakSet()


def _free_in_child() -> None:
    for turn in list(_turns):
        turn.lock = threading.Lock()


os.register_at_fork(after_in_child=_free_in_child)
