"""Writes batches of pyarrow's arrays in the engine's format, to test the readers."""

from __future__ import annotations

import dataclasses
import decimal

import numpy as np
import pyarrow as pa

from shardfeed._columns._field import Field
from shardfeed._columns._schema import Schema

EXACT = decimal.Context(prec=100)

NAMES = {"float": "float", "double": "double", "halffloat": "float16", "date32[day]": "date"}


@dataclasses.dataclass
class Raw:
    """Stands for a slot of the ring."""

    bytes: np.ndarray
    nodes: tuple[int, ...]
    rows: int
    valid: int
    epoch: int = 0
    step: int = 0
    position: int = 0
    next_epoch: int = 0
    next_position: int = 0
    released: bool = False

    @property
    def after(self) -> tuple[int, int]:
        return self.next_epoch, self.next_position

    def release(self) -> None:
        self.released = True


def field_of(field: pa.Field) -> Field:
    """The node of the engine's schema for a column that pyarrow wrote."""
    kind, name, null = field.type, field.name, field.nullable
    t = pa.types
    if t.is_null(kind):
        return Field(name, "null", "null", nullable=True)
    if t.is_boolean(kind):
        return Field(name, "fixed", "bool", 1, null)
    if t.is_string(kind):
        return Field(name, "binary", "string", nullable=null)
    if t.is_binary(kind):
        return Field(name, "binary", "binary", nullable=null)
    if t.is_fixed_size_binary(kind):
        return Field(name, "fixed", "fixed binary", kind.byte_width, null)
    if t.is_decimal(kind):
        width = 8 if kind.precision <= 18 else 16 if kind.precision <= 38 else 32
        return Field(name, "fixed", "decimal", width, null, precision=kind.precision, scale=kind.scale)
    if t.is_timestamp(kind):
        return Field(name, "fixed", "timestamp", 8, null, unit=kind.unit, utc=kind.tz is not None)
    if t.is_time(kind):
        return Field(name, "fixed", "time", 8, null, unit=kind.unit)
    if t.is_struct(kind):
        return Field(name, "struct", nullable=null, children=tuple(field_of(f) for f in kind))
    if t.is_map(kind):
        entries = Field("key_value", "struct", children=(field_of(kind.key_field), field_of(kind.item_field)))
        return Field(name, "map", nullable=null, children=(entries,))
    if t.is_fixed_size_list(kind):
        return Field(name, "list", nullable=null, list_size=kind.list_size, children=(field_of(kind.value_field),))
    if t.is_list(kind):
        return Field(name, "list", nullable=null, children=(field_of(kind.value_field),))
    return Field(name, "fixed", NAMES.get(str(kind), str(kind)), kind.bit_width // 8, null)


class Writer:
    """Lays out the columns of one batch."""

    def __init__(self) -> None:
        self.memory = bytearray(256)  # so that no buffer is at 0
        self.nodes: list[int] = []

    def put(self, data: bytes) -> int:
        at = len(self.memory)
        self.memory += data + bytes(-len(data) % 256)
        return at if data else 0

    def write(self, array: pa.Array) -> None:
        """Adds a column, or a part of one, and what is within."""
        at = len(self.nodes)
        self.nodes += [len(array), array.null_count, 0, 0, 0, 0, 0, 0]
        if array.null_count and not pa.types.is_null(array.type):
            present = np.array([v.is_valid for v in array], bool)
            self.nodes[at + 2] = self.put(np.packbits(present, bitorder="little").tobytes())
        if not self._nested(array, at):
            data = self._flat(array, at)
            self.nodes[at + 4 : at + 6] = self.put(data), len(data)

    def _nested(self, array: pa.Array, at: int) -> bool:
        t = pa.types
        if t.is_struct(array.type):
            for member in array.flatten():
                self.write(member)
        elif t.is_map(array.type):
            self._offsets(at, [0 if v is None else len(v) for v in array.to_pylist()])
            pairs = pa.StructArray.from_arrays(
                [array.keys.slice(0), array.items.slice(0)], fields=[array.type.key_field, array.type.item_field]
            )
            self.write(pairs)
        elif t.is_fixed_size_list(array.type):
            self.nodes[at + 6] = array.type.list_size
            self.write(array.values.slice(array.offset * array.type.list_size, len(array) * array.type.list_size))
        elif t.is_list(array.type):
            self._offsets(at, [0 if v is None else len(v) for v in array.to_pylist()])
            self.write(array.flatten())
        else:
            return t.is_null(array.type)
        return True

    def _offsets(self, at: int, lengths: list[int]) -> None:
        self.nodes[at + 3] = self.put(np.cumsum([0, *lengths], dtype=np.int32).tobytes())

    def _flat(self, array: pa.Array, at: int) -> bytes:
        t, kind = pa.types, array.type
        if t.is_string(kind) or t.is_binary(kind):
            values = [b"" if v is None else v for v in array.cast(pa.binary()).to_pylist()]
            self._offsets(at, [len(v) for v in values])
            return b"".join(values)
        if t.is_decimal(kind):
            width = field_of(pa.field("", kind)).width
            unscaled = [0 if v is None else int(v.scaleb(kind.scale, EXACT)) for v in array.to_pylist()]
            return b"".join(v.to_bytes(width, "little", signed=True) for v in unscaled)
        if t.is_fixed_size_binary(kind):
            return b"".join(bytes(kind.byte_width) if v is None else v for v in array.to_pylist())
        if t.is_time(kind) and kind.unit == "ms":
            array = array.cast(pa.int32()).cast(pa.int64())
        elif t.is_temporal(kind):
            array = array.cast(pa.int32() if t.is_date32(kind) else pa.int64())
        if t.is_boolean(kind):
            return bytes(bool(v) for v in array.to_pylist())
        floating = t.is_floating(kind)
        values = [(np.nan if floating else 0) if v is None else v for v in array.to_pylist()]
        return np.array(values, array.type.to_pandas_dtype()).tobytes()


def write(table: pa.Table | pa.RecordBatch, valid: int | None = None, **header: int) -> tuple[Raw, Schema]:
    """Lays out a table as one batch, and says what its schema is."""
    writer = Writer()
    for column in table.columns:
        writer.write(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
    memory = np.frombuffer(bytes(writer.memory), np.uint8).copy()
    raw = Raw(memory, tuple(writer.nodes), table.num_rows, table.num_rows if valid is None else valid, **header)
    return raw, Schema(field_of(f) for f in table.schema)
