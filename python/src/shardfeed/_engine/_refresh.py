"""The snapshot of a table that an epoch reads, which all ranks share: refresh="epoch".

An epoch is read as if the data set had been made with its snapshot. So the data set is opened again
between two epochs, unless the table has not changed. Ranks that are still in the epoch before keep
what they have open.

Ranks on one machine get the snapshot's name from their engine: it is the latest when the first of
them starts the epoch. Ranks of several machines agree on it in the process group's store.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import OptionError
from . import _launcher


def agreed(name: str, epoch: int, count: int, rank: int, world_size: int, latest: Callable[[str], str]) -> str:
    """The snapshot of an epoch: the first rank that starts it asks for the latest one.

    name is the data set's, the same on all ranks, and count how many epochs this one has started so.
    latest gets a name of the start, and asks the engine.
    """
    store = _store(rank, world_size)
    if store is None:
        return latest(f"{name} start {count} of epoch {epoch}")
    start = f"{name} start {store.add(f'shardfeed/{name}/{rank}/starts', 1)} of epoch {epoch}"
    key = f"shardfeed/{start}/snapshot"
    if not store.check([key]):
        store.compare_set(key, "", latest(start))
    return str(store.get(key).decode())


def _store(rank: int, world_size: int) -> Any:
    """The store of the process group; None where all ranks have one engine."""
    if world_size == 1:
        return None
    group = _launcher.from_process_group()
    if group is not None and group[:2] == (rank, world_size):
        from ..torch._ranks._store import of_group

        if (store := of_group(world_size)) is not None:
            return store
    if world_size <= _launcher.local_world_size():
        return None
    raise OptionError(
        f"refresh='epoch' has all {world_size} ranks agree on the snapshot of each epoch, and found no process group of torch that has "
        "them: call init_process_group before the first batch, or set LOCAL_WORLD_SIZE if all ranks are on this machine"
    )
