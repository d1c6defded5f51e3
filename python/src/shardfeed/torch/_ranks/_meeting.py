"""Where the ranks of a job meet before the first batch of a data set.

No collective is used: what each rank has is written under its own key in the store of the process
group, rank 0 reads all of it and writes what it finds, and the others read that. One rank of a node
writes and reads for all of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..._engine._process import Engine
from ...errors import FeedTimeoutError, RankMismatchError
from . import _node
from ._carrier import Carrier
from ._store import ALONE, Overdue, present, put, ranks_in_words, wait
from ._versions import Versions, differences, mismatch

SEATS, ORDER = "seats", "order"  # the parts of a meeting
_PARTS = (SEATS, ORDER)
_GRACE = 10.0  # seconds beyond the timeout in which rank 0 has to write what it finds
_SHOWN = 8  # differences that an error names

Given = Mapping[int, Mapping[str, Any]]  # by rank, what it has


class Meeting:
    """The meeting of a rank with all others at a data set, part by part.

    Every rank contributes to each part, or leaves, so that ranks do not wait for one that failed.
    """

    def __init__(self, store: Any, name: str, rank: int, world_size: int, timeout: float | None, engine: Engine | None = None) -> None:
        """The ranks of a node that share an engine go to the store as one."""
        self.rank, self.world_size = rank, world_size
        self.version = ""  # of this rank, from the first part on
        self._store, self._name, self._timeout = store, name, timeout
        self._key = f"shardfeed/{name}/{store.add(f'shardfeed/{name}/{rank}/times', 1)}"
        self._versions = Versions(store, rank, world_size)
        self._engine = engine
        self._carrier: Carrier | None = None
        self._over = False

    def close(self) -> None:
        """Ends this rank's part, once it knows the verdict. Others may still wait."""
        if self._carrier is not None:
            self._carrier.close()

    def leads(self, node: str) -> bool:
        """Whether this is the first rank of its node to ask."""
        return _node.leads(self._store, self._key, node)

    def give(self, part: str, own: Mapping[str, Any]) -> None:
        """Gives what this rank has to a part, without waiting for the others."""
        if self._engine is not None:
            self._carrier = Carrier.of(self._store, self._engine, self._key, self.world_size, self._timeout)
            self._engine = None
        self._put({self._of(part, self.rank): json.dumps({"version": self.version, **own})}, self._carrier)

    def gather(self, part: str, own: Mapping[str, Any], find: Callable[[Given], Mapping[str, Any]]) -> Mapping[str, Any]:
        """Gives to a part, and returns what find makes of all that ranks gave, on rank 0.

        Ranks that did not come in time are not among them. Raises the same error on each rank when
        one of them left, has another version of shardfeed or did not come, or when find finds
        differences.
        """
        self.give(part, own)
        found = self._find(part, find) if self.rank == 0 else self._found(part)
        self._check(found)
        return found

    def conclude(self, part: str, found: Mapping[str, Any]) -> None:
        """Writes what rank 0 finds. What ends the meeting is found in the later parts too."""
        later = _PARTS[_PARTS.index(part) :] if _trouble(found) else [part]
        self._put({self._of(each, "found"): json.dumps(found) for each in later})

    def leave(self, error: BaseException) -> None:
        """Reports to the others that this rank cannot start."""
        self.close()
        if self._over:  # they know
            return
        self._over = True
        failed = {"failed": str(error).splitlines()[0] if str(error) else type(error).__name__}
        self._put({self._of(part, self.rank): json.dumps(failed) for part in _PARTS})
        if self.rank == 0:
            self.conclude(_PARTS[0], _sorted_out({0: failed}, []))

    def _find(self, part: str, find: Callable[[Given], Mapping[str, Any]]) -> Mapping[str, Any]:
        keys = {self._of(part, rank): rank for rank in range(self.world_size)}
        overdue = Overdue(self._late)

        def look() -> None:
            self._look()
            overdue.look()

        wait(lambda: self._store.check(list(keys)) or None, self._timeout, look=look)
        there = {keys[key]: json.loads(text) for key, text in present(self._store, list(keys)).items()}
        found = _sorted_out(there, [rank for rank in keys.values() if rank not in there])
        if not found["failed"] and not found["versions"]:
            found.update(find(there))
        self.conclude(part, found)
        return found

    def _found(self, part: str) -> Mapping[str, Any]:
        key = self._of(part, "found")
        timeout = None if self._timeout is None else self._timeout + _GRACE
        clients = self.world_size if self._carrier is None else self.world_size // self._carrier.ranks
        overdue = Overdue(lambda: self._late() if 0 in self._absent() else "")  # rank 0 reports the others

        def look() -> None:
            self._versions.look()
            overdue.look()

        found = wait(lambda: self._read(key), timeout, clients, look)
        if found is None:
            raise FeedTimeoutError(
                f"rank 0 did not compare the data set of {self._name} with this rank {self.rank} within {timeout:g} seconds: every rank "
                f"has to begin to iterate over it; {ALONE}"
            )
        return dict(json.loads(found))

    def _absent(self) -> list[int]:
        """The ranks that have not come."""
        keys = {self._of(_PARTS[-1], rank): rank for rank in range(self.world_size)}
        there = {rank for key, rank in keys.items() if self._store.check([key])}
        there |= {rank for rank in keys.values() if rank not in there and self._store.check([self._of(_PARTS[0], rank)])}
        return [rank for rank in keys.values() if rank not in there]

    def _late(self) -> str:
        """What a rank says while others have not come; empty once all have."""
        if not (absent := self._absent()):
            return ""
        return (
            f"rank {self.rank} still waits for {ranks_in_words(absent)} of {self.world_size} to begin to iterate over the data set of "
            f"{self._name}, which all ranks share; {ALONE}"
        )

    def _read(self, key: str) -> str | None:
        if self._carrier is not None:
            return self._carrier.find(key)
        return str(self._store.get(key), "utf-8") if self._store.check([key]) else None

    def _look(self) -> None:
        """What rank 0 does while it waits for the others."""
        self._versions.look()
        if self._carrier is not None:
            self._carrier.carry()

    def _check(self, found: Mapping[str, Any]) -> None:
        """Raises the error of a verdict."""
        self._over = self._over or bool(_trouble(found))
        if versions := found.get("versions"):
            raise mismatch(versions)
        if differs := found.get("failed") or found.get("differences"):
            raise apart(self._name, differs)
        if missing := found.get("missing"):
            raise FeedTimeoutError(
                f"{ranks_in_words(missing)} of {self.world_size} did not begin to iterate over the data set of {self._name} "
                f"within {self._timeout:g} seconds: every rank has to, and in the same order of data sets; {ALONE}"
            )

    def _put(self, values: Mapping[str, str], carrier: Carrier | None = None) -> None:
        """Writes values, and the first time also this rank's version."""
        values, self._versions.own = {**self._versions.own, **values}, {}
        if carrier is None:
            put(self._store, values)
        else:
            carrier.put(values)

    def _of(self, part: str, who: int | str) -> str:
        return f"{self._key}/{part}/{who}"


def _sorted_out(there: Given, missing: Sequence[int]) -> dict[str, Any]:
    """What keeps ranks from going on, whatever they have."""
    versions: dict[str, list[int]] = {}
    for rank, has in there.items():
        if "failed" not in has:
            versions.setdefault(str(has.get("version", "an unknown one")), []).append(rank)
    return {
        "failed": [f"rank {rank} could not begin: {has['failed']}" for rank, has in there.items() if "failed" in has],
        "versions": differences(versions),
        "missing": list(missing),
    }


def _trouble(found: Mapping[str, Any]) -> bool:
    return any(found.get(name) for name in ("versions", "failed", "differences", "missing"))


def apart(name: str, differs: Sequence[str]) -> RankMismatchError:
    """The error for ranks that differ."""
    text = f"the ranks do not read the same data in the same order, at the data set of {name}: {'; '.join(differs[:_SHOWN])}"
    if len(differs) == 1 and differs[0].startswith("image_decoder: "):
        text += f" ({_DECODERS})"
    error = RankMismatchError(text)
    error.details = tuple(differs)
    return error


_DECODERS = (  # the engine says the same of the ranks of a machine
    "libjpeg-turbo is not on all machines, and the decoder in Go gives slightly other pixels: install it on all of them, or give "
    "image_decoder='go' to all ranks"
)
