"""Batches and columns in Arrow's types and buffers, without pyarrow.

They share memory where the layouts agree: all but bool, decimals of 64 bits and times in
milliseconds.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._field import DATA, DATA_BYTES, LENGTH, LIST_SIZE, NODE_FIELDS, NULLS, OFFSETS, VALIDITY, Field, members, part, placed
from ._node import Node, struct_node

UUID = "arrow.uuid"
TENSOR = "arrow.fixed_shape_tensor"


def batch_node(
    fields: Mapping[str, Field],
    slot: np.ndarray,
    nodes: Sequence[int],
    rows: int,
    row_valid: np.ndarray | None = None,
    *,
    tensors: bool = True,
) -> Node:
    """Describes a batch: a struct of its columns, and of the mask of its rows if there is one.

    Without tensors, columns of that extension type are lists of lists.
    """
    reader = _Reader(slot, nodes, tensors)
    columns = [reader.node(field, at)._replace(name=name) for name, field, at in placed(fields)]
    if row_valid is not None:
        columns.append(Node("_row_valid", "b", False, rows, 0, (None, np.packbits(row_valid, bitorder="little"))))
    return struct_node("", columns, rows)


def schema_node(fields: Mapping[str, Field]) -> Node:
    """Describes the batches of a schema, which must not depend on the batch."""
    for name, field in fields.items():
        if _is_padded(field):
            raise ValueError(
                f"column {name!r} is padded to the longest list of each batch, so its Arrow type differs by batch: "
                "set max_length, or use batch.to_arrow().schema"
            )
    return batch_node(fields, np.zeros(0, np.uint8), [0] * NODE_FIELDS * sum(field.nodes for field in fields.values()), 0)


def _is_padded(field: Field) -> bool:
    return field.list_size < 0 or any(map(_is_padded, field.children))


def pyarrow_is_loaded() -> bool:
    """Whether pyarrow exports, which gives memory back without calling Python; see _arrow_c."""
    return sys.modules.get("pyarrow") is not None


def array_capsules(node: Node, requested_schema: Any) -> tuple[Any, Any]:
    """Exports an array as capsules of an ArrowSchema and an ArrowArray."""
    if pyarrow_is_loaded():
        from ._pyarrow import array, record_batch

        made = record_batch(node) if node.format == "+s" else array(node)
        return made.__arrow_c_array__(requested_schema)
    from ._arrow_c import array_capsules

    return array_capsules(node, requested_schema)


def stream_capsule(node: Node, requested_schema: Any) -> Any:
    """Exports a batch as a stream of one batch."""
    if pyarrow_is_loaded():
        from ._pyarrow import record_batch

        return record_batch(node).__arrow_c_stream__(requested_schema)
    from ._arrow_c import stream_capsule

    return stream_capsule(node, requested_schema)


class _Reader:
    """Describes the columns of one batch.

    Types follow only from the schema, so that batches can be joined to a table. Only the length of
    lists that are padded by batch differs.
    """

    def __init__(self, slot: np.ndarray, nodes: Sequence[int], tensors: bool) -> None:
        self._slot = slot
        self._nodes = nodes
        self._tensors = tensors

    def node(self, field: Field, at: int) -> Node:
        return getattr(self, "_" + field.kind)(field, at)

    def _make(
        self, field: Field, at: int, kind: str, buffers: Sequence[np.ndarray], children: Sequence[Node] = (), extension: str = ""
    ) -> Node:
        """Ignores the nulls of a part that is not nullable: the part around it has the same ones."""
        length, start = self._nodes[at + LENGTH], self._nodes[at + VALIDITY]
        nulls = self._nodes[at + NULLS] if field.nullable else 0
        bits = part(self._slot, start, (length + 7) // 8) if nulls and start else None
        return Node(field.name, kind, field.nullable, length, nulls, (bits, *buffers), tuple(children), extension)

    def _offsets(self, at: int) -> np.ndarray:
        start, size = self._nodes[at + OFFSETS], 4 * (self._nodes[at + LENGTH] + 1)
        return part(self._slot, start, size) if start else np.zeros(size, np.uint8)

    def _data(self, at: int) -> np.ndarray:
        return part(self._slot, self._nodes[at + DATA], self._nodes[at + DATA_BYTES])

    def _null(self, field: Field, at: int) -> Node:
        length = self._nodes[at + LENGTH]
        return Node(field.name, "n", True, length, length, ())

    def _binary(self, field: Field, at: int) -> Node:
        return self._make(field, at, "u" if field.is_text else "z", [self._offsets(at), self._data(at)])

    def _struct(self, field: Field, at: int) -> Node:
        return self._make(field, at, "+s", [], [self.node(member, place) for member, place in members(field, at)])

    def _map(self, field: Field, at: int) -> Node:
        entries = self.node(field.children[0], at + NODE_FIELDS)
        if len(entries.children) != 2:  # keys without values, which Arrow's maps must have
            return self._make(field, at, "+l", [self._offsets(at)], [entries])
        key, value = entries.children
        entries = entries._replace(
            name="entries", nullable=False, children=(key._replace(name="key", nullable=False), value._replace(name="value"))
        )
        return self._make(field, at, "+m", [self._offsets(at)], [entries])

    def _list(self, field: Field, at: int) -> Node:
        if field.extension == TENSOR and self._tensors:
            return self._tensor(field, at)
        items = self.node(field.children[0], at + NODE_FIELDS)
        if not field.list_size:
            return self._make(field, at, "+l", [self._offsets(at)], [items])
        size = field.list_size if field.list_size > 0 else self._nodes[at + LIST_SIZE]
        return self._make(field, at, f"+w:{size}", [], [items])

    def _tensor(self, field: Field, at: int) -> Node:
        """Lists of all items, in the same layout as lists of lists."""
        items, place, shape = field, at, []
        while items.kind == "list":
            shape.append(items.list_size)
            items, place = items.children[0], place + NODE_FIELDS
        made = self._make(field, at, f"+w:{math.prod(shape)}", [], [self.node(items, place)], extension=TENSOR)
        return made._replace(metadata=json.dumps({"shape": shape}))

    def _fixed(self, field: Field, at: int) -> Node:
        extension = UUID if field.type == "uuid" else ""
        convert = _conversion(field)
        data = self._data(at) if convert is None else convert(self._stored(field, at))
        return self._make(field, at, _format(field), [data], extension=extension)

    def _stored(self, field: Field, at: int) -> np.ndarray:
        storage = field.storage()
        return np.ndarray((self._nodes[at + LENGTH], *storage.shape), storage.dtype, self._slot, self._nodes[at + DATA])


def _conversion(field: Field) -> Any:
    """Returns a function from stored values to Arrow's, or None if they are the same."""
    if field.type == "bool":
        return pack_bits
    if field.type == "decimal" and field.width <= 8:
        return _wide
    if field.type == "time" and field.unit == "ms":
        return _milliseconds
    return None


def pack_bits(stored: np.ndarray) -> np.ndarray:
    return np.packbits(stored, bitorder="little")


def _wide(unscaled: np.ndarray) -> np.ndarray:
    """Integers as 128 bits in two's complement."""
    own = unscaled.astype(np.int64)
    return np.stack([own, own >> 63], axis=1)


def _milliseconds(stored: np.ndarray) -> np.ndarray:
    return stored.view(np.int64).astype(np.int32)


_FORMATS = {
    "bool": "b",
    "int8": "c",
    "uint8": "C",
    "int16": "s",
    "uint16": "S",
    "int32": "i",
    "uint32": "I",
    "int64": "l",
    "uint64": "L",
    "float16": "e",
    "bfloat16": "S",  # its bits: Arrow has no bfloat16
    "float": "f",
    "float32": "f",
    "double": "g",
    "float64": "g",
    "date": "tdD",
}
_UNITS = {"ms": "m", "us": "u", "ns": "n"}


def _format(field: Field) -> str:
    if field.type == "decimal":
        wide = ",256" if field.width > 16 else ""
        return f"d:{field.precision},{field.scale}{wide}"
    if field.type == "timestamp":
        return f"ts{_UNITS[field.unit]}:{'UTC' if field.utc else ''}"
    if field.type == "time":
        return f"tt{_UNITS[field.unit]}"
    return _FORMATS.get(field.type) or f"w:{field.width}"  # the rest is only bytes
