"""Single rows, for ``batch_size=None``: the engine sends many at once, and each has a state."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ._batch import Batch
from ._engine._raw_batch import RawBatch
from ._engine._ring import Ring
from ._iterator import BatchIterator, Place
from ._turn import Turn

# Most rows in one batch. The engine sends fewer of large rows, and one at a time where several
# steps together would have other rows.
BUNDLE = 256

# A RowMaker makes the rows of a batch.
RowMaker = Callable[[Batch], Iterator[dict[str, Any]]]


class Row(NamedTuple):
    """A row, its place in training, the epoch and position after it, and what it adds to the audit."""

    columns: dict[str, Any]
    epoch: int
    step: int
    position: int
    after: tuple[int, int]
    sum: int


class RowIterator:
    """The rows of one iteration. Several threads may share it: each row comes once."""

    def __init__(self, batches: BatchIterator, make: RowMaker, *, world_size: int, end: int, tail: str) -> None:
        self.ring: Ring | None = None  # of the last batch
        self.place: Place = batches.place
        self._batches = batches
        self._make = make
        self.world_size = world_size
        self._end = end
        self._tail = tail
        self._came: Iterator[Row] = iter(())  # rows of the last batch
        self._turn = Turn()
        self._closed = False

    def __iter__(self) -> RowIterator:
        return self

    def __next__(self) -> dict[str, Any]:
        try:
            row = self.take()
        except Exception:
            raise
        except BaseException as e:
            self.interrupted(e)
            raise
        place, after = self.place, row.after
        place.total += row.sum
        if after > place.after:  # no call, as in BatchIterator
            place.after = after
        return row.columns

    def take(self) -> Row:
        """The next row, for who hands it out and then moves the place."""
        with self._turn.lock:
            if self._closed:
                raise StopIteration
            row = next(self._came, None)
            while row is None:
                raw, batch = self._batches.batch()
                self.ring = raw.ring
                count = self._count(batch)
                self._came = _rows(batch, self._make, count, self.world_size, raw.after, raw.sums(count), self._batches.failed)
                row = next(self._came, None)
            return row

    def interrupted(self, by: BaseException) -> None:
        """Ends an iteration in which a row may be lost."""
        self._came = iter(())
        self._batches.interrupted(by)

    def places(self, batch: Batch, raw: RawBatch) -> list[Row]:
        """The rows of a batch, without their columns."""
        count = self._count(batch)
        return list(_rows(batch, _empty, count, self.world_size, raw.after, raw.sums(count), self._batches.failed))

    def _count(self, batch: Batch) -> int:
        bundle = self._batches.bundle
        return batch.rows if bundle == 1 else due(batch, bundle, self.world_size, self._end, self._tail)

    def close(self) -> None:
        """Ends the iteration. It never waits."""
        self._closed = True
        self._batches.close()


def _rows(
    batch: Batch,
    make: RowMaker,
    count: int,
    world_size: int,
    after: tuple[int, int],
    sums: Sequence[int],
    failed: Callable[[Exception], None],
) -> Iterator[Row]:
    """The first rows of a batch. after is the place after the last one, and each adds its sum to
    the audit. An error ends the iteration: the rows that follow are lost.
    """
    try:
        values = make(batch)
        for n in range(count):
            at = batch.position + n * world_size
            behind = after if n == count - 1 else (batch.epoch, at + world_size)
            yield Row(next(values), batch.epoch, at // world_size, at, behind, sums[n])
    except Exception as e:
        failed(e)
        raise


def _empty(batch: Batch) -> Iterator[dict[str, Any]]:
    return itertools.repeat({})


def due(batch: Batch, bundle: int, world_size: int, end: int, tail: str) -> int:
    """How many rows of a bundle are this rank's. At the end of an epoch the tail decides."""
    left = end - batch.position
    if left >= bundle * world_size:
        return batch.rows
    if tail == "drop":
        return left // world_size
    if tail == "pad":
        return -(-left // world_size)
    return min(batch.rows - batch.padding, left)
