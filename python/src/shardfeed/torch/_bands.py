"""Bands: the columns of one type of numbers, which the engine lays one behind the other at equal distances."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import torch

from .._layout import DATA, Layout
from .._schema import Field


class Cut(NamedTuple):
    """How a band's columns are cut out of one array: values, and in between what nobody wants."""

    values: int  # of the array
    dtype: np.dtype[Any]
    first: int  # its offset
    sizes: list[int]
    gap: int  # values between two columns


class Bands:
    """Makes the tensors of a batch's bands: for each one array, of which torch cuts the columns. One by one they take three times as long.

    Such tensors share their memory's owner and nothing else: each has a version of its own, as autograd wants it of what is written to.
    """

    def __init__(self, layout: Layout) -> None:
        """Takes the columns of types that two or more have."""
        found: dict[tuple[str, int], list[str]] = {}
        for name, field in layout.schema.items():
            if _plain(field):
                found.setdefault((field.type, field.width), []).append(name)
        bands = [names for names in found.values() if len(names) > 1]
        self.names = tuple(itertools.chain(*bands))
        self._bands = [(len(names), layout.schema[names[0]].storage(plain=True).dtype) for names in bands]
        self._offsets: Any = itemgetter(*[layout.at[name] + DATA for name in self.names]) if bands else None
        # Rows and offsets of the batch before, and what follows from them; one thing, as several threads may take batches.
        self._before: tuple[int, tuple[int, ...], list[Cut]] = (-1, (), [])

    def tensors(self, slot: np.ndarray, nodes: Sequence[int], rows: int) -> Sequence[torch.Tensor]:
        """The columns of a batch, in the order of the names."""
        if self._offsets is None:
            return ()
        offsets = self._offsets(nodes)
        known_rows, known, cuts = self._before
        if rows != known_rows or offsets != known:
            cuts = self._divide(rows, offsets)
            self._before = rows, offsets, cuts
        tensors: list[torch.Tensor] = []
        for values, dtype, first, sizes, gap in cuts:
            pieces = torch.unsafe_split_with_sizes(torch.from_numpy(np.ndarray(values, dtype, slot, first)), sizes)
            tensors += pieces[::2] if gap else pieces
        return tensors

    def _divide(self, rows: int, offsets: tuple[int, ...]) -> list[Cut]:
        """How to cut. A band of which a transform has put a column elsewhere, so that the distances differ, is cut out column by column."""
        cuts, left = [], iter(offsets)
        for columns, dtype in self._bands:
            own = tuple(itertools.islice(left, columns))
            first, stride, size = own[0], own[1] - own[0], dtype.itemsize
            if stride < max(rows, 1) * size or stride % size or own != tuple(range(first, first + columns * stride, stride)):
                cuts += [Cut(rows, dtype, at, [rows], 0) for at in own]
                continue
            gap = stride // size - rows
            sizes = ([rows, gap] * columns)[:-1] if gap else [rows] * columns
            cuts.append(Cut(sum(sizes), dtype, first, sizes, gap))
        return cuts


def _plain(field: Field) -> bool:
    """Whether the values of a column are numbers that the engine gathers, and are shown as they lie."""
    if field.kind != "fixed" or field.added:
        return False
    _, shape, _, convert = field.storage(plain=True)
    return not shape and convert is None
