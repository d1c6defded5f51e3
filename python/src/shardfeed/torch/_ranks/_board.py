"""What the nodes of a job leave for each other in the store of the process group, without waiting.

A notice is of the ranks of one node, under the lowest of them, and replaces the one before it in its
place. So the store has as many as there are nodes and places, however long a job is. The node that
comes last to a place finds the notices of all others. No rank waits for another, and no call takes
longer than a limit, even if the store is gone.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ._store import present

_LIMIT = 2.0  # seconds that a rank spends on the store
_MOST = 1 << 20  # bytes of a notice

_boards: weakref.WeakSet[Board] = weakref.WeakSet()

T = TypeVar("T")
Notice = dict[str, Any]


class Board:
    """The notices of a data set's nodes."""

    def __init__(self, store: Any, key: str, world_size: int) -> None:
        self._store, self._key, self._world_size = store, key, world_size
        self._leads: dict[str, list[int]] = {}  # the lowest ranks of all nodes, by place, once they were known
        self._busy: threading.Thread | None = None
        _boards.add(self)

    def post(self, place: str, ranks: Sequence[int], notice: Mapping[str, Any]) -> None:
        """Leaves a notice of a node's ranks."""
        text = json.dumps({**notice, "ranks": sorted(ranks)})
        if len(text) <= _MOST:
            self._store.set(self._of(place, min(ranks)), text)

    def all(self, place: str, turn: Any) -> list[Notice]:
        """The notices of one turn; empty unless each rank is in one."""
        leads = self._leads.get(place)
        if leads and not self._store.check([self._of(place, lead) for lead in leads]):
            return []
        found: list[Notice] = []
        missing = set(range(self._world_size))
        for notice in self._several(place, leads) if leads else self._one_by_one(place, missing):
            if notice["turn"] != turn:
                return []
            missing -= set(notice["ranks"])
            found.append(notice)
        if missing:
            self._leads.pop(place, None)
            return []
        self._leads[place] = [notice["ranks"][0] for notice in found]
        return found

    def there(self, place: str) -> list[Notice]:
        """The notices that are there."""
        found: list[Notice] = []
        seen: set[int] = set()
        keys = {self._of(place, rank): rank for rank in range(self._world_size)}
        for _, text in sorted(present(self._store, list(keys)).items(), key=lambda item: keys[item[0]]):
            notice = json.loads(text)
            if not seen & set(notice["ranks"]):
                seen |= set(notice["ranks"])
                found.append(notice)
        return found

    def settle(self, place: str, turn: Any, result: Mapping[str, Any]) -> bool:
        """Writes what comes of all notices of a turn, and returns whether this was the first."""
        key, before = f"{self._key}/{place}/settled", self._settled(place)
        if before and json.loads(before)["turn"] == turn:
            return False
        own = json.dumps({"turn": turn, "result": result, "by": secrets.token_hex(8)})
        return bool(self._store.compare_set(key, before, own).decode() == own)

    def settled(self, place: str) -> Notice | None:
        """What came of the last turn of a place."""
        text = self._settled(place)
        return dict(json.loads(text)) if text else None

    def _settled(self, place: str) -> str:
        key = f"{self._key}/{place}/settled"
        return str(self._store.get(key).decode()) if self._store.check([key]) else ""

    def within(self, work: Callable[[], T], default: T, limit: float = _LIMIT) -> T:
        """What work with the store returns; default if it fails or takes long. Then it continues in
        the background, and further work waits for its end within its own limit.
        """
        end = time.monotonic() + limit
        if self._busy is not None:
            self._busy.join(limit)
            if self._busy.is_alive():
                return default
        done: list[T] = []

        def run() -> None:
            with contextlib.suppress(RuntimeError, OSError, ValueError, NotImplementedError):  # such as a store that has gone
                done.append(work())

        self._busy = threading.Thread(target=run, name="shardfeed board", daemon=True)
        self._busy.start()
        self._busy.join(max(0.0, end - time.monotonic()))
        return done[0] if done else default

    def _one_by_one(self, place: str, missing: set[int]) -> Iterator[Notice]:
        """The notices, from the lowest rank that is missing, up to the first that is not there."""
        while missing:
            key = self._of(place, min(missing))
            if not self._store.check([key]):
                return
            yield json.loads(self._store.get(key))

    def _several(self, place: str, leads: Sequence[int]) -> list[Notice]:
        found = present(self._store, [self._of(place, lead) for lead in leads])
        return [json.loads(text) for text in found.values()]

    def _of(self, place: str, rank: int) -> str:
        return f"{self._key}/{place}/{rank}"


@atexit.register
def _end() -> None:
    """Lets work in the background end before the interpreter does."""
    for board in list(_boards):
        if board._busy is not None:
            board._busy.join(_LIMIT)
