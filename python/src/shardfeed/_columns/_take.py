"""What an index of a column means: one row, a run of rows, or rows one by one, as in a numpy array
of one dimension.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

_LARGEST_OFFSET = 2**31 - 1

Index = int | slice | np.ndarray


def resolve(index: Any, n: int, what: str = "column") -> Index:
    """Returns the row, the slice with step 1, or the int64 array of rows that an index selects out
    of n rows. what has the rows, for messages.
    """
    if isinstance(index, slice):
        return _slice(index, n)
    if index is Ellipsis:
        return slice(0, n)
    if isinstance(index, list) or getattr(index, "ndim", 0) > 0:
        return _array(np.asarray(index), n, what)
    if isinstance(index, (bool, np.bool_, tuple, str, bytes)) or index is None:
        raise IndexError(_TEXT.format(_shown(index)))
    try:
        row = operator.index(index)
    except TypeError:
        raise IndexError(_TEXT.format(_shown(index))) from None
    return _row(row, n, what)


_TEXT = "rows are selected by a number, a slice, a boolean mask or an array of integers, got {}"


def _row(row: int, n: int, what: str) -> int:
    if not -n <= row < n:
        raise IndexError(f"row {row} is out of range for a {what} of {n} rows")
    return row + n if row < 0 else row


def _slice(index: slice, n: int) -> Index:
    start, stop, step = index.indices(n)
    return slice(start, max(start, stop)) if step == 1 else np.arange(start, stop, step)


def _array(index: np.ndarray, n: int, what: str) -> np.ndarray:
    if index.ndim != 1:
        raise IndexError(f"a {what} has one dimension: an index array must have one too, got shape {index.shape}")
    if index.dtype == np.bool_:
        if len(index) != n:
            raise IndexError(f"the boolean mask has {len(index)} values, and the {what} has {n} rows")
        return np.flatnonzero(index)
    if not len(index):
        return np.zeros(0, np.int64)
    if index.dtype.kind not in "iu":
        raise IndexError(_TEXT.format(f"an array of {index.dtype}"))
    _row(int(index.min()), n, what)
    _row(int(index.max()), n, what)
    rows = index.astype(np.int64)
    return np.where(rows < 0, rows + n, rows)


def _shown(index: Any) -> str:
    text = repr(index)
    return text if len(text) <= 60 else f"a {type(index).__name__}"


def gathered(offsets: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the places of these rows' values, and the offsets of a column of only these rows."""
    starts = offsets[:-1][rows].astype(np.int64)
    lengths = offsets[1:][rows] - starts
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    check_total(total)
    own = np.zeros(len(rows) + 1, np.int32)
    own[1:] = ends
    return np.repeat(starts - own[:-1], lengths) + np.arange(total), own


def check_total(total: int) -> None:
    """Refuses rows that offsets of 32 bits cannot describe."""
    if total > _LARGEST_OFFSET:
        raise ValueError(f"the selected rows hold {total} values, and a column holds at most {_LARGEST_OFFSET}: select fewer rows")
