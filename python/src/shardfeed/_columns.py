"""Columns that are no plain array: strings and binary, and lists of different lengths."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from typing import Any, Union

import numpy as np

__all__ = ["Bytes", "Ragged", "column_to_list", "iter_column"]

# A column is an array, or one of the classes below, or for a struct a dict of its members' columns.
Column = Union[np.ndarray, "Bytes", "Ragged", dict[str, "Column"]]


class Bytes:
    """Strings or binary values: the bytes of all rows in one array, and where each row begins and ends.

    Row ``i`` is ``values[offsets[i]:offsets[i + 1]]``. Indexing by a number gives str for text and bytes for binary; by a slice, a Bytes.
    """

    __slots__ = ("offsets", "text", "values")

    def __init__(self, values: np.ndarray, offsets: np.ndarray, text: bool = False) -> None:
        self.values = values  # uint8
        self.offsets = offsets  # int32, one more than rows
        self.text = text

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, stop = run_of(index, len(self))
            return Bytes(self.values, self.offsets[start : stop + 1], self.text)
        i = _place(index, len(self))
        return self._show(self.values[self.offsets[i] : self.offsets[i + 1]].tobytes())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def _show(self, value: bytes) -> str | bytes:
        return value.decode() if self.text else value

    @property
    def lengths(self) -> np.ndarray:
        """The bytes of each row."""
        return np.diff(self.offsets)

    def tolist(self) -> list[Any]:
        """A str of each row for text, else bytes."""
        edges = self.offsets.tolist()
        first = edges[0]
        whole = self.values[first : edges[-1]].tobytes()
        if not self.text:
            return [whole[lo - first : hi - first] for lo, hi in itertools.pairwise(edges)]
        if whole.isascii():
            text = whole.decode("ascii")
            return [text[lo - first : hi - first] for lo, hi in itertools.pairwise(edges)]
        return [whole[lo - first : hi - first].decode() for lo, hi in itertools.pairwise(edges)]

    def to_numpy(self) -> np.ndarray:
        """An array of objects: str for text, else bytes."""
        out = np.empty(len(self), object)
        out[:] = self.tolist()
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an array of objects is always made anew: .values and .offsets are there without a copy")
        out = self.to_numpy()
        return out if dtype is None else out.astype(dtype)

    def copy(self) -> Bytes:
        """The same rows in memory of their own."""
        offsets, lo, hi = _rebased(self.offsets)
        return Bytes(self.values[lo:hi].copy(), offsets, self.text)

    def __reduce__(self) -> tuple[Any, ...]:
        own = self.copy()
        return Bytes, (own.values, own.offsets, own.text)

    def __repr__(self) -> str:
        return f"Bytes({len(self)} {'strings' if self.text else 'values'}, {int(self.offsets[-1] - self.offsets[0])} bytes)"


class Ragged:
    """Lists of different lengths: the items of all rows in one column, and where each row begins and ends.

    Row ``i`` is ``values[offsets[i]:offsets[i + 1]]``. ``values`` is a column itself: an array, Bytes, Ragged, or for lists of structs and
    for maps a dict of columns.
    """

    __slots__ = ("offsets", "values")

    def __init__(self, values: Column, offsets: np.ndarray) -> None:
        self.values = values
        self.offsets = offsets  # int32, one more than rows

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            start, stop = run_of(index, len(self))
            return Ragged(self.values, self.offsets[start : stop + 1])
        i = _place(index, len(self))
        return slice_column(self.values, int(self.offsets[i]), int(self.offsets[i + 1]))

    def __iter__(self) -> Iterator[Any]:
        edges = self.offsets.tolist()
        return (slice_column(self.values, lo, hi) for lo, hi in itertools.pairwise(edges))

    @property
    def lengths(self) -> np.ndarray:
        """The number of items of each row."""
        return np.diff(self.offsets)

    def tolist(self) -> list[list[Any]]:
        """A list of each row."""
        edges = self.offsets.tolist()
        first = edges[0]
        items = column_to_list(slice_column(self.values, first, edges[-1]))
        return [items[lo - first : hi - first] for lo, hi in itertools.pairwise(edges)]

    def to_numpy(self) -> np.ndarray:
        """An array of objects: the items of each row."""
        out = np.empty(len(self), object)
        for i, items in enumerate(self):
            out[i] = items
        return out

    def to_padded(self, value: Any = 0, length: int | None = None) -> np.ndarray:
        """A dense array of shape [rows, length], filled up with value; longer rows are cut. Without length it is the longest row's.

        The engine does it faster: see the arguments ``pad`` and ``max_length``.
        """
        if not isinstance(self.values, np.ndarray):
            raise TypeError(f"only lists of numbers are padded, and these are of {type(self.values).__name__}")
        lengths = self.lengths
        width = int(lengths.max(initial=0)) if length is None else length
        out = np.full((len(self), width, *self.values.shape[1:]), value, self.values.dtype)
        inside = np.arange(width) < lengths[:, None]
        places = self.offsets[:-1, None] + np.arange(width, dtype=self.offsets.dtype)
        out[inside] = self.values[places[inside]]
        return out

    def copy(self) -> Ragged:
        """The same rows in memory of their own."""
        offsets, lo, hi = _rebased(self.offsets)
        return Ragged(copy_column(slice_column(self.values, lo, hi)), offsets)

    def __reduce__(self) -> tuple[Any, ...]:
        own = self.copy()
        return Ragged, (own.values, own.offsets)

    def __repr__(self) -> str:
        return f"Ragged({len(self)} lists, {int(self.offsets[-1] - self.offsets[0])} items)"


def _place(index: Any, n: int) -> int:
    i = operator.index(index)
    if not -n <= i < n:
        raise IndexError(f"row {i} of {n}")
    return i + n if i < 0 else i


def run_of(index: slice, n: int) -> tuple[int, int]:
    """The first row of a slice of n rows, and the one behind its last."""
    start, stop, step = index.indices(n)
    if step != 1:
        raise IndexError("rows are taken in a run: the step of a slice must be 1")
    return start, max(start, stop)


def _rebased(offsets: np.ndarray) -> tuple[np.ndarray, int, int]:
    return offsets - offsets[0], int(offsets[0]), int(offsets[-1])


def slice_column(column: Column, lo: int, hi: int) -> Column:
    """Rows lo to hi of a column, without a copy."""
    if isinstance(column, dict):
        return {name: slice_column(member, lo, hi) for name, member in column.items()}
    return column[lo:hi]


def copy_column(column: Column) -> Column:
    """A column in memory of its own."""
    if isinstance(column, dict):
        return {name: copy_column(member) for name, member in column.items()}
    return column.copy()


def column_to_list(column: Column) -> list[Any]:
    """A column as Python values; a struct is a dict in each row."""
    if isinstance(column, dict):
        return [dict(zip(column, row)) for row in zip(*map(column_to_list, column.values()))]
    return column.tolist()


def iter_column(column: Column) -> Iterator[Any]:
    """The rows of a column one after the other: scalars and arrays as numpy has them, str or bytes, dicts for structs."""
    if isinstance(column, dict):
        return (dict(zip(column, row)) for row in zip(*map(iter_column, column.values())))
    return iter(column)
