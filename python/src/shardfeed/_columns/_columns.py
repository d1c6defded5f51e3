"""Columns beyond plain arrays: strings and binary values, and lists of different lengths."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from .._documented import documented
from . import _take
from ._node import Node

if TYPE_CHECKING:
    from .._args._types import Length

__all__ = ["Bytes", "Ragged", "column_to_list", "iter_column"]

# A column is an array or one of the classes below; a struct's column is a dict of its members'
# columns.
Column = Union[np.ndarray, "Bytes", "Ragged", dict[str, "Column"]]


class _Rows:
    """The interfaces of numpy and Arrow that the classes below have in common."""

    __slots__ = ("offsets", "values")
    __hash__ = None  # type: ignore[assignment] # as for arrays: == gives an array

    offsets: np.ndarray  # int32, one more than rows
    values: Any

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def to_numpy(self) -> np.ndarray:
        raise NotImplementedError

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("an array of objects is always a copy: use .values and .offsets, which are not")
        out = self.to_numpy()
        return out if dtype is None else out.astype(dtype)

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        """Arrow's PyCapsule interface, by which ``pyarrow.array(column)`` and others read a
        column.
        """
        from ._arrow_columns import column_capsules

        return column_capsules(self, requested_schema)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # memory of the host


@documented
class Bytes(_Rows):
    """Strings or binary values: the bytes of all rows in one array, and where each row starts and
    ends.

    Row ``i`` is ``values[offsets[i]:offsets[i + 1]]``. Indexing works as in a numpy array of one
    dimension: a number gives a str (bytes for binary values), a slice, a mask or an array of
    integers a Bytes. A slice with step 1 is a view. ``==`` compares row by row with one value, or
    with as many values as there are rows, and gives an array of bool.
    """

    __slots__ = ("text",)
    __hash__ = None

    def __init__(self, values: np.ndarray, offsets: np.ndarray, text: bool = False) -> None:
        self.values = values  # uint8
        self.offsets = offsets
        self.text = text

    def __getitem__(self, index: Any) -> Any:
        rows = _take.resolve(index, len(self))
        if isinstance(rows, int):
            return self._show(self.values[self.offsets[rows] : self.offsets[rows + 1]].tobytes())
        if isinstance(rows, slice):
            return Bytes(self.values, self.offsets[rows.start : rows.stop + 1], self.text)
        places, offsets = _take.gathered(self.offsets, rows)
        return Bytes(self.values[places], offsets, self.text)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def _show(self, value: bytes) -> str | bytes:
        return value.decode() if self.text else value

    def __eq__(self, other: object) -> np.ndarray:  # type: ignore[override]
        if isinstance(other, str if self.text else bytes):
            return self._equal_to(other.encode() if isinstance(other, str) else other)
        values = comparable(self, other)
        return np.fromiter((a == b for a, b in zip(self.tolist(), values)), np.bool_, len(self))

    def __ne__(self, other: object) -> np.ndarray:  # type: ignore[override]
        return ~(self == other)

    def _equal_to(self, value: bytes) -> np.ndarray:
        """Looks only at the rows that have as many bytes as the value."""
        equal = self.lengths == len(value)
        rows = np.flatnonzero(equal)
        if len(value):
            places = self.offsets[:-1][rows][:, None].astype(np.int64) + np.arange(len(value))
            equal[rows] = (self.values[places] == np.frombuffer(value, np.uint8)).all(axis=1)
        return equal

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

    def _arrow_node(self, name: str) -> Node:
        buffers = None, np.ascontiguousarray(self.offsets), np.ascontiguousarray(self.values)
        return Node(name, "u" if self.text else "z", False, len(self), 0, buffers)

    def __dlpack__(self, **_options: Any) -> Any:
        raise BufferError(NO_BYTES_TENSOR)

    def copy(self) -> Bytes:
        """A copy of these rows."""
        offsets, lo, hi = _rebased(self.offsets)
        return Bytes(self.values[lo:hi].copy(), offsets, self.text)

    def __reduce__(self) -> tuple[Any, ...]:
        own = self.copy()
        return Bytes, (own.values, own.offsets, own.text)

    def __repr__(self) -> str:
        return f"Bytes({len(self)} {'strings' if self.text else 'values'}, {int(self.offsets[-1] - self.offsets[0])} bytes)"


@documented
class Ragged(_Rows):
    """Lists of different lengths: the items of all rows in one column, and where each row starts
    and ends.

    Row ``i`` is ``values[offsets[i]:offsets[i + 1]]``. ``values`` is a column itself: an array,
    Bytes, Ragged, or for lists of structs and for maps a dict of columns. Indexing works as in a
    numpy array of one dimension: a number gives the items of a row, a slice, a mask or an array of
    integers a Ragged. A slice with step 1 is a view.
    """

    __slots__ = ()
    __hash__ = None

    def __init__(self, values: Column, offsets: np.ndarray) -> None:
        self.values = values
        self.offsets = offsets

    def __getitem__(self, index: Any) -> Any:
        rows = _take.resolve(index, len(self))
        if isinstance(rows, int):
            return slice_column(self.values, int(self.offsets[rows]), int(self.offsets[rows + 1]))
        if isinstance(rows, slice):
            return Ragged(self.values, self.offsets[rows.start : rows.stop + 1])
        places, offsets = _take.gathered(self.offsets, rows)
        return Ragged(take_column(self.values, places), offsets)

    def __iter__(self) -> Iterator[Any]:
        edges = self.offsets.tolist()
        return (slice_column(self.values, lo, hi) for lo, hi in itertools.pairwise(edges))

    def __eq__(self, other: object) -> np.ndarray:  # type: ignore[override]
        raise TypeError(NO_LIST_EQUALITY)

    def __ne__(self, other: object) -> np.ndarray:  # type: ignore[override]
        raise TypeError(NO_LIST_EQUALITY)

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

    def _arrow_node(self, name: str) -> Node:
        from ._arrow_columns import column_node

        items = column_node("item", self.values)
        return Node(name, "+l", False, len(self), 0, (None, np.ascontiguousarray(self.offsets)), (items,))

    def __dlpack__(self, **_options: Any) -> Any:
        raise BufferError(NO_LISTS_TENSOR)

    def to_padded(self, value: Any = 0, length: Length | None = None) -> np.ndarray:
        """A dense array of shape [rows, length], filled with value; longer rows are cut.

        Without length it is as long as the longest row.
        Lists of lists become dense at each level, [rows, length, length]; length is a number for
        all levels, or one for each.

        The engine does this faster: see the arguments ``pad`` and ``max_length``.
        """
        own, within = padded_lengths(length)
        values = self.values.to_padded(value, within) if isinstance(self.values, Ragged) else self.values
        if not isinstance(values, np.ndarray):
            raise TypeError(f"only lists of numbers can be padded, got lists of {type(values).__name__}")
        lengths = self.lengths
        width = int(lengths.max(initial=0)) if own is None else own
        out = np.full((len(self), width, *values.shape[1:]), value, values.dtype)
        inside = np.arange(width) < lengths[:, None]
        places = self.offsets[:-1, None] + np.arange(width, dtype=self.offsets.dtype)
        out[inside] = values[places[inside]]
        return out

    def copy(self) -> Ragged:
        """A copy of these rows."""
        offsets, lo, hi = _rebased(self.offsets)
        return Ragged(copy_column(slice_column(self.values, lo, hi)), offsets)

    def __reduce__(self) -> tuple[Any, ...]:
        own = self.copy()
        return Ragged, (own.values, own.offsets)

    def __repr__(self) -> str:
        return f"Ragged({len(self)} lists, {int(self.offsets[-1] - self.offsets[0])} items)"


def padded_lengths(length: Length | None) -> tuple[int | None, Length | None]:
    """Returns the length of the outer lists, and the length of the lists within."""
    if length is None or isinstance(length, int):
        return length, length
    return (length[0], length[1:]) if length else (None, None)


NO_BYTES_TENSOR = "values of different lengths are no single tensor: take .values and .offsets, which are"
NO_LISTS_TENSOR = "lists of different lengths are no single tensor: take .values and .offsets, or to_padded()"
NO_LIST_EQUALITY = "lists of different lengths have no elementwise ==: compare .values and .offsets, or tolist()"


def comparable(column: Any, other: object) -> Sequence[Any]:
    """Returns the values to compare a Bytes with, one for each row, or raises."""
    kind = "str" if column.text else "bytes"
    values = other.tolist() if hasattr(other, "tolist") else other
    if not isinstance(values, (list, tuple)) or not all(v is None or isinstance(v, str if column.text else bytes) for v in values):
        shown = repr(other) if isinstance(other, (bytes, str, int, float, type(None))) else f"a {type(other).__name__}"
        raise TypeError(f"a column of {kind} is compared with a {kind}, or with one for each row, got {shown}")
    if len(values) != len(column):
        raise ValueError(f"cannot compare a column of {len(column)} rows with {len(values)} values")
    return values


def _rebased(offsets: np.ndarray) -> tuple[np.ndarray, int, int]:
    return offsets - offsets[0], int(offsets[0]), int(offsets[-1])


def slice_column(column: Column, lo: int, hi: int) -> Column:
    """Rows lo to hi of a column, without a copy."""
    if isinstance(column, dict):
        return {name: slice_column(member, lo, hi) for name, member in column.items()}
    return column[lo:hi]


def take_column(column: Column, rows: np.ndarray) -> Column:
    """These rows of a column, copied."""
    if isinstance(column, dict):
        return {name: take_column(member, rows) for name, member in column.items()}
    return column[rows]


def copy_column(column: Column) -> Column:
    """A copy of a column."""
    if isinstance(column, dict):
        return {name: copy_column(member) for name, member in column.items()}
    return column.copy()


def column_to_list(column: Column) -> list[Any]:
    """A column as Python values; a struct is a dict in each row."""
    if isinstance(column, dict):
        return [dict(zip(column, row)) for row in zip(*map(column_to_list, column.values()))]
    return column.tolist()


def iter_column(column: Column) -> Iterator[Any]:
    """Yields the rows of a column: numpy scalars and arrays, str or bytes, dicts for structs."""
    if isinstance(column, dict):
        return (dict(zip(column, row)) for row in zip(*map(iter_column, column.values())))
    return iter(column)
