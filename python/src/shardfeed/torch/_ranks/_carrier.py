"""The ranks of a node, one of which goes to the store of the process group for all of them.

They meet in their engine, which says whose turn it is to go; see "How ranks meet" in
internal/engine/doc.go. A rank whose engine fails goes to the store itself.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..._engine._connection import Connection
from ..._engine._process import Engine
from ...errors import ShardfeedError
from ._store import put

_PATIENCE = 500  # milliseconds, in which no message of an engine means no news
_GATHERING = 0.02  # seconds in which the carrier waits for values of other ranks, to write all at once


class Carrier:
    """A rank's part in what the ranks of its node carry to the store and back."""

    def __init__(self, store: Any, connection: Connection, name: str, ranks: int) -> None:
        """name is the meeting's, and ranks is how many ranks the node has."""
        self._store, self._name, self.ranks = store, name, ranks
        self._connection: Connection | None = connection
        self._given: dict[str, str] = {}  # by this rank
        self._new: dict[str, str] = {}  # of these, what the others have not yet
        self._found: dict[str, str] = {}
        self._carried, self._since = 0, 0.0  # values that are in the store, and when the first came that is not

    @classmethod
    def of(cls, store: Any, engine: Engine, name: str, world_size: int, timeout: float | None) -> Carrier | None:
        """None where each rank goes to the store: on one node, or on nodes of one rank."""
        if not 1 < engine.local_world_size < world_size:
            return None
        try:
            return cls(store, Connection(engine, None, timeout=timeout), name, engine.local_world_size)
        except ShardfeedError:  # such as an engine that cannot start: opening the data will raise it
            return None

    def put(self, values: Mapping[str, str]) -> None:
        """Has values written to the store as soon as this rank waits."""
        self._given.update(values)
        self._new.update(values)
        if self._connection is None:
            put(self._store, values)

    def find(self, key: str) -> str | None:
        """The value of a key in the store once it is there. A rank that waits calls this repeatedly."""
        self.carry(key, patience=_PATIENCE)
        if self._connection is None:
            self._look([key])
        return self._found.get(key)

    def carry(self, wants: str = "", patience: int = 0) -> None:
        """Writes and reads for the ranks of the node, if it is this rank's turn.

        A rank that waits calls this repeatedly. It takes up to milliseconds while others do it and
        there is no news.
        """
        met = self._meet(waits=True, wants=wants, patience=patience)
        if not met.get("carries"):
            return
        if not met["values"] or met["count"] <= self._carried:
            self._since = 0.0
        else:
            self._since = self._since or time.monotonic()
            if met["members"] >= self.ranks or time.monotonic() - self._since >= _GATHERING:
                put(self._store, met["values"])
                self._carried, self._since = met["count"], 0.0
        if found := self._look(met["wanted"] or ()):
            self._meet(found=found, waits=wants not in found)

    def _look(self, keys: Sequence[str]) -> dict[str, str]:
        found = {key: self._store.get(key).decode() for key in keys if self._store.check([key])}
        self._found.update(found)
        return found

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _meet(self, **said: Any) -> dict[str, Any]:
        """What the engine answers; nothing once it has failed, and then this rank goes itself."""
        if self._connection is None:
            return {}
        try:
            met = self._connection.meet(name=self._name, carried=self._carried, values=self._new, **said)
        except ShardfeedError:
            self.close()
            put(self._store, self._given)
            return {}
        self._new = {}
        self._found.update(met["found"])
        return met
