"""Iterations that make tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic

from .._iterator import BatchIterator, Place
from .._keywords import T
from .._raw_batch import POSITION, RawBatch
from .._ring import Ring
from .._rows import RowIterator, RowMaker
from .._turn import Turn
from .._waited import Waited, now
from ._layout import TensorLayout
from ._tensors import rows

if TYPE_CHECKING:
    from ._dataset import StreamingDataset


class TensorIterator(Generic[T]):
    """One epoch of batches as dicts of tensors, or of rows.

    It begins with the first one, or by begin.

    Several threads may share it: each batch comes once. Functions of map then run in several
    threads.

    ``place`` is where it stands, None before it begins. ``position`` is the position of its last
    batch: rows of the epoch before it, over all ranks.
    """

    def __init__(self, dataset: StreamingDataset[T]) -> None:
        self.waited: Waited | None = dataset._waited  # None where a loader counts the wait
        self.outputs = 0  # batches that workers hold results of, when it begins
        self.place: Place | None = None
        self.position: int | None = None
        self.ring: Ring | None = None  # in which the last batch lies
        self._dataset: StreamingDataset[T] | None = dataset
        self._batches: BatchIterator | None = None
        self._layout: TensorLayout | None = None
        self._tensors: Callable[[RawBatch], Any]  # of the layout, from the beginning on
        self._views = False
        self._rows: RowIterator | None = None  # of a data set of rows
        self._rank = 0
        self._turn = Turn()
        self._closed = False
        self._transforms = dataset._transforms

    def begin(self) -> None:
        """Begins the iteration now. Further calls do nothing."""
        with self._turn.lock:
            self._begin()

    def _begin(self) -> None:
        dataset = self._dataset
        if dataset is None:
            return
        batches = None if dataset._nothing_left() else dataset._begin(self.outputs)
        if batches is not None:
            self.place = batches.place
            self._rank, world_size = dataset._ranks()
            tail = dataset._tail(world_size)
            self._layout = TensorLayout(batches.layout, dataset._masks, row_valid=dataset._with_row_valid)
            self._tensors, self._views = self._layout.tensors, self._layout.views
            if dataset._rows_wanted:
                self._rows = RowIterator(batches, _row_maker(self._layout), world_size=world_size, size=dataset.size, tail=tail)
            self._batches = batches  # from here on other threads may take batches
        self._dataset = None
        if self._closed and batches is not None:  # by another thread, meanwhile
            self.close()

    def __iter__(self) -> TensorIterator[T]:
        return self

    def __next__(self) -> T:
        if self._rows is not None or self.waited is None:
            return self._next()
        begin = now()
        try:
            return self._next()
        finally:
            self.waited.since(begin)

    def _next(self) -> T:
        batches = self._batches
        if batches is None:
            self.begin()
            batches = self._batches
            if batches is None:
                raise StopIteration  # it was closed before it began, or nothing is left of its epoch
        if self._rows is not None:
            row = self._rows.take()
            self.position, self.ring = row.position, self._rows.ring
            return self._transformed(row.columns, row.epoch, row.step)
        raw, batch = batches.make(self._tensors, ahead=self._views)
        self.position, self.ring = raw.header[POSITION], raw.ring
        return self._transformed(batch, raw.epoch, raw.step) if self._transforms else batch

    def _transformed(self, value: Any, epoch: int, step: int) -> Any:
        for transform in self._transforms:
            value = transform(value, epoch, step, self._rank)
        return value

    def ready(self) -> bool:
        """Whether the next batch is probably there."""
        return self._batches is not None and self._batches.ready()

    def close(self) -> None:
        """Ends the iteration. It never waits."""
        self._closed = True
        self._dataset = None
        if self._batches is not None:
            (self._rows or self._batches).close()


def _row_maker(layout: TensorLayout) -> RowMaker:
    return lambda batch: rows(layout.tensors(batch._raw))
