"""Single rows, for ``batch_size=None``: the engine sends many at once, and each has a state."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ._batch import Batch
from ._iterator import BatchIterator
from ._ring import Ring
from ._turn import Turn

# Most rows in one batch. The engine sends fewer of large rows, and one at a time where several
# steps together would have other rows.
BUNDLE = 256

# A RowMaker makes the rows of a batch.
RowMaker = Callable[[Batch], Iterator[dict[str, Any]]]


class Row(NamedTuple):
    """A row, its place in training, and the epoch and position after it."""

    columns: dict[str, Any]
    epoch: int
    step: int
    position: int
    behind: tuple[int, int]


class RowIterator:
    """The rows of one iteration. Several threads may share it: each row comes once."""

    def __init__(self, batches: BatchIterator, make: RowMaker, *, world_size: int, size: int, tail: str) -> None:
        self.ring: Ring | None = None  # in which the last batch lies
        self._batches = batches
        self._make = make
        self.world_size = world_size
        self._size = size
        self._tail = tail
        self._came: Iterator[Row] = iter(())  # rows of the last batch
        self._turn = Turn()
        self._closed = False

    def __iter__(self) -> RowIterator:
        return self

    def __next__(self) -> dict[str, Any]:
        return self.take().columns

    def take(self) -> Row:
        """The next row."""
        place = self._batches.place
        with self._turn.lock:
            if self._closed:
                raise StopIteration
            row = next(self._came, None)
            while row is None:
                before = place.epoch, place.position
                batch = next(self._batches)
                behind, (place.epoch, place.position) = (place.epoch, place.position), before
                self.ring = batch._raw.ring
                self._came = _rows(batch, self._make(batch), self._count(batch), self.world_size, behind)
                row = next(self._came, None)
            place.epoch, place.position = row.behind
            return row

    def places(self, batch: Batch, behind: tuple[int, int]) -> list[Row]:
        """The rows of a batch, without their columns; behind is the epoch and position after the last of them."""
        return list(_rows(batch, itertools.repeat({}), self._count(batch), self.world_size, behind))

    def _count(self, batch: Batch) -> int:
        bundle = self._batches.bundle
        return batch.rows if bundle == 1 else due(batch, bundle, self.world_size, self._size, self._tail)

    def close(self) -> None:
        """Ends the iteration. It never waits."""
        self._closed = True
        self._batches.close()


def _rows(batch: Batch, values: Iterator[dict[str, Any]], count: int, world_size: int, behind: tuple[int, int]) -> Iterator[Row]:
    """The first rows of a batch; behind is the epoch and position after the last of them."""
    for n in range(count):
        at = batch.position + n * world_size
        after = behind if n == count - 1 else (batch.epoch, at + world_size)
        yield Row(next(values), batch.epoch, at // world_size, at, after)


def due(batch: Batch, bundle: int, world_size: int, size: int, tail: str) -> int:
    """How many rows of a bundle are this rank's. At the end of an epoch the tail decides."""
    left = size - batch.position
    if left >= bundle * world_size:
        return batch.rows
    if tail == "drop":
        return left // world_size
    if tail == "pad":
        return -(-left // world_size)
    return batch.rows - batch.padding
