"""Rank 0 opens a data set for all nodes of a job.

It hands on its engine's inventory, which is the shards and their footers, through the store of the
process group, before it counts the rows that are kept. Then the nodes count together, see
_counting. If the inventory cannot be handed on before, it has the counts of rank 0. No collective
is used.

Every rank makes the same data sets in the same order. So a data set is named by the line that made
it, and each opening of the name by a count: a later job on the same store does not take the
inventory that an earlier one left. Under this name the store has

    first          the node and the version of rank 0, as soon as its engine answers, and how it counts
    progress       a count that grows while rank 0 opens, or the leader of a node
    found          how many bytes rank 0 hands on; or why it hands on nothing, or could not open
    part 0, 1, ..  the bytes
    node NODE      the file with which the leader of a node has opened; or why it could not

Ranks on the node of rank 0 ask its engine at once, which opens the data set one time. On another
node the first rank to come leads: it takes the bytes, puts them into a file beside the engine's
socket, and opens with it. The other ranks of the node open after it. Every wait ends: with the
error of the rank that is waited for, or after the timeout with one that names rank 0.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from ... import errors
from ..._engine._connection import Connection
from ..._engine._process import Engine
from ..._warn import ShardfeedWarning, warn
from ...errors import DataError, FeedTimeoutError, ShardfeedError
from . import _agree, _counting, _node, _versions
from ._store import ALONE, Overdue, _pauses, put

_MOST = 64 << 20  # bytes that are handed on
_PART = 4 << 20  # bytes of a part; a TCPStore takes 8 MiB at once
_BEAT = 0.5  # seconds between two signs of progress
_LARGE = "large"  # the engine's word for more than _MOST


class Connect(Protocol):
    """Opens the data set in the engine, with the inventory of another node in a file beside its
    socket, or without one.
    """

    def __call__(
        self, inventory: str, told: Callable[[], object] | None = None, counting: Mapping[str, Any] | None = None
    ) -> Connection: ...


class Opening:
    """One opening of a data set, as this rank sees it."""

    def __init__(
        self, store: Any, name: str, rank: int, world_size: int, engine: Engine, timeout: float | None = None, pause: float = 0.0
    ) -> None:
        """pause is the seconds that this node waits before it lists for itself, if it must."""
        self.store, self.name, self.rank, self.world_size = store, name, rank, world_size
        self.engine, self.timeout, self.pause = engine, timeout, pause
        self.key = f"shardfeed/{name}/opening {store.add(f'shardfeed/{name}/{rank}/openings', 1)}"
        self.parts = 0  # that this rank has put into the store
        self._versions = _versions.Versions(store, rank, world_size)

    def connect(self, connect: Connect) -> Connection:
        """Returns the connection that opened the data set; each rank calls this once."""
        if self.rank == 0:
            return self._lead_all(connect)
        try:
            return self._follow(connect)
        except ShardfeedError as e:
            if (meeting := _agree.meeting(self.name, self.rank, self.world_size, self.timeout)) is not None:
                meeting.leave(e)  # the ranks that have opened wait for this one
            raise

    def forget(self) -> None:
        """Takes the bytes out of the store, once every node has opened."""
        for part in range(self.parts):
            self.store.delete_key(f"{self.key}/part {part}")
        self.parts = 0
        _counting.forget(self.store, self.key)

    # Rank 0

    def _lead_all(self, connect: Connect) -> Connection:
        connection: Connection | None = None
        try:
            with _Held(self.engine, self.timeout) as welcome:
                put(self.store, self._versions.own)
                with self._counting().carried(self._hand_on_early) as counting:
                    self._say("first", {"node": _node.of(welcome), "version": _versions.of(welcome), "counting": counting})
                    connection = connect("", self._beat(), counting)
            if not self.parts:
                self._say("found", self._hand_on(connection))
            return connection
        except BaseException as e:
            if connection is not None:
                connection.close()
            if self.parts and (meeting := _agree.meeting(self.name, self.rank, self.world_size, self.timeout)) is not None:
                meeting.leave(e)  # the other nodes open meanwhile, and wait for this rank
            self._say("found", self._failure(e))
            raise

    def _counting(self) -> _counting.Counting:
        local = self.engine.local_world_size
        return _counting.Counting(self.store, self.key, self.engine.socket.parent, -(-self.world_size // local) if local else 2)

    def _hand_on_early(self, content: bytes) -> None:
        """Hands on what the engine found before it counts."""
        if len(content) <= _MOST:
            self._say("found", {**self._put(content), "counting": True})

    def _beat(self) -> Callable[[], None]:
        """Returns a function that now and then signals to the others that this rank is opening."""
        last = 0.0

        def beat() -> None:
            nonlocal last
            if time.monotonic() - last >= _BEAT:
                last = time.monotonic()
                self.store.add(f"{self.key}/progress", 1)

        return beat

    def _hand_on(self, connection: Connection) -> dict[str, Any]:
        """Puts what the engine found into the store; returns what the others have to know of it."""
        path = self._file()
        try:
            answer = connection.ask(rank=0, world_size=1, inventory=path.name, inventory_most=_MOST)
            if why := answer.get("no_inventory"):
                return {"each": self._warn(why)}
            content = path.read_bytes()
        finally:
            path.unlink(missing_ok=True)
        return self._put(content)

    def _put(self, content: bytes) -> dict[str, Any]:
        for start in range(0, len(content), _PART):
            self.store.set(f"{self.key}/part {self.parts}", content[start : start + _PART])
            self.parts += 1
        return {"bytes": len(content), "parts": self.parts, "sum": _sum(content)}

    def _warn(self, why: str) -> str:
        advice = ""
        if why == _LARGE:
            why = f"the list of shards and their footers has more than {_MOST >> 20} MiB"
            advice = "; shardfeed plan --save makes a file of it, which plan= takes from any storage"
        warn(f"shardfeed: {why}, so each node opens the data set of {self.name} for itself{advice}", ShardfeedWarning)
        return why

    # Other ranks

    def _follow(self, connect: Connect) -> Connection:
        with _Held(self.engine, self.timeout) as welcome:
            put(self.store, self._versions.own)
            node, version, first = _node.of(welcome), _versions.of(welcome), self._wait("first")
            if first["version"] != version:
                raise _versions.mismatch(_versions.differences({first["version"]: [0], version: [self.rank]}))
            if first["node"] == node:
                return connect("", None, first["counting"])
            if _node.leads(self.store, self.key, node):
                return self._lead_node(node, connect)
            return connect(str(self._wait(f"node {node}")["file"]))

    def _lead_node(self, node: str, connect: Connect) -> Connection:
        """Opens with the inventory of rank 0, and then signals the other ranks of the node."""
        try:
            found = self._wait("found")
            name = "" if "each" in found else self._save(self._take(found))
            if not name:
                time.sleep(self.pause)
            with contextlib.ExitStack() as stack:
                counting = stack.enter_context(self._counting().carried()) if found.get("counting") else {}
                connection = connect(name, self._beat(), counting)
        except BaseException as e:
            self._say(f"node {node}", self._failure(e))
            raise
        self._say(f"node {node}", {"file": name})
        return connection

    def _take(self, found: Mapping[str, Any]) -> bytes:
        parts = []
        for part in range(found["parts"]):
            key = f"{self.key}/part {part}"
            parts.append(self.store.get(key) if self.store.check([key]) else b"")
        content = b"".join(parts)
        if _sum(content) != found["sum"]:
            also = ", and their sum differs" if len(content) == found["bytes"] else ""
            raise DataError(
                f"what rank 0 found of the data set of {self.name} was damaged on its way to rank {self.rank}: {len(content)} of "
                f"{found['bytes']} bytes came{also}; start the job again, or give opening='each'"
            )
        return content

    def _save(self, content: bytes) -> str:
        path = self._file()
        try:
            with open(path, "xb", opener=_private) as file:
                file.write(content)
        except OSError as e:
            path.unlink(missing_ok=True)
            raise errors.StorageError(
                f"what rank 0 found cannot be kept in {path.parent} ({e.strerror}): set SHARDFEED_RUNTIME_DIR to another directory, or "
                "give opening='each'"
            ) from None
        return path.name

    def _file(self) -> Path:
        """A file beside the engine's socket, of a name that was never used.

        The engine knows the ending, and _runtime.sweep the whole name.
        """
        return self.engine.socket.parent / f"{secrets.token_hex(8)}.inventory"

    def _wait(self, what: str) -> dict[str, Any]:
        """Waits until something was said. Raises the error of the rank that should have said it.

        Signs that others are opening put the timeout off.
        """
        key, begun, beats = f"{self.key}/{what}", time.monotonic(), 0
        overdue = Overdue(lambda: "" if self.store.add(f"{self.key}/progress", 0) else self._absent())
        for pause in _pauses(self.world_size):
            if self.store.check([key]):
                break
            self._versions.look()
            overdue.look()
            if self.timeout is not None and time.monotonic() - begun > self.timeout:
                if (count := self.store.add(f"{self.key}/progress", 0)) == beats:
                    raise self._late()
                begun, beats = time.monotonic(), count
            time.sleep(pause)
        said: dict[str, Any] = json.loads(self.store.get(f"{self.key}/{what}"))
        if "failed" in said:
            raise _error(said)
        return said

    def _absent(self) -> str:
        return (
            f"rank {self.rank} still waits for rank 0 to make the data set of {self.name}, which all ranks share: rank 0 opens it for the "
            f"other nodes; {ALONE}"
        )

    def _late(self) -> FeedTimeoutError:
        return FeedTimeoutError(
            f"rank 0 did not open the data set of {self.name} for the other nodes within {self.timeout:g} seconds, and rank {self.rank} "
            "waits for it: every rank has to make the data set, in the same order of data sets; with opening='each' each node opens it for "
            f"itself; {ALONE}"
        )

    def _say(self, what: str, value: Mapping[str, Any]) -> None:
        self.store.set(f"{self.key}/{what}", json.dumps(value))

    def _failure(self, error: BaseException) -> dict[str, str]:
        text = str(error)
        if not isinstance(error, ShardfeedError):
            text = f"rank {self.rank} could not open the data set of {self.name}: {type(error).__name__} {error}".rstrip()
        return {"failed": text, "class": type(error).__name__}


class _Held:
    """The WELCOME of an engine, which is started if necessary and stays while this rank waits."""

    def __init__(self, engine: Engine, timeout: float | None) -> None:
        self._connection = Connection(engine, None, timeout=timeout)

    def __enter__(self) -> Mapping[str, Any]:
        return self._connection.welcome

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def _error(said: Mapping[str, str]) -> ShardfeedError:
    """The error of another rank, of the class that it has there."""
    kind = getattr(errors, said["class"], ShardfeedError)
    error: ShardfeedError = (kind if issubclass(kind, ShardfeedError) else ShardfeedError)(said["failed"])
    return error


def _sum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def forget(opening: Opening | None) -> None:
    """Takes the inventory out of the store, unless the store has gone or cannot delete."""
    if opening is not None:
        with contextlib.suppress(RuntimeError, NotImplementedError):
            opening.forget()
