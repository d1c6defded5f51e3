"""Single rows, for ``batch_size=None``: the engine sends many of them together, and the state is exact after each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ._batch import Batch
from ._iterator import BatchIterator

# Rows that come together at most; the engine sends fewer where they are large, and single ones where together they would not be the same.
BUNDLE = 256


def rows(batches: BatchIterator, *, bundle: int, world_size: int, size: int, tail: str, marks: bool) -> Iterator[dict[str, Any]]:
    """The rows of an iteration as dicts. With marks each says in ``_row_valid`` whether it counts, as a padded tail needs it."""
    place = batches.place
    for batch in batches:
        take = batch.rows if bundle == 1 else due(batch, bundle, world_size, size, tail)
        after = place.epoch, place.position
        values = batch.to_rows()
        for n in range(1, take + 1):
            row = next(values)
            if marks:
                row["_row_valid"] = n <= batch.rows - batch.padding
            if n == take:
                place.epoch, place.position = after
            else:
                place.epoch, place.position = batch.epoch, batch.position + n * world_size
            yield row


def due(batch: Batch, bundle: int, world_size: int, size: int, tail: str) -> int:
    """How many rows of a bundle are this rank's. It differs from all at an epoch's end, where the tail counts single rows."""
    left = size - batch.position
    if left >= bundle * world_size:
        return batch.rows
    if tail == "drop":
        return left // world_size
    if tail == "pad":
        return -(-left // world_size)
    return batch.rows - batch.padding
