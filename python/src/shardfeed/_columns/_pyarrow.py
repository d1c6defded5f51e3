"""Batches as pyarrow.RecordBatch."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from ._arrow_c import export_schema
from ._node import Node

if TYPE_CHECKING:
    import pyarrow as pa
else:
    pa: Any = None  # imported when it is first needed


def need(module: str, method: str) -> Any:
    """Imports a module that a method needs; the error shows how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise ImportError(f"Batch.{method}() needs {module}, which is not installed here: pip install {module}", name=module) from e


def record_batch(node: Node) -> pa.RecordBatch:
    """Makes a record batch of a batch's buffers."""
    _import()
    kind = _field(node).type
    fields = [kind.field(i) for i in range(kind.num_fields)]
    if not fields:
        return pa.RecordBatch.from_pydict({})
    return pa.RecordBatch.from_arrays([_array(f.type, c) for f, c in zip(fields, node.children)], schema=pa.schema(fields))


def array(node: Node) -> pa.Array:
    """Makes an array of a column's buffers."""
    _import()
    return _array(_field(node).type, node)


def _import() -> None:
    if "pyarrow" not in sys.modules or pa is None:
        globals()["pa"] = need("pyarrow", "to_arrow")


def _field(node: Node) -> pa.Field:
    return pa.Field._import_from_c(export_schema(node).address)


def _array(kind: pa.DataType, node: Node) -> pa.Array:
    if isinstance(kind, pa.BaseExtensionType):
        return kind.wrap_array(_array(kind.storage_type, node))
    if pa.types.is_null(kind):
        return pa.nulls(node.length)
    children = [_array(t, child) for t, child in zip(_parts(kind), node.children)]
    buffers = [None if b is None else pa.py_buffer(b) for b in node.buffers]
    return pa.Array.from_buffers(kind, node.length, buffers, node.nulls, children=children or None)


def _parts(kind: pa.DataType) -> list[pa.DataType]:
    """The types of a type's children."""
    if pa.types.is_map(kind):
        return [pa.struct([kind.key_field, kind.item_field])]
    if pa.types.is_struct(kind):
        return [kind.field(i).type for i in range(kind.num_fields)]
    return [kind.value_type] if pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) else []
