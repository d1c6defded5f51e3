"""Single rows, for ``batch_size=None``: the engine sends many at once, and each has a state."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from . import _audit
from ._audit import Dealt
from ._batch import Batch
from ._engine._raw_batch import RawBatch
from ._engine._ring import Ring
from ._iterator import BatchIterator, Place
from ._turn import Turn

S = TypeVar("S")

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

    @property
    def moves(self) -> tuple[int, tuple[int, int], int]:
        """Its position, the place after it, and what it adds to the audit."""
        return self.position, self.after, self.sum


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
                dealt = raw.deal(self.steps(raw))
                if not dealt:  # all its rows are lost
                    self.place.move(raw.after, raw.sum)
                self._came = _rows(batch, self._make, dealt, self.world_size, raw.after, self._batches.failed)
                row = next(self._came, None)
            return row

    def interrupted(self, by: BaseException) -> None:
        """Ends an iteration in which a row may be lost."""
        self._came = iter(())
        self._batches.interrupted(by)

    def places(self, batch: Batch, raw: RawBatch) -> list[Row]:
        """The rows of a batch, without their columns."""
        return list(_rows(batch, None, raw.deal(self.steps(raw)), self.world_size, raw.after, self._batches.failed))

    def steps(self, raw: RawBatch) -> int:
        """How many steps of a bundle are this rank's. At the end of an epoch the tail decides."""
        bundle, left = self._batches.bundle, self._end - raw.position
        if bundle == 1 or left >= bundle * self.world_size:
            return bundle
        if self._tail == "drop":
            return left // self.world_size
        if self._tail == "pad":
            return -(-left // self.world_size)
        return min(_audit.steps(raw.sum), left)

    def close(self) -> None:
        """Ends the iteration. It never waits."""
        self._closed = True
        self._batches.close()


def _rows(
    batch: Batch,
    make: RowMaker | None,
    dealt: Sequence[Dealt],
    world_size: int,
    after: tuple[int, int],
    failed: Callable[[Exception], None],
) -> Iterator[Row]:
    """The rows of a batch, without columns where make is None. after is the place after the last one.
    An error ends the iteration: the rows that follow are lost.
    """
    try:
        for (_, step, total), columns in zip(dealt, itertools.repeat({}) if make is None else in_order(make(batch), dealt)):
            at = batch.position + step * world_size
            behind = after if step == dealt[-1][1] else (batch.epoch, at + world_size)
            yield Row(columns, batch.epoch, at // world_size, at, behind, total)
    except Exception as e:
        failed(e)
        raise


def in_order(values: Iterator[S], dealt: Sequence[Dealt]) -> Iterator[S]:
    """The rows of a batch in the order of their steps, which differs only beside lost rows."""
    if all(row == n for n, (row, _, _) in enumerate(dealt)):
        return values
    found = list(values)
    return iter([found[row] for row, _, _ in dealt])
