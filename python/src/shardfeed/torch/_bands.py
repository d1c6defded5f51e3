"""Bands: the number columns of one type, which the engine places at equal distances."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import torch

from .._columns._field import DATA, Field
from .._columns._layout import Layout


class Cut(NamedTuple):
    """How a band's columns are cut from one array, with unused values between them."""

    values: int  # of the array
    dtype: np.dtype[Any]
    first: int  # its offset
    sizes: list[int]
    gap: int  # values between two columns


class Bands:
    """Makes the tensors of a batch's bands.

    Torch cuts each band from one array, three times as fast as one by one.

    The tensors share only the owner of their memory. Each has its own version, which autograd needs
    when a tensor is written to.
    """

    def __init__(self, layout: Layout) -> None:
        """Takes the columns whose type two or more columns have."""
        found: dict[tuple[str, int], list[str]] = {}
        for name, field in layout.schema.items():
            if _plain(field):
                found.setdefault((field.type, field.width), []).append(name)
        bands = [names for names in found.values() if len(names) > 1]
        self.names = tuple(itertools.chain(*bands))
        self._bands = [(len(names), layout.schema[names[0]].storage(plain=True).dtype) for names in bands]
        self._offsets: Any = itemgetter(*[layout.at[name] + DATA for name in self.names]) if bands else None
        # Rows and offsets of the last batch, and the cuts for them: one tuple, as threads share it.
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
        """How to cut.

        When a transform has moved a column, the distances differ, and the band is cut column by
        column.
        """
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
    """Whether a column is numbers that the engine gathers, and users see the stored values."""
    if field.kind != "fixed" or field.added:
        return False
    dtype, shape, _, convert = field.storage(plain=True)
    return not shape and convert is None and not dtype.metadata
