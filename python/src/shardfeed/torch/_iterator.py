"""Iterations that make tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

from .._args._types import T
from .._engine._connection import Connection
from .._engine._raw_batch import RawBatch
from .._engine._ring import Ring
from .._iterator import BatchIterator, Place
from .._rows import Row, RowIterator, RowMaker
from .._transform import Function, Functions
from .._turn import Turn
from .._waited import OPEN
from ._layout import TensorLayout
from ._tensors import rows


class TensorIterator(Generic[T]):
    """One epoch of batches as dicts of tensors, or of rows.

    It starts with the first one, or by begin.

    Several threads may share it: each batch comes once. Functions of map then run in several
    threads.

    ``place`` is its position, None before it starts. ``position`` is the position of its last
    batch: rows of the epoch before it, over all ranks.
    """

    def __init__(self, dataset: Any) -> None:
        self.waited = dataset._waited
        self.counts = True  # the wait; False where a loader does it
        self.outputs = 0  # batches that workers hold results of, at its start
        self.image_cpu_share: float | None = None  # of JPEGs; the others come as files, for a device. None: all are decoded
        self.place: Place | None = None
        self.position: int | None = None
        self.ring: Ring | None = None  # of the last batch
        self._dataset: Any = dataset  # of torch; None once the iteration has begun
        self._batches: BatchIterator | None = None
        self._layout: TensorLayout | None = None
        self._tensors: Callable[[RawBatch], Any]  # of the layout, once it has started
        self._views = False
        self._rows: RowIterator | None = None  # of a data set of rows
        self.rank = 0
        self._functions: Functions | None = None
        self._turn = Turn()
        self._closed = False
        self._each: tuple[Function, ...] = dataset._transforms

    def then(self, function: Function) -> None:
        """Adds a function after the data set's, before the iteration starts."""
        self._each = (*self._each, function)

    def begin(self) -> None:
        """Starts the iteration now. Further calls do nothing."""
        with self._turn.lock:
            self._begin()

    def _begin(self) -> None:
        dataset = self._dataset
        if dataset is None:
            return
        batches = None if dataset._nothing_left() else dataset._begin(self.outputs, self.image_cpu_share)
        if batches is not None:
            self.place = batches.place
            self.rank, world_size = dataset._ranks()
            self._functions = Functions(self._each, self.rank) if self._each else None
            tail = dataset._tail(world_size)
            self._layout = TensorLayout(batches.layout, dataset._masks, row_valid=dataset._with_row_valid)
            self._tensors, self._views = self._layout.tensors, self._layout.views
            if dataset._rows_wanted:
                self._rows = RowIterator(batches, _row_maker(self._layout), world_size=world_size, end=dataset._row_range()[1], tail=tail)
            self._batches = batches  # from here on other threads may take batches
        self._dataset = None
        if self._closed and batches is not None:  # by another thread, meanwhile
            self.close()

    def __iter__(self) -> TensorIterator[T]:
        return self

    def __next__(self) -> T:
        watch = self.waited.start() if self.counts and self._rows is None else None
        try:
            at, ring, value = self._next()
            self.position, after, total = at.moves
        except Exception:
            raise
        except BaseException as e:
            if (taken := self._rows or self._batches) is not None:
                taken.interrupted(e)
            raise
        finally:
            if watch is not None:
                self.waited.stop(watch)
        self.ring = ring
        place = self.place
        assert place is not None
        place.total += total
        if after > place.after:  # no call, as in BatchIterator
            place.after = after
        return value

    def _next(self) -> tuple[Row | RawBatch, Ring | None, Any]:
        """The next batch or row, its ring, and what the functions make of it."""
        batches = self._batches
        if batches is None:
            self.begin()
            self.waited.spent(OPEN)
            batches = self._batches
            if batches is None:
                raise StopIteration  # it was closed before it began, or nothing is left of its epoch
        rows, functions = self._rows, self._functions
        at: Row | RawBatch
        value: Any
        if rows is not None:
            at = rows.take()
            value, ring = at.columns, rows.ring
        else:
            at, value = batches.make(self._tensors, ahead=self._views)
            ring = at.ring
        if functions is not None:
            value = functions(value, at.epoch, at.step, self.waited)
        return at, ring, value

    @property
    def connection(self) -> Connection | None:
        """The connection to the engine, while the iteration runs."""
        return None if self._batches is None else self._batches.connection

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
