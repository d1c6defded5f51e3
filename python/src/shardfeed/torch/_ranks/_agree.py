"""Ranks on different machines compare what they are about to read, in the process group's store.

The engine compares a rank with the ranks of its machine that have begun, and the meeting compares
all of them, so that an error names each rank that differs or is missing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..._engine._process import Engine
from ._meeting import ORDER, Given, Meeting, apart
from ._store import of_group as _store
from ._store import present, ranks_in_words

_KEPT = 4  # epochs of which it is kept how far a rank came
_AHEAD = 4  # batches that one rank may have taken ahead of another, to copy them to a device


class Course:
    """The epochs of a data set on this rank, and on the ranks that it meets in the store.

    Each rank writes its epoch, and how far it came in the epochs before. The first rank reads all
    others' epochs, and they read the epoch of the first. No rank waits here: ranks need not start
    an epoch at the same time, but have to take the same batches of it.
    """

    def __init__(self) -> None:
        self.key = ""  # of this course in the store; empty without one
        self._epoch: int | None = None
        self._left: dict[int, int] = {}  # rows of an epoch that were taken, over all ranks

    def begins(self, name: str, joined: Mapping[str, Any], place: Any, rank: int, world_size: int) -> None:
        """Notes the start of an iteration; place is how far the one before came.

        Raises RankMismatchError when another rank is in another epoch and took fewer or more batches of one before.
        """
        store = _store(world_size)
        if store is not None:
            self.compare(store, name, joined, place, rank, world_size)

    def compare(self, store: Any, name: str, joined: Mapping[str, Any], place: Any, rank: int, world_size: int) -> None:
        """Compares the epochs through a store."""
        epoch = int(joined["epoch"])
        if self._epoch is None:
            self.key = f"shardfeed/{name}/course {store.add(f'shardfeed/{name}/{rank}/courses', 1)}"
        elif place is not None:
            self._left[self._epoch] = int(joined["state"]["rows"]) if place.epoch > self._epoch else place.position
        self._epoch = epoch
        self._left = {e: rows for e, rows in self._left.items() if e != epoch and e > epoch - _KEPT}
        own = {"epoch": epoch, "left": self._left}
        store.set(f"{self.key}/{rank}", json.dumps(own))
        slack = _AHEAD * int(joined["fingerprint"]["batch_size"]) * int(joined["fingerprint"].get("world_size", world_size))
        if not self._left:  # no epoch before this one can differ
            return
        others = {f"{self.key}/{other}": other for other in (range(1, world_size) if rank == 0 else [0])}
        for key, text in present(store, list(others)).items():
            if differs := _apart({rank: own, others[key]: json.loads(text)}, slack):
                raise apart(name, [differs])


def _apart(courses: Mapping[int, Mapping[str, Any]], slack: int) -> str:
    """Describes two ranks of which one took fewer batches of an earlier epoch; empty if they agree."""
    (a, one), (b, two) = sorted(courses.items())
    if one["epoch"] == two["epoch"]:
        return ""
    ones, twos = ({int(epoch): rows for epoch, rows in course["left"].items()} for course in (one, two))
    for epoch in sorted(set(ones) & set(twos)):
        if abs(ones[epoch] - twos[epoch]) > slack:
            return (
                f"epoch: {one['epoch']} on rank {a}, {two['epoch']} on rank {b}; of epoch {epoch} rank {a} took {ones[epoch]} rows "
                f"and rank {b} {twos[epoch]}: take the same batches on every rank, also for a look at the first one, or call set_epoch "
                "before each epoch"
            )
    return ""


def meeting(name: str, rank: int, world_size: int, timeout: float | None, engine: Engine | None = None) -> Meeting | None:
    """The meeting of the ranks at a data set, by way of the engine that a node's ranks share. None
    without a process group.
    """
    store = _store(world_size)
    return None if store is None else Meeting(store, name, rank, world_size, timeout, engine)


def compare(meeting: Meeting, fingerprint: Mapping[str, str], claim: tuple[int, int] | None = None) -> None:
    """Raises RankMismatchError on every rank when they would not read the same order.

    Each rank calls it, or leaves the meeting.

    claim is the data rank that the rank claims, and how many ranks have to.
    """
    own = {"has": dict(fingerprint), "claim": claim or (meeting.rank, 1)}
    meeting.gather(ORDER, own, lambda there: {"differences": _differences(there) + _claims(there, meeting.world_size)})


def _claims(there: Given, world_size: int) -> list[str]:
    """The data ranks that fewer or more ranks claim than have to, in words. Missing ranks are another error."""
    if len(there) < world_size:
        return []
    ranks: dict[int, list[int]] = {}
    for rank, left in sorted(there.items()):
        ranks.setdefault(left["claim"][0], []).append(rank)
    wanted = max(left["claim"][1] for left in there.values())
    return [
        f"replicas: data rank {claimed} is claimed by {ranks_in_words(of)}, which is {len(of)} instead of {wanted}"
        for claimed, of in sorted(ranks.items())
        if len(of) != wanted
    ]


def _differences(there: Given) -> list[str]:
    """What differs between the ranks, in words."""
    prints = {rank: left["has"] for rank, left in there.items()}
    names = sorted({name for fingerprint in prints.values() for name in fingerprint})
    found = []
    for name in names:
        ranks: dict[str, list[int]] = {}
        for rank, fingerprint in prints.items():
            ranks.setdefault(fingerprint.get(name, "nothing"), []).append(rank)
        if len(ranks) > 1:
            found.append(f"{name}: " + ", ".join(f"{value} on {ranks_in_words(of)}" for value, of in ranks.items()))
    return found
