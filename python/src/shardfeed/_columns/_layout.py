"""The layout of a batch's columns in a slot: computed once for a schema, used for each batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ._columns import Bytes, Column, Ragged
from ._field import DATA, DATA_BYTES, LENGTH, LIST_SIZE, NODE_FIELDS, OFFSETS, VALIDITY, Field, members, part, placed, unique_names
from ._names import no_column
from ._nulls import NullWatch
from ._schema import Schema

_OFFSET = np.dtype("<i4")
_BYTE = np.dtype("u1")

# A Maker makes a column from a slot's bytes and the batch's descriptors.
Maker = Callable[[np.ndarray, Sequence[int]], Column]


class Layout:
    """The makers of a schema's columns.

    Plain columns have only the dtypes that every tensor library has.

    ``field`` is the schema entry of each column, ``at`` the index of its first descriptor in the
    batch's numbers.
    """

    def __init__(self, schema: Schema, *, plain: bool = False) -> None:
        self.schema = schema
        self.plain = plain
        self.at: dict[str, int] = {}
        self.makers: dict[str, Maker] = {}
        self.row_valid = False  # batches in Arrow's format have the mask of their rows
        self.watch: NullWatch | None = None  # of batches that come from the engine
        for name, field, at in placed(schema):
            self.at[name] = at
            self.makers[name] = self._maker(field, at)

    def _maker(self, field: Field, at: int) -> Maker:
        if field.joined:
            return _number(at, _fixed(field, at, self.plain)) if field.kind == "fixed" else self._maker(field.children[0], at + NODE_FIELDS)
        if field.is_dense:
            return _dense(field, at, self.plain) if field.kind == "list" else _fixed(field, at, self.plain)
        if field.kind == "binary":
            return _binary(field, at)
        if field.kind == "struct":
            return _struct([m.name for m in field.children], self._members(field, at))
        if field.kind == "map":
            entries = field.children[0]
            return _ragged(at, _struct(["key", "value"], self._members(entries, at + NODE_FIELDS)))
        if field.kind == "list":
            items = self._maker(field.children[0], at + NODE_FIELDS)
            return _sized(at, items) if field.list_size else _ragged(at, items)
        return _nothing(at)

    def _members(self, field: Field, at: int) -> list[Maker]:
        return [self._maker(member, place) for member, place in members(field, at)]

    def find(self, path: str) -> tuple[Field, int]:
        """Returns the node at a name or dotted path, and the index of its descriptor.

        An exact name has precedence.
        """
        for cut in _cuts(path) if isinstance(path, str) else ():
            if (field := self.schema.get(path[:cut])) is not None:
                found = _descend(field, self.at[path[:cut]], path[cut + 1 :])
                if found is not None:
                    return found
        raise no_column(path, self.schema, self.schema)

    def column(self, path: str) -> str:
        """Returns the column that a path starts with, or the path itself without one."""
        return next((path[:cut] for cut in _cuts(path) if path[:cut] in self.schema), path)


def _cuts(path: str) -> list[int]:
    """Where a column's name can end in a path, the longest first."""
    return [len(path), *(i for i in range(len(path) - 1, 0, -1) if path[i] == ".")]


def _descend(field: Field, at: int, path: str) -> tuple[Field, int] | None:
    if not path:
        return field, at
    for member, place in members(field, at):
        if path == member.name:
            return member, place
        if path.startswith(member.name + ".") and (found := _descend(member, place, path[len(member.name) + 1 :])):
            return found
    return None


def _fixed(field: Field, at: int, plain: bool) -> Maker:
    dtype, shape, _, convert = field.storage(plain=plain)
    length, data = at + LENGTH, at + DATA
    ndarray = np.ndarray
    if convert is not None:
        return lambda slot, nodes: convert(ndarray((nodes[length],), dtype, slot, nodes[data]))
    if shape:
        return lambda slot, nodes: ndarray((nodes[length], *shape), dtype, slot, nodes[data])
    return lambda slot, nodes: ndarray(nodes[length], dtype, slot, nodes[data])


def _number(at: int, values: Maker) -> Maker:
    """The number that all rows have."""
    length = at + LENGTH
    return lambda slot, nodes: int(values(slot, nodes)[0]) if nodes[length] else 0  # type: ignore[arg-type,index,return-value]


def _dense(field: Field, at: int, plain: bool) -> Maker:
    """Lists of one size: one array with a dimension for each list around the values."""
    length, sizes = at + LENGTH, []
    while field.kind == "list":
        sizes.append(at + LIST_SIZE)
        field, at = field.children[0], at + NODE_FIELDS
    dtype, shape, _, convert = field.storage(plain=plain)
    data = at + DATA

    def make(slot: np.ndarray, nodes: Sequence[int]) -> np.ndarray:
        array: np.ndarray = np.ndarray((nodes[length], *[nodes[s] for s in sizes], *shape), dtype, slot, nodes[data])
        return array if convert is None else convert(array)

    return make


def offsets(slot: np.ndarray, nodes: Sequence[int], at: int) -> np.ndarray:
    """Returns the start of each value of a node, and the end of the last one."""
    if not nodes[at + OFFSETS]:
        return np.zeros(nodes[at + LENGTH] + 1, _OFFSET)
    return np.ndarray(nodes[at + LENGTH] + 1, _OFFSET, slot, nodes[at + OFFSETS])


def _binary(field: Field, at: int) -> Maker:
    data, size, text = at + DATA, at + DATA_BYTES, field.is_text
    return lambda slot, nodes: Bytes(np.ndarray(nodes[size], _BYTE, slot, nodes[data]), offsets(slot, nodes, at), text)


def _ragged(at: int, items: Maker) -> Maker:
    return lambda slot, nodes: Ragged(items(slot, nodes), offsets(slot, nodes, at))


def _sized(at: int, items: Maker) -> Maker:
    """Lists of one size of values that are not fixed.

    They have no offsets, so these are computed.
    """

    def make(slot: np.ndarray, nodes: Sequence[int]) -> Ragged:
        size = nodes[at + LIST_SIZE]
        return Ragged(items(slot, nodes), np.arange(0, (nodes[at + LENGTH] + 1) * size, size, dtype=_OFFSET))

    return make


def _struct(names: list[str], makers: list[Maker]) -> Maker:
    pairs = list(zip(unique_names(names), makers))
    return lambda slot, nodes: {name: make(slot, nodes) for name, make in pairs}


def _nothing(at: int) -> Maker:
    return lambda slot, nodes: np.full(nodes[at + LENGTH], np.nan)


def validity(slot: np.ndarray, nodes: Sequence[int], at: int) -> np.ndarray:
    """A bool for each value of a node: False for nulls."""
    length, bits = nodes[at + LENGTH], nodes[at + VALIDITY]
    if not bits:
        return np.ones(length, np.bool_)
    packed = part(slot, bits, (length + 7) // 8)
    return np.unpackbits(packed, count=length, bitorder="little").view(np.bool_)
