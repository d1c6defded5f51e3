"""Single rows of tensors, for ``batch_size=None``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .. import _rows
from .._batch import Batch


class Row(NamedTuple):
    """A row, its step, and the place behind it."""

    columns: dict[str, Any]
    step: int
    epoch: int
    position: int


class Bundles:
    """Takes the rows out of batches in which many steps of a row come together."""

    def __init__(self, bundle: int, world_size: int, size: int, tail: str) -> None:
        self._bundle = bundle
        self._world_size = world_size
        self._size = size
        self._tail = tail

    def rows(self, batch: Batch, rows: Iterator[dict[str, Any]], after: tuple[int, int]) -> Iterator[Row]:
        """The rows of a batch, each with the place behind it; after is the place behind the batch."""
        take = batch.rows if self._bundle == 1 else _rows.due(batch, self._bundle, self._world_size, self._size, self._tail)
        epoch, position = batch.epoch, batch.position
        for n in range(1, take + 1):
            step, position = position // self._world_size, position + self._world_size
            behind = after if n == take else (epoch, position)
            yield Row(next(rows), step, *behind)
