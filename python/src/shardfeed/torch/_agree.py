"""Agreement of ranks on different machines: they compare what they are about to read through the store of the process group.

The engine compares the ranks of its own machine. No collective is begun here: each rank leaves what it has under a key of its own, the
first rank compares, and the others read what it found.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import torch.distributed as dist

from ..errors import FeedTimeoutError, RankMismatchError

_SHORTEST, _LONGEST = 0.002, 0.1  # seconds between two looks at the store
_GRACE = 10.0  # seconds that the first rank has, beyond the timeout, to tell what it found
_VERDICT = "verdict"  # the key of what the first rank found
_SHOWN = 8  # differences, or ranks, that an error names


def with_other_ranks(name: str, fingerprint: Mapping[str, str], rank: int, world_size: int, timeout: float | None) -> None:
    """Raises RankMismatchError on every rank when they would not read the same order. Without a process group it does nothing."""
    store = _store(world_size)
    if store is not None:
        compare(store, name, fingerprint, rank, world_size, timeout)


def give_up(name: str, error: BaseException, rank: int, world_size: int) -> None:
    """Tells the ranks that compare with this one that it could not begin, so that none waits for it."""
    store = _store(world_size)
    if store is not None:
        leave(store, name, error, rank)


def compare(store: Any, name: str, fingerprint: Mapping[str, str], rank: int, world_size: int, timeout: float | None) -> None:
    """Compares the ranks' fingerprints through a store; each rank calls it, or leave."""
    key = _key(store, name, rank)
    store.set(f"{key}/{rank}", json.dumps({"has": dict(fingerprint)}))
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
    """Where the ranks leave what they have; another place each time that they compare."""
    return f"shardfeed/{name}/{store.add(f'shardfeed/{name}/{rank}/times', 1)}"


def _found(there: Mapping[int, Mapping[str, Any]], world_size: int) -> dict[str, Any]:
    """What the first rank finds in what the ranks have left."""
    return {
        "failed": [f"rank {r} could not begin: {left['failed']}" for r, left in there.items() if "failed" in left],
        "differences": _differences({r: left["has"] for r, left in there.items() if "has" in left}),
        "missing": [r for r in range(world_size) if r not in there],
    }


def _store(world_size: int) -> Any:
    """The store of the process group that the ranks belong to, or None."""
    if world_size == 1 or not dist.is_available() or not dist.is_initialized() or dist.get_world_size() < world_size:
        return None
    return getattr(dist.distributed_c10d, "_get_default_store", _none)()


def _none() -> None:
    return None


def _wait(store: Any, keys: Sequence[str], timeout: float | None) -> set[str]:
    """Waits until all keys are there; returns those that are not when the time is over. It can be interrupted at any time."""
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
    """What is not the same on all ranks, in words."""
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
    return error


def _some(numbers: Sequence[int], what: str) -> str:
    shown = ", ".join(map(str, numbers[:_SHOWN])) + (f" and {len(numbers) - _SHOWN} more" if len(numbers) > _SHOWN else "")
    return f"{what}{'s' if len(numbers) > 1 else ''} {shown}"
