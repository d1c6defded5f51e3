"""How a batch becomes a dict of tensors. Computed once for a schema, used for each batch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import torch

from .._columns._field import DATA, DATA_BYTES, LENGTH, LIST_SIZE, NODE_FIELDS, OFFSETS, Field, members
from .._columns._layout import Layout, validity
from .._engine._raw_batch import RawBatch
from ._bands import Bands
from ._batch import Batch
from ._tensors import Bytes, Ragged, to_tensors

ROW_VALID = "_row_valid"

_BYTE = np.dtype("u1")
_OFFSET = np.dtype("<i4")

# A TensorMaker makes a column of a slot's bytes and the batch's descriptors.
TensorMaker = Callable[[np.ndarray, Sequence[int]], Any]


class TensorLayout:
    """What makes the columns of a schema as tensors.

    Most columns are tuples that one loop works through: a call for each column would take longer
    than its tensor.
    """

    def __init__(self, layout: Layout, masks: Collection[str], row_valid: bool) -> None:
        """Each of masks gets a column ``name_valid`` beside it. row_valid adds the mask of the
        rows.
        """
        self._blank: dict[str, Any] = dict.fromkeys(layout.makers)  # in their order
        self._bands = Bands(layout)
        own = set(self._bands.names)
        rest = {name: (field, layout.at[name]) for name, field in layout.schema.items() if name not in own}
        self._blocks = _Blocks({name: _dense(*place) for name, place in rest.items() if _is_block(place[0])})
        self._lists = [_edged(name, *place) for name, place in rest.items() if _is_edged(place[0])]
        self._others = [(name, _maker(layout, name)) for name, (field, _) in rest.items() if not (_is_block(field) or _is_edged(field))]
        self._masks = [(f"{name}_valid", *_mask(*layout.find(name))) for name in masks]
        self._row_valid = row_valid
        self.views = not (self._others or self._masks)  # tensors take no memory of their own
        self._more = bool(self._others or self._masks or row_valid)

    def tensors(self, raw: RawBatch) -> Batch:
        """The columns of a batch."""
        memory, nodes, blocks = raw.bytes, raw.nodes, self._blocks
        ndarray, from_numpy = np.ndarray, torch.from_numpy
        batch = Batch(self._blank)
        if self._bands.names:
            batch.update(zip(self._bands.names, self._bands.tensors(memory, nodes, raw.rows)))
        if blocks.pick is not None:
            known, placed = blocks.before
            if (key := blocks.pick(nodes)) != known:
                placed = blocks.place(key)
            for name, shape, dtype, at, view in placed:
                tensor = from_numpy(ndarray(shape, dtype, memory, at))
                batch[name] = tensor if view is None else tensor.view(view)
        for name, length, starts, data, count, dtype, text in self._lists:
            first, edges = nodes[starts], nodes[length] + 1
            offsets = from_numpy(ndarray(edges, _OFFSET, memory, first)) if first else torch.zeros(edges, dtype=torch.int32)
            values = from_numpy(ndarray(nodes[count], dtype, memory, nodes[data]))
            batch[name] = Ragged(values, offsets) if text is None else Bytes(values, offsets, text)
        if self._more:
            self._add(batch, raw)
        return batch

    def _add(self, batch: Batch, raw: RawBatch) -> None:
        """Adds the columns and masks that take more than a view of memory."""
        memory, nodes = raw.bytes, raw.nodes
        for name, make in self._others:
            batch[name] = make(memory, nodes)
        for key, at, shape in self._masks:
            batch[key] = torch.from_numpy(validity(memory, nodes, at).reshape(shape))
        if self._row_valid:
            batch[ROW_VALID] = _row_valid(raw.rows, raw.valid)


class _Dense(NamedTuple):
    """A column that is one array: where its sizes are among a batch's numbers, and its offset."""

    sizes: tuple[int, ...]
    shape: tuple[int, ...]  # of a value
    data: int
    dtype: np.dtype[Any]
    view: torch.dtype | None  # of a type that numpy lacks


# A column of a batch: name, shape, dtype in the slot, offset, and the type as which torch views it.
_Placed = tuple[str, tuple[int, ...], np.dtype[Any], int, torch.dtype | None]


class _Blocks:
    """Columns that are one array each, and their places in the last batch: mostly, the next one has
    the same.
    """

    def __init__(self, columns: dict[str, _Dense]) -> None:
        self._columns = columns
        numbers = [n for column in columns.values() for n in (*column.sizes, column.data)]
        self.pick: Any = itemgetter(*numbers) if columns else None  # the numbers that matter
        self.before: tuple[tuple[int, ...], list[_Placed]] = ((), [])  # those, and the columns: one tuple, as threads share it

    def place(self, key: tuple[int, ...]) -> list[_Placed]:
        """The columns of a batch that has these numbers."""
        placed, at = [], 0
        for name, (sizes, shape, _, dtype, view) in self._columns.items():
            end = at + len(sizes)
            placed.append((name, (*key[at:end], *shape), dtype, key[end], view))
            at = end + 1
        self.before = key, placed
        return placed


def _is_block(field: Field) -> bool:
    if field.joined:
        return field.kind == "list" and _is_block(field.children[0])
    return field.is_dense and field.leaf.storage(plain=True).convert is None


def _dense(field: Field, at: int) -> _Dense:
    if field.joined:
        return _dense(field.children[0], at + NODE_FIELDS)
    sizes = [at + LENGTH]
    while field.kind == "list":
        sizes.append(at + LIST_SIZE)
        field, at = field.children[0], at + NODE_FIELDS
    dtype, shape, _, _ = field.storage(plain=True)
    return _Dense(tuple(sizes), shape, at + DATA, dtype, torch.bfloat16 if dtype.metadata else None)


# A column of values and offsets: name; the indices in the numbers of the rows, of the offset of the
# offsets, of the offset of the values and of their count; the values' dtype; whether it is text,
# None for lists.
_Edged = tuple[str, int, int, int, int, np.dtype[Any], "bool | None"]


def _is_edged(field: Field) -> bool:
    """Whether a column is strings, binary values, or lists of plain numbers."""
    if field.kind != "list" or field.list_size or field.joined:
        return field.kind == "binary" and not field.joined
    items = field.children[0]
    if items.kind != "fixed":
        return False
    dtype, shape, _, convert = items.storage(plain=True)
    return not shape and convert is None and not dtype.metadata


def _edged(name: str, field: Field, at: int) -> _Edged:
    if field.kind == "binary":
        return name, at + LENGTH, at + OFFSETS, at + DATA, at + DATA_BYTES, _BYTE, field.is_text
    items = at + NODE_FIELDS
    return name, at + LENGTH, at + OFFSETS, items + DATA, items + LENGTH, field.children[0].storage(plain=True).dtype, None


def _mask(field: Field, at: int) -> tuple[int, tuple[int, ...]]:
    """Returns the place and shape of a column's mask; a matrix and its mask have the same shape."""
    if field.features:
        return members(field, at)[0][1], (-1, len(field.features))
    return at, (-1,)


def _maker(layout: Layout, name: str) -> TensorMaker:
    """What makes one of the other columns."""
    field, make = layout.schema[name], layout.makers[name]
    if field.joined and field.kind == "fixed":
        return make
    return lambda slot, nodes: to_tensors(make(slot, nodes))


def _row_valid(count: int, valid: int) -> torch.Tensor:
    mask = torch.ones(count, dtype=torch.bool)
    if valid < count:
        mask[valid:] = False
    return mask
