"""Ranks on different machines compare what they are about to read, through the store of the process group.

The engine compares the ranks of its own machine. No collective is used here: each rank writes what it has under its own key, the first
rank compares, and the others read the result.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch.distributed as dist

from ..errors import FeedTimeoutError, RankMismatchError

_SHORTEST, _LONGEST = 0.002, 0.1  # seconds between two looks at the store
_GRACE = 10.0  # seconds beyond the timeout in which the first rank has to write the result
_VERDICT = "verdict"  # the key of the result
_SHOWN = 8  # differences, or ranks, that an error names
_KEPT = 4  # epochs of which it is kept how far a rank came
_DECODERS = (  # the engine says the same of the ranks of a machine
    "libjpeg-turbo is not on all machines, and the decoder in Go gives slightly other pixels: install it on all of them, or give "
    "image_decoder='go' to all ranks"
)
_AHEAD = 4  # batches that one rank may have taken ahead of another, to copy them to a device


class Course:
    """The epochs of a data set on this rank, and on the ranks that it meets in the store.

    Each rank writes its epoch, and how far it came in the epochs before. The first rank reads those of all others, and they read that of
    the first. No rank waits here: ranks need not begin an epoch at the same time, but have to take the same batches of it.
    """

    def __init__(self) -> None:
        self._key = ""
        self._epoch: int | None = None
        self._left: dict[int, int] = {}  # rows of an epoch that were taken, over all ranks

    def begins(self, name: str, joined: Mapping[str, Any], place: Any, rank: int, world_size: int) -> None:
        """Notes that an iteration begins where place says how far the one before came.

        Raises RankMismatchError when another rank is in another epoch and took fewer or more batches of one before.
        """
        store = _store(world_size)
        if store is not None:
            self.compare(store, name, joined, place, rank, world_size)

    def compare(self, store: Any, name: str, joined: Mapping[str, Any], place: Any, rank: int, world_size: int) -> None:
        """Does what begins does, through a store."""
        epoch = int(joined["epoch"])
        if self._epoch is None:
            self._key = f"shardfeed/{name}/course {store.add(f'shardfeed/{name}/{rank}/courses', 1)}"
        elif place is not None:
            self._left[self._epoch] = int(joined["state"]["rows"]) if place.epoch > self._epoch else place.position
        self._epoch = epoch
        self._left = {e: rows for e, rows in self._left.items() if e != epoch and e > epoch - _KEPT}
        own = {"epoch": epoch, "left": self._left}
        store.set(f"{self._key}/{rank}", json.dumps(own))
        slack = _AHEAD * int(joined["fingerprint"]["batch_size"]) * int(joined["fingerprint"].get("world_size", world_size))
        for other in range(1, world_size) if rank == 0 else [0]:
            key = f"{self._key}/{other}"
            if store.check([key]) and (differs := _apart({rank: own, other: json.loads(store.get(key))}, slack)):
                raise _mismatch(name, [differs])


def _apart(courses: Mapping[int, Mapping[str, Any]], slack: int) -> str:
    """Says how two ranks are in different epochs because one took fewer batches of an epoch before; empty when they are not."""
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


def with_other_ranks(
    name: str, fingerprint: Mapping[str, str], rank: int, world_size: int, timeout: float | None, claim: tuple[int, int] | None = None
) -> None:
    """Raises RankMismatchError on every rank when they would not read the same order. Without a process group it does nothing.

    claim is the data rank that the rank claims, and how many ranks have to.
    """
    store = _store(world_size)
    if store is not None:
        compare(store, name, fingerprint, rank, world_size, timeout, claim)


def give_up(name: str, error: BaseException, rank: int, world_size: int) -> None:
    """Tells the other ranks that this one could not begin, so that none waits for it."""
    store = _store(world_size)
    if store is not None:
        leave(store, name, error, rank)


def compare(
    store: Any,
    name: str,
    fingerprint: Mapping[str, str],
    rank: int,
    world_size: int,
    timeout: float | None,
    claim: tuple[int, int] | None = None,
) -> None:
    """Compares the ranks' fingerprints through a store; each rank calls it, or leave."""
    key = _key(store, name, rank)
    store.set(f"{key}/{rank}", json.dumps({"has": dict(fingerprint), "claim": claim or (rank, 1)}))
    verdict = f"{key}/{_VERDICT}"
    if rank == 0:
        missing = _wait(store, [f"{key}/{r}" for r in range(world_size)], timeout)
        there = {r: json.loads(store.get(f"{key}/{r}")) for r in range(world_size) if f"{key}/{r}" not in missing}
        store.set(verdict, json.dumps(_found(there, world_size)))
    elif timeout is None:
        _wait(store, [verdict], None)
    elif _wait(store, [verdict], timeout + _GRACE):
        raise FeedTimeoutError(f"rank 0 did not compare the data set of {name} with this rank {rank} within {timeout + _GRACE:g} seconds")
    found = json.loads(store.get(verdict))
    if differences := found["failed"] or found["differences"]:
        raise _mismatch(name, differences)
    if found["missing"]:
        raise FeedTimeoutError(
            f"{_some(found['missing'], 'rank')} of {world_size} did not begin to iterate over the data set of {name} within {timeout:g} "
            "seconds: every rank has to, and in the same order of data sets"
        )


def leave(store: Any, name: str, error: BaseException, rank: int) -> None:
    """Tells through a store that this rank could not begin."""
    key = _key(store, name, rank)
    failed = {"failed": str(error).splitlines()[0] if str(error) else type(error).__name__}
    store.set(f"{key}/{rank}", json.dumps(failed))
    if rank == 0:
        store.set(f"{key}/{_VERDICT}", json.dumps(_found({0: failed}, 1)))


def _key(store: Any, name: str, rank: int) -> str:
    """The key of a comparison: another one each time."""
    return f"shardfeed/{name}/{store.add(f'shardfeed/{name}/{rank}/times', 1)}"


def _found(there: Mapping[int, Mapping[str, Any]], world_size: int) -> dict[str, Any]:
    """The result of a comparison, made by the first rank."""
    return {
        "failed": [f"rank {r} could not begin: {left['failed']}" for r, left in there.items() if "failed" in left],
        "differences": _differences({r: left["has"] for r, left in there.items() if "has" in left}) + _claims(there, world_size),
        "missing": [r for r in range(world_size) if r not in there],
    }


def _claims(there: Mapping[int, Mapping[str, Any]], world_size: int) -> list[str]:
    """The data ranks that fewer or more ranks claim than have to, in words. Missing ranks are another error."""
    if len(there) < world_size or any("claim" not in left for left in there.values()):
        return []
    ranks: dict[int, list[int]] = {}
    for rank, left in sorted(there.items()):
        ranks.setdefault(left["claim"][0], []).append(rank)
    wanted = max(left["claim"][1] for left in there.values())
    return [
        f"replicas: data rank {claimed} is claimed by {_some(of, 'rank')}, which is {len(of)} instead of {wanted}"
        for claimed, of in sorted(ranks.items())
        if len(of) != wanted
    ]


def _store(world_size: int) -> Any:
    """The store of the process group that the ranks belong to, or None."""
    if world_size == 1 or not dist.is_available() or not dist.is_initialized() or dist.get_world_size() < world_size:
        return None
    return getattr(dist.distributed_c10d, "_get_default_store", _none)()


def _none() -> None:
    return None


def _wait(store: Any, keys: Sequence[str], timeout: float | None) -> set[str]:
    """Waits until all keys are there, and returns the missing ones at the timeout. It can be interrupted at any time."""
    deadline = None if timeout is None else time.monotonic() + timeout
    pause = _SHORTEST
    left = list(keys)
    while left:
        while left and store.check([left[-1]]):
            left.pop()
        if not left:
            break
        if deadline is not None and time.monotonic() > deadline:
            return {key for key in left if not store.check([key])}
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST)
    return set()


def _differences(prints: Mapping[int, Mapping[str, str]]) -> list[str]:
    """What differs between the ranks, in words."""
    names = sorted({name for fingerprint in prints.values() for name in fingerprint})
    found = []
    for name in names:
        ranks: dict[str, list[int]] = {}
        for rank, fingerprint in prints.items():
            ranks.setdefault(fingerprint.get(name, "nothing"), []).append(rank)
        if len(ranks) > 1:
            found.append(f"{name}: " + ", ".join(f"{value} on {_some(of, 'rank')}" for value, of in ranks.items()))
    return found


def _mismatch(name: str, differences: Sequence[str]) -> RankMismatchError:
    error = RankMismatchError(
        f"the ranks do not read the same data in the same order, at the data set of {name}: {'; '.join(differences[:_SHOWN])}"
    )
    error.details = tuple(differences)
    if len(differences) == 1 and differences[0].startswith("image_decoder: "):
        error.args = (f"{error} ({_DECODERS})",)
    return error


def _some(numbers: Sequence[int], what: str) -> str:
    shown = ", ".join(map(str, numbers[:_SHOWN])) + (f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else "")
    return f"{what}{'s' if len(numbers) > 1 else ''} {shown}"
