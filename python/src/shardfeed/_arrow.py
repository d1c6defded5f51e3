"""Batches as pyarrow.RecordBatch. They share buffers where the layouts agree."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._layout import DATA, DATA_BYTES, LENGTH, LIST_SIZE, NODE_FIELDS, NULLS, OFFSETS, VALIDITY, Layout, members
from ._schema import Field

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa: Any = None  # imported when it is first needed


def need(module: str, method: str) -> Any:
    """Imports a module that a method needs, or says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise ImportError(f"Batch.{method}() needs {module}, which is not installed here: pip install {module}", name=module) from e


def to_arrow(layout: Layout, slot: np.ndarray, nodes: Sequence[int]) -> pa.RecordBatch:
    """Makes a record batch, of the slot's own buffers where the layouts agree."""
    _import()
    reader = _Reader(slot, nodes)
    arrays = [reader.array(field, layout.at[name]) for name, field in layout.schema.items()]
    rows = len(arrays[0]) if arrays else 0
    fields = [pa.field(name, a.type, field.nullable) for (name, field), a in zip(layout.schema.items(), arrays)]
    if not arrays:
        return pa.RecordBatch.from_pydict({})
    assert all(len(a) == rows for a in arrays)
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _import() -> None:
    if "pyarrow" not in sys.modules or pa is None:
        globals()["pa"] = need("pyarrow", "to_arrow")


class _Reader:
    """Makes the arrays of one batch.

    Types follow the schema alone, so that batches can be joined to a table.
    """

    def __init__(self, slot: np.ndarray, nodes: Sequence[int]) -> None:
        self._slot = slot
        self._nodes = nodes

    def array(self, field: Field, at: int) -> pa.Array:
        return getattr(self, "_" + field.kind)(field, at)

    def _length(self, at: int) -> int:
        return self._nodes[at + LENGTH]

    def _buffer(self, start: int, size: int) -> pa.Buffer:
        return pa.py_buffer(self._slot[start : start + size])

    def _validity(self, at: int) -> pa.Buffer | None:
        start = self._nodes[at + VALIDITY]
        return self._buffer(start, (self._length(at) + 7) // 8) if start else None

    def _offsets(self, at: int) -> pa.Buffer:
        start, size = self._nodes[at + OFFSETS], 4 * (self._length(at) + 1)
        return self._buffer(start, size) if start else pa.py_buffer(bytes(size))

    def _data(self, at: int) -> pa.Buffer:
        return self._buffer(self._nodes[at + DATA], self._nodes[at + DATA_BYTES])

    def _build(
        self, field: Field, kind: pa.DataType, at: int, buffers: Sequence[pa.Buffer | None], children: Sequence[pa.Array] = ()
    ) -> pa.Array:
        """Ignores the nulls of a part that is not nullable: they are those of the part around it."""
        nulls = self._nodes[at + NULLS] if field.nullable else 0
        validity = self._validity(at) if nulls else None
        return pa.Array.from_buffers(kind, self._length(at), [validity, *buffers], nulls, children=list(children) or None)

    def _null(self, _field: Field, at: int) -> pa.Array:
        return pa.nulls(self._length(at))

    def _binary(self, field: Field, at: int) -> pa.Array:
        return self._build(field, pa.string() if field.is_text else pa.binary(), at, [self._offsets(at), self._data(at)])

    def _struct(self, field: Field, at: int) -> pa.Array:
        arrays = [self.array(member, place) for member, place in members(field, at)]
        fields = [pa.field(m.name, a.type, m.nullable) for m, a in zip(field.children, arrays)]
        return self._build(field, pa.struct(fields), at, [], arrays)

    def _map(self, field: Field, at: int) -> pa.Array:
        entries = self.array(field.children[0], at + NODE_FIELDS)
        key, value = entries.type
        return self._build(field, pa.map_(key.type, pa.field("value", value.type, value.nullable)), at, [self._offsets(at)], [entries])

    def _list(self, field: Field, at: int) -> pa.Array:
        item = field.children[0]
        items = self.array(item, at + NODE_FIELDS)
        child = pa.field(item.name, items.type, item.nullable)
        if field.list_size:
            return self._build(field, pa.list_(child, self._nodes[at + LIST_SIZE]), at, [], [items])
        return self._build(field, pa.list_(child), at, [self._offsets(at)], [items])

    def _fixed(self, field: Field, at: int) -> pa.Array:
        if field.type == "bool":
            return self._build(field, pa.bool_(), at, [pa.py_buffer(np.packbits(self._stored(field, at), bitorder="little"))])
        convert = _CONVERSIONS.get((field.type, field.width)) or (_milliseconds if field.type == "time" and field.unit == "ms" else None)
        data = self._data(at) if convert is None else pa.py_buffer(np.ascontiguousarray(convert(self._stored(field, at))))
        if field.type == "uuid" and hasattr(pa, "uuid"):
            return pa.uuid().wrap_array(self._build(field, pa.binary(16), at, [data]))
        return self._build(field, _arrow_type(field), at, [data])

    def _stored(self, field: Field, at: int) -> np.ndarray:
        storage = field.storage()
        return np.ndarray((self._length(at), *storage.shape), storage.dtype, self._slot, self._nodes[at + DATA])


def _wide(unscaled: np.ndarray) -> np.ndarray:
    """Integers as 128 bits in two's complement."""
    return np.stack([unscaled.astype(np.int64), unscaled.astype(np.int64) >> 63], axis=1)


def _milliseconds(stored: np.ndarray) -> np.ndarray:
    return stored.view(np.int64).astype(np.int32)


def _from_int96(stored: np.ndarray) -> np.ndarray:
    convert = Field("", "fixed", "int96", 12).storage().convert
    assert convert is not None
    return convert(stored)


_CONVERSIONS = {("decimal", 4): _wide, ("decimal", 8): _wide, ("int96", 12): _from_int96}

_RENAMED = {"float": "float32", "double": "float64", "date": "date32"}


def _arrow_type(field: Field) -> pa.DataType:
    if field.type == "decimal":
        make = pa.decimal128 if field.width <= 16 else pa.decimal256
        return make(field.precision, field.scale)
    if field.type == "timestamp":
        return pa.timestamp(field.unit, "UTC" if field.utc else None)
    if field.type == "time":
        return pa.time32("ms") if field.unit == "ms" else pa.time64(field.unit)
    if field.type == "int96":
        return pa.timestamp("ns")
    if field.type in ("fixed binary", "uuid", "interval"):
        return pa.binary(field.width)
    return getattr(pa, _RENAMED.get(field.type, field.type))()
