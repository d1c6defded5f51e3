"""Columns as JAX takes them: arrays of dtypes that it keeps as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import jax
import numpy as np

from .._columns._columns import Bytes, Ragged
from .._columns._field import Field
from .._columns._schema import Schema
from ..errors import DataError, OptionError

_OF_ROWS = ("_row", "_seed")  # columns of row_ids and seeds
_NARROWED = {"i": np.dtype("<i4"), "u": np.dtype("<u4"), "f": np.dtype("<f4")}

_PAD = "lists of different lengths do not make an array: give pad={{{0!r}: 0}}, with max_length and to_max for one shape"
_TEXT = "JAX has no strings: give vocabulary={{{0!r}: words}} or hash={{{0!r}: buckets}}"
_BYTES = "JAX has no binary values: give images={{{0!r}: Image(...)}} for pictures, hash={{{0!r}: buckets}}, or leave it out of columns"
_OUT = "JAX has no such type: leave it out of columns"
_LONGEST = "each process would pad to its own longest list, and all need one shape: give max_length and to_max=True in pad"
_DECIMAL = "it has more digits than any number of JAX: give cast={{{0!r}: 'float32'}}"
_OF_THE_BATCH = "it belongs to the batch and has no rows: leave it out of pack"


def problems_of(schema: Schema, wide: bool, apart: bool) -> list[str]:
    """Names the columns that JAX cannot take, and what to do about each.

    wide: 64 bits are kept or may be narrowed. apart: several processes make parts of one batch.
    """
    found: list[str] = []
    too_wide: dict[str, Field] = {}
    for name, field in schema.items():
        for path, leaf in _leaves(name, field):
            if why := _refusal(leaf, apart):
                found.append(f"column {path!r} is {leaf}: {why.format(path)}")
            elif not wide and _stored(leaf.dtype) in _WIDE:
                too_wide[path] = leaf
    if too_wide:
        found.append(_wide({path: _stored(leaf.dtype).name for path, leaf in too_wide.items()}, _casts(too_wide)))
    return found


def _leaves(path: str, field: Field) -> Iterable[tuple[str, Field]]:
    """The columns of a column: the members of structs."""
    if field.kind != "struct":
        yield path, field
        return
    for child in field.children:
        yield from _leaves(f"{path}.{child.name}", child)


def _refusal(field: Field, apart: bool) -> str:
    """Why a column cannot be a global array; empty when it can."""
    if field.joined:
        return _OF_THE_BATCH
    if field.kind == "binary":
        return _TEXT if field.is_text else _BYTES
    if not field.is_dense:
        return _PAD if field.kind == "list" and field.leaf.kind == "fixed" else _OUT
    if field.leaf.type == "decimal" and field.leaf.storage().shape:
        return _DECIMAL
    if field.dtype.kind == "V" and field.dtype.name != "bfloat16":
        return _OUT
    return _LONGEST if apart and -1 in field.shape else ""


def _stored(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that JAX gets: dates are days, times and timestamps are the file's integers."""
    if dtype.kind not in "mM":
        return dtype
    return np.dtype("<i4" if dtype == np.dtype("<M8[D]") else "<i8")


_WIDE = frozenset(np.dtype(name) for name in ("<i8", "<u8", "<f8"))


def _wide(columns: Mapping[str, str], casts: Mapping[str, str]) -> str:
    named = ", ".join(f"{name!r} ({dtype})" for name, dtype in columns.items())
    cast = f"cast={{{', '.join(f'{name!r}: {dtype!r}' for name, dtype in casts.items())}}}, or "
    return (
        f"column{'s' * (len(columns) > 1)} {named}: JAX would silently make 32-bit values of 64-bit ones, and cut integers: "
        f"give {cast * bool(casts)}narrow=True, which refuses integers that do not fit, or set jax_enable_x64"
    )


def _casts(fields: Mapping[str, Field]) -> dict[str, str]:
    """The casts to 32 bits that a data set takes; not of times and members of structs."""
    found = {}
    for path, field in fields.items():
        if "." in path or path in _OF_ROWS:
            continue
        if field.leaf.type == "decimal":
            found[path] = "float32"
        elif field.dtype.kind in _NARROWED:
            found[path] = _NARROWED[field.dtype.kind].name
    return found


class Columns:
    """Makes plain arrays of columns, by the jax_enable_x64 at the time when it is made."""

    def __init__(self, narrow: bool) -> None:
        self._x64 = bool(jax.config.jax_enable_x64)
        self._narrow = narrow

    @property
    def wide(self) -> bool:
        """Whether columns of 64 bits are taken."""
        return self._x64 or self._narrow

    def plain(self, name: str, column: Any) -> np.ndarray:
        """The values of a column as JAX keeps them."""
        if isinstance(column, (Bytes, Ragged)):
            how = _PAD if isinstance(column, Ragged) else _TEXT if column.text else _BYTES
            raise OptionError(f"column {name!r}: {how.format(name)}")
        values = np.asarray(column)
        if values.dtype.kind in "OUSV" and values.dtype.name != "bfloat16":
            raise OptionError(f"column {name!r} is {values.dtype}: {_OUT}")
        stored = _stored(values.dtype)
        if values.dtype.kind in "mM":
            values = values.astype(stored) if stored.itemsize == 4 else values.view(stored)
        if self._x64 or stored not in _WIDE:
            return values
        if not self._narrow:
            raise OptionError(_wide({name: stored.name}, {}))
        return _narrowed(name, values)


def _narrowed(name: str, values: np.ndarray) -> np.ndarray:
    """Values of 64 bits in 32. Floats are rounded; a value out of range raises."""
    to = _NARROWED[values.dtype.kind]
    with np.errstate(over="ignore"):
        narrow = values.astype(to)
    lost = np.isinf(narrow) & np.isfinite(values) if values.dtype.kind == "f" else narrow != values
    if lost.any():
        first = values[lost].flat[0]
        error = DataError(
            f"column {name!r} has the value {first}, which does not fit {to}: set jax_enable_x64, give hash or scale for the column, or "
            "leave it out"
        )
        error.column = name
        raise error
    return narrow
