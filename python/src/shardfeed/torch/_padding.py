"""Taking padding out of batches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from .._args._checks import type_name
from ..errors import OptionError
from ._batch import Batch
from ._layout import ROW_VALID
from ._tensors import Bytes, Ragged


def drop_padding(batch: Mapping[str, Any]) -> Batch | None:
    """The real rows of a batch, without the mask ``"_row_valid"``; None when it has only padding.

    The batch comes from a data set with ``with_row_valid=True``. Over all ranks and steps of an
    epoch each row comes once, so metrics that add up over the ranks are exact::

        for batch in loader:
            batch = shardfeed.torch.drop_padding(batch)
            if batch is not None:
                metric.update(model(batch["x"]), batch["label"])
        metric.compute()  # adds up over the ranks

    Ranks may skip different steps, so do not start a collective, such as gather, on the result.
    Gather whole batches with their mask, and drop padding after that.

    Tensors, arrays, :class:`Bytes`, :class:`Ragged`, and lists with one entry for each row lose the
    entries of padding, also within dicts and tuples. Of a packed batch ``cu_seqlens`` and
    ``max_seqlen`` describe the remaining blocks. Other values stay as they are.
    """
    mask = batch.get(ROW_VALID) if isinstance(batch, Mapping) else None
    if mask is None:
        raise OptionError(
            f'drop_padding needs a batch with the mask "{ROW_VALID}", got {_shown(batch)}: make the data set with '
            "with_row_valid=True, and keep the mask in functions of map and collate_fn"
        )
    mask = torch.as_tensor(mask)
    count = int(mask.sum())
    if count == 0:
        return None
    kept = Batch((name, column) for name, column in batch.items() if name != ROW_VALID)
    if count == mask.numel():
        return kept
    index = slice(count) if bool(mask[:count].all()) else mask
    real = Batch((name, _rows(column, index, len(mask))) for name, column in kept.items())
    real.update(_edges(kept, mask))
    return real


def _edges(batch: Mapping[str, Any], mask: torch.Tensor) -> dict[str, Any]:
    """cu_seqlens and max_seqlen of the real blocks of a packed batch.

    They are of the batch as one sequence, in which blocks have the same size and each ends a
    document or a padding.
    """
    given = batch.get("cu_seqlens")
    if not isinstance(given, (torch.Tensor, np.ndarray)) or given.ndim != 1 or len(given) <= len(mask):
        return {}
    edges = given if isinstance(given, torch.Tensor) else torch.tensor(given)
    size = int(edges[-1]) // len(mask)
    lengths = edges.diff()
    left = lengths[mask.to(edges.device)[edges[:-1] // size]]
    made = torch.cat([edges[:1], left.cumsum(0, dtype=edges.dtype)])
    found: dict[str, Any] = {"cu_seqlens": made if given is edges else made.numpy()}
    if isinstance(batch.get("max_seqlen"), int):
        found["max_seqlen"] = int(left.max())
    return found


def _rows(value: Any, index: slice | torch.Tensor, rows: int) -> Any:
    """The rows of a value at index, or the value itself when its length differs."""
    if isinstance(value, torch.Tensor):
        return value[index] if value.ndim and len(value) == rows else value
    if isinstance(value, np.ndarray):
        return value[_on_host(index)] if value.ndim and len(value) == rows else value
    if isinstance(value, (Bytes, Ragged)):
        return value[index] if len(value) == rows else value
    if isinstance(value, Mapping):
        return {name: _rows(member, index, rows) for name, member in value.items()}
    if isinstance(value, list) and len(value) == rows:
        return [value[int(n)] for n in torch.arange(rows)[index if isinstance(index, slice) else index.cpu()]]
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_rows(member, index, rows) for member in value)
    return value


def _shown(batch: Any) -> str:
    if not isinstance(batch, Mapping):
        return type_name(batch)
    return f"the keys {', '.join(map(str, batch))}" if batch else "an empty dict"


def _on_host(index: slice | torch.Tensor) -> Any:
    return index if isinstance(index, slice) else index.cpu().numpy()
