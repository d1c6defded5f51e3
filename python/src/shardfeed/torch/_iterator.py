"""Iterations that make tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from .._iterator import BatchIterator, Place
from .._layout import Layout
from ._tensors import rows, to_tensors

if TYPE_CHECKING:
    from ._dataset import StreamingDataset

ROW_VALID = "_row_valid"


class TensorIterator:
    """One epoch of batches as dicts of tensors. It begins in the engine when its first batch is asked for, or by begin.

    ``place`` is where it stands, None before it begins; ``position`` counts the rows of the epoch, over all ranks, before its last batch.
    """

    def __init__(self, dataset: StreamingDataset) -> None:
        self.place: Place | None = None
        self.position: int | None = None
        self._dataset: StreamingDataset | None = dataset
        self._batches: BatchIterator | None = None
        self._columns: list[tuple[str, Callable[..., Any], Callable[..., Any]]] = []
        self._padded = self._rows = False
        self._rank = 0
        self._transforms = dataset._transforms

    def begin(self) -> None:
        """Begins the iteration now. Once it has begun this does nothing."""
        dataset, self._dataset = self._dataset, None
        if dataset is None:
            return
        try:
            self._batches = dataset._begin()
        except BaseException:
            self._dataset = dataset
            raise
        self.place = self._batches.place
        self._columns = _columns(self._batches.layout)
        self._padded, self._rows, self._rank = dataset._padded(), dataset._rows_wanted, dataset.rank

    def __iter__(self) -> TensorIterator:
        return self

    def __next__(self) -> Any:
        batches = self._batches
        if batches is None:
            self.begin()
            batches = self._batches
            if batches is None:
                raise StopIteration  # it was closed before it began
        raw = next(batches)._raw
        memory, nodes = raw.bytes, raw.nodes
        batch: Any = {name: convert(make(memory, nodes)) for name, make, convert in self._columns}
        self.position = raw.position
        if self._padded:
            batch[ROW_VALID] = _row_valid(raw.rows, raw.valid)
        if self._rows:
            batch = next(rows(batch))
        for transform in self._transforms:
            batch = transform(batch, raw.epoch, raw.step, self._rank)
        return batch

    def close(self) -> None:
        """Ends the iteration. It never waits."""
        self._dataset = None
        if self._batches is not None:
            self._batches.close()


def _columns(layout: Layout) -> list[tuple[str, Callable[..., Any], Callable[..., Any]]]:
    """For each column its name, what makes its array, and what makes a tensor of that."""
    fields = layout.schema
    return [(name, make, torch.from_numpy if fields[name].is_dense else to_tensors) for name, make in layout.makers.items()]


def _row_valid(count: int, valid: int) -> torch.Tensor:
    mask = torch.ones(count, dtype=torch.bool)
    if valid < count:
        mask[valid:] = False
    return mask
