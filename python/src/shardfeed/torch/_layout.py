"""How a batch becomes a dict of tensors. Computed once for a schema, used for each batch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import torch

from .._layout import DATA, DATA_BYTES, Layout, members, offsets, validity
from .._raw_batch import RawBatch
from .._schema import Field
from ._bands import Bands
from ._batch import Batch
from ._tensors import Bytes, to_tensors

ROW_VALID = "_row_valid"

_BYTE = np.dtype("u1")

# A TensorMaker makes a column of a slot's bytes and the batch's descriptors.
TensorMaker = Callable[[np.ndarray, Sequence[int]], Any]


class TensorLayout:
    """The makers of a schema's columns as tensors."""

    def __init__(self, layout: Layout, masks: Collection[str], row_valid: bool) -> None:
        """Each of masks gets a column ``name_valid`` beside it. row_valid adds the mask of the
        rows.
        """
        self._blank: dict[str, Any] = dict.fromkeys(layout.makers)  # in their order
        self._bands = Bands(layout)
        own = set(self._bands.names)
        self._makers = [(name, _maker(layout, name)) for name in layout.makers if name not in own]
        self._masks = [(f"{name}_valid", *_mask(*layout.find(name))) for name in masks]
        self._row_valid = row_valid

    def tensors(self, raw: RawBatch) -> Batch:
        """The columns of a batch."""
        memory, nodes, bands = raw.bytes, raw.nodes, self._bands
        batch = Batch(self._blank)
        batch.update(zip(bands.names, bands.tensors(memory, nodes, raw.rows)))
        for name, make in self._makers:
            batch[name] = make(memory, nodes)
        for key, at, shape in self._masks:
            batch[key] = torch.from_numpy(validity(memory, nodes, at).reshape(shape))
        if self._row_valid:
            batch[ROW_VALID] = _row_valid(raw.rows, raw.valid)
        return batch


def _mask(field: Field, at: int) -> tuple[int, tuple[int, ...]]:
    """Where the mask of a column lies, and its shape: that of a matrix has the shape of the matrix."""
    if field.features:
        return members(field, at)[0][1], (-1, len(field.features))
    return at, (-1,)


def _maker(layout: Layout, name: str) -> TensorMaker:
    field, make = layout.schema[name], layout.makers[name]
    if field.joined and field.kind == "fixed":
        return make
    if field.is_dense:
        if field.leaf.type == "bfloat16":
            return lambda slot, nodes: to_tensors(make(slot, nodes))
        return lambda slot, nodes: torch.from_numpy(make(slot, nodes))
    if field.kind == "binary":
        return _binary(layout.at[name], field.is_text)
    return lambda slot, nodes: to_tensors(make(slot, nodes))


def _binary(at: int, text: bool) -> TensorMaker:
    """Strings and binary values. They are frequent, so the arrays' class in between is left out."""
    size, data = at + DATA_BYTES, at + DATA
    ndarray, from_numpy = np.ndarray, torch.from_numpy

    def make(slot: np.ndarray, nodes: Sequence[int]) -> Bytes:
        return Bytes(from_numpy(ndarray(nodes[size], _BYTE, slot, nodes[data])), from_numpy(offsets(slot, nodes, at)), text)

    return make


def _row_valid(count: int, valid: int) -> torch.Tensor:
    mask = torch.ones(count, dtype=torch.bool)
    if valid < count:
        mask[valid:] = False
    return mask
