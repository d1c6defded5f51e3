"""Whether each node of a job opens a data set for itself, or rank 0 for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import _redact
from .._args import _storage
from ..errors import OptionError
from . import _launcher

EACH, FIRST = "each", "first"
_SPREAD_FROM = 16  # nodes; fewer may start at once


def store(how: str | None, spec: Mapping[str, Any], rank: int, world_size: int) -> Any:
    """The store through which rank 0 hands on what it finds, None where this node opens for itself.

    The group that has the store must have these ranks, and exist before the data set is made.
    A plan has the list of shards, so nothing is handed on beside one. Unless how is given, one node
    hands on nothing, nor do paths: files on the disks of several nodes have times of their own.
    """
    if how == EACH or world_size == 1 or spec["plan"]:
        return None
    if how is None and (0 < world_size <= _launcher.local_world_size() or not _on_servers(spec)):
        return None
    found = _store_of_group(rank, world_size)
    if found is None and how == FIRST:
        raise OptionError(
            f"opening='first' needs a process group of torch that has the {world_size} ranks of the data set, and this one as rank {rank}, "
            "before the data set is made: call init_process_group first, or give opening='each'"
        )
    return found


def pause(spec: Mapping[str, Any]) -> float:
    """The seconds that this node waits before it lists for itself, so that many nodes do not ask a
    server in the same instant: its number over the number of nodes.
    """
    place, local = _launcher.place(), _launcher.local_world_size()
    if place is None or local == 0 or spec["plan"] or not _on_servers(spec):
        return 0.0
    return begins_at(place.rank, place.world_size, local)


def begins_at(rank: int, world_size: int, local: int) -> float:
    """When the node of a rank starts, in seconds of the first one; 0 for few nodes."""
    nodes = -(-world_size // local)
    return rank // local / nodes if nodes >= _SPREAD_FROM else 0.0


def _on_servers(spec: Mapping[str, Any]) -> bool:
    """Whether all addresses lead to servers, and hold no credentials."""
    addresses = [*spec["addresses"], *(a for source in spec["sources"] for a in source["addresses"])]
    return all(_storage.on_server(a) and _redact.address(a) == a for a in addresses)


def _store_of_group(rank: int, world_size: int) -> Any:
    group = _launcher.from_process_group()
    if group is None or group[:2] != (rank, world_size):
        return None
    from ..torch._ranks import _store

    return _store.of_group(world_size)
