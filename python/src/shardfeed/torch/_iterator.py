"""Iterations that make tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._iterator import BatchIterator, Place
from .._raw_batch import RawBatch
from .._ring import Ring
from ._layout import TensorLayout
from ._rows import Bundles, Row
from ._tensors import rows

if TYPE_CHECKING:
    from ._dataset import StreamingDataset


class TensorIterator:
    """One epoch of batches as dicts of tensors, or of rows. It begins in the engine when the first one is asked for, or by begin.

    ``place`` is where it stands, None before it begins; ``position`` counts the rows of the epoch, over all ranks, before its last batch.
    """

    def __init__(self, dataset: StreamingDataset) -> None:
        self.place: Place | None = None
        self.position: int | None = None
        self.ring: Ring | None = None  # in which the last batch lies
        self._dataset: StreamingDataset | None = dataset
        self._batches: BatchIterator | None = None
        self._layout: TensorLayout | None = None
        self._bundles: Bundles | None = None  # of a data set of rows
        self._came: Iterator[Row] = iter(())  # rows that came together
        self._rank = 0
        self._transforms = dataset._transforms

    def begin(self) -> None:
        """Begins the iteration now. Once it has begun this does nothing."""
        dataset = self._dataset
        if dataset is None:
            return
        batches = None if dataset._nothing_left() else dataset._begin()
        if batches is not None:
            self._batches = batches
            self.place = self._batches.place
            self._rank, world_size = dataset._ranks()
            tail = dataset._tail(world_size)
            self._layout = TensorLayout(batches.layout, dataset._masks, padded=tail == "pad")
            if dataset._rows_wanted:
                self._bundles = Bundles(self._batches.bundle, world_size, dataset.size, tail)
        self._dataset = None

    def __iter__(self) -> TensorIterator:
        return self

    def __next__(self) -> Any:
        batches = self._batches
        if batches is None:
            self.begin()
            batches = self._batches
            if batches is None:
                raise StopIteration  # it was closed before it began, or nothing is left of its epoch
        if self._bundles is not None:
            return self._row(batches, self._bundles)
        raw = batches.take()
        batch = self._tensors(raw)
        for transform in self._transforms:
            batch = transform(batch, raw.epoch, raw.step, self._rank)
        return batch

    def _tensors(self, raw: RawBatch) -> Any:
        self.position, self.ring = raw.position, raw.slot.ring
        assert self._layout is not None  # there are no batches before it
        return self._layout.tensors(raw)

    def _row(self, batches: BatchIterator, bundles: Bundles) -> Any:
        """The next row. Many come together, and the state is exact after each."""
        place = batches.place
        row = next(self._came, None)
        while row is None:
            before = place.epoch, place.position
            batch = next(batches)
            after, (place.epoch, place.position) = (place.epoch, place.position), before
            self._came = bundles.rows(batch, rows(self._tensors(batch._raw)), after)
            row = next(self._came, None)
        epoch, value = place.epoch, row.columns
        place.epoch, place.position = row.epoch, row.position
        for transform in self._transforms:
            value = transform(value, epoch, row.step, self._rank)
        return value

    def ready(self) -> bool:
        """Tells whether something of the engine is there already, so that the next batch needs no waiting for."""
        return self._batches is not None and self._batches.ready()

    def close(self) -> None:
        """Ends the iteration. It never waits."""
        self._dataset = None
        if self._batches is not None:
            self._batches.close()
