"""Which rows of a global batch a process of JAX holds, as a rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jax
from jax.sharding import NamedSharding, PartitionSpec, Sharding

from .._args._checks import got, number
from ..errors import OptionError


def place(sharding: Sharding, global_rows: int) -> tuple[int, int]:
    """The rank and world size of this process in global batches of global_rows.

    The first axis of the batches' sharding is the rows. Processes that hold the same
    rows, because another axis of a mesh spans them, have the same rank. The world size divides
    global_rows.
    """
    rows, axis = number("global_rows", global_rows), _first_axis(sharding)
    parts: dict[int, set[int]] = {}  # by process: the starts of its parts
    try:
        whole = axis.num_devices  # any number of parts divides it
        for device, (index, *_) in axis.devices_indices_map((whole,)).items():
            parts.setdefault(device.process_index, set()).add(index.indices(whole)[0])
    except (IndexError, TypeError, ValueError) as e:
        raise OptionError(f"sharding must say where the rows of an array lie, got {sharding}: {e}") from None
    count = len(set().union(*parts.values()))
    if rows % count:
        raise OptionError(f"global_rows must be a multiple of the {count} parts into which the sharding divides the rows, got {rows}")
    return _rank_of(jax.process_index(), parts, count)


def _first_axis(sharding: Any) -> Sharding:
    """The sharding of the rows, without the other axes."""
    if not isinstance(sharding, Sharding):
        raise OptionError(f"sharding must be a sharding of JAX, as in NamedSharding(mesh, PartitionSpec('data')), {got(sharding)}")
    if not isinstance(sharding, NamedSharding):
        return sharding
    first, *others = [*sharding.spec] or [None]
    if first is None and any(axis is not None for axis in others):
        raise OptionError(
            f"sharding must shard the first axis, which is the rows, got {sharding.spec}: name the data axis of the mesh first, as in "
            "PartitionSpec('data', 'model'); it may be of size 1"
        )
    return NamedSharding(sharding.mesh, PartitionSpec(first))


def _rank_of(process: int, parts: Mapping[int, set[int]], count: int) -> tuple[int, int]:
    """The rank of a process: its place in the order of the rows."""
    if process not in parts:
        raise OptionError(f"sharding must have a device of this process, {process}: it has those of {_some(parts)}")
    distinct = sorted({tuple(sorted(of)) for of in parts.values()})
    if len({len(of) for of in distinct}) != 1 or sum(map(len, distinct)) != count:
        held = "; ".join(f"process {p} holds {_some(parts[p])}" for p in sorted(parts)[:4])
        raise OptionError(
            f"sharding must give each process as many rows as the others, and two processes the same rows or none in common: of {count} "
            f"parts {held}: use as many devices of each process and order them by process, as jax.make_mesh does"
        )
    return distinct.index(tuple(sorted(parts[process]))), len(distinct)


def _some(numbers: Iterable[int]) -> str:
    shown = sorted(numbers)
    return ", ".join(map(str, shown[:8])) + (" ..." if len(shown) > 8 else "")
