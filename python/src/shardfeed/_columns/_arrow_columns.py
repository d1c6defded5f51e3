"""Columns of numpy arrays as Arrow's arrays, without a schema: single columns, and tensors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._arrow import array_capsules, pack_bits
from ._node import Node, struct_node

_NUMBERS = {
    "i1": "c",
    "u1": "C",
    "i2": "s",
    "u2": "S",
    "i4": "i",
    "u4": "I",
    "i8": "l",
    "u8": "L",
    "f2": "e",
    "f4": "f",
    "f8": "g",
    "M8[s]": "tss:",
    "M8[ms]": "tsm:",
    "M8[us]": "tsu:",
    "M8[ns]": "tsn:",
    "m8[s]": "tDs",
    "m8[ms]": "tDm",
    "m8[us]": "tDu",
    "m8[ns]": "tDn",
}


def column_capsules(column: Any, requested_schema: Any) -> tuple[Any, Any]:
    """Exports a column as capsules of an ArrowSchema and an ArrowArray."""
    return array_capsules(column_node("", column), requested_schema)


def column_node(name: str, column: Any) -> Node:
    """Describes a column. It has no nulls: they are shown as values in it."""
    if isinstance(column, np.ndarray):
        return _array(name, column)
    if isinstance(column, Mapping):
        return columns_node(name, column)
    if hasattr(column, "_arrow_node"):
        return column._arrow_node(name)
    raise TypeError(f"column {name!r} is a {type(column).__name__}, which has no Arrow type: make it an array, or leave it out")


def columns_node(name: str, columns: Mapping[str, Any]) -> Node:
    """Describes a batch or a struct: columns of as many rows each."""
    nodes = [column_node(member, column) for member, column in columns.items()]
    rows = nodes[0].length if nodes else 0
    for node in nodes:
        if node.length != rows:
            raise ValueError(
                f"column {node.name!r} has {node.length} rows, column {nodes[0].name!r} has {rows}: Arrow needs as many in all"
            )
    return struct_node(name, nodes, rows)


def _array(name: str, array: np.ndarray) -> Node:
    """Describes an array. Each dimension after the first is a list of one size."""
    if array.ndim == 0:
        raise TypeError(f"column {name!r} is a single number, not one for each row: leave it out")
    if array.ndim > 1:
        length, size = array.shape[:2]
        items = _array("item", array.reshape(length * size, *array.shape[2:]))
        return Node(name, f"+w:{size}", False, length, 0, (None,), (items,))
    kind, values = _values(name, array)
    return Node(name, kind, False, len(array), 0, (None, values))


def _values(name: str, array: np.ndarray) -> tuple[str, np.ndarray]:
    """The format and the buffer of an array of one dimension."""
    own = np.ascontiguousarray(array)
    if own.dtype == np.bool_:
        return "b", pack_bits(own)
    if own.dtype == np.dtype("M8[D]"):
        return "tdD", own.view(np.int64).astype(np.int32)
    if own.dtype.kind == "V":
        return f"w:{own.dtype.itemsize}", own.view(np.uint8)
    kind = _NUMBERS.get(own.dtype.str.lstrip("<|="))
    if kind is None:
        raise TypeError(f"column {name!r} has dtype {own.dtype}, which has no Arrow type: convert it, or leave it out")
    return kind, own.view(np.uint8)
