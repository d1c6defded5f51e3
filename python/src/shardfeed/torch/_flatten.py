"""Packed batches as transformers' models take them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch

from .._args._checks import type_name
from .._args._types import Address
from .._documented import documented
from .._keywords import Packing
from .._pack import Pack
from ..errors import OptionError
from ._batch import Batch
from ._dataset import StreamingDataset
from ._layout import ROW_VALID

IGNORED = -100  # the label of a token that no loss counts
_MADE = ("position_ids", "cu_seqlens", "max_seqlen")


@documented
@dataclass(frozen=True)
class Flatten:
    """A function for ``map`` that makes one sequence of a packed batch.

    The result is as of transformers' ``DataCollatorWithFlattening``: ``input_ids``, ``labels``
    and ``position_ids`` of ``[1, tokens]`` (int64), ``cu_seq_lens_q``, ``cu_seq_lens_k`` (int32),
    ``max_length_q`` and ``max_length_k``. Models with flash attention take the lengths; with sdpa,
    eager and flex attention they find the documents by ``position_ids``, unless they use a cache:
    set ``model.config.use_cache = False``, as the Trainer does. Each document sees only itself.
    Padding is a document of its own. Its labels are -100, and so are the labels of rows that
    ``"_row_valid"`` marks as padding.

    Args:
        tokens (str, default "input_ids"): the packed column.
        seq_idx (bool, default False): add ``seq_idx``, the number of each token's document (int32),
            which layers of linear attention take.
    """

    tokens: str = "input_ids"
    seq_idx: bool = False

    def __call__(self, batch: Mapping[str, Any]) -> Batch:
        if missing := [name for name in (self.tokens, *_MADE, "labels") if name not in batch]:
            raise OptionError(
                f"Flatten needs the columns {', '.join(map(repr, missing))}, and the batch has {', '.join(map(repr, batch))}: make the "
                f"data set with shardfeed.torch.huggingface.packed, or with pack=shardfeed.Pack({{{self.tokens!r}: 8192}}, "
                f'with_columns={list(_MADE)}, labels="same")'
            )
        edges, longest = batch["cu_seqlens"], batch["max_seqlen"]
        flat = Batch(
            input_ids=batch[self.tokens].reshape(1, -1).long(),
            labels=real_labels(batch).reshape(1, -1),
            position_ids=batch["position_ids"].reshape(1, -1).long(),
            cu_seq_lens_q=edges,
            cu_seq_lens_k=edges,
            max_length_q=longest,
            max_length_k=longest,
        )
        if self.seq_idx:
            numbers = torch.arange(len(edges) - 1, dtype=torch.int32, device=edges.device)
            flat["seq_idx"] = torch.repeat_interleave(numbers, edges.diff())[None]
        return flat


def real_labels(batch: Mapping[str, Any]) -> torch.Tensor:
    """The labels of a packed batch, without the rows that are padding."""
    labels: torch.Tensor = batch["labels"]
    valid = batch.get(ROW_VALID)
    if valid is None or bool(valid.all()):
        return labels
    return torch.where(valid[:, None], labels, IGNORED)


def packed(
    uri: Address | None = None, *, pack: Packing, batch_size: int = 1, seq_idx: bool = False, **options: Any
) -> StreamingDataset[Batch]:
    """A data set of packed batches, each as one sequence that transformers' models take::

        dataset = packed("s3://bucket/tokens", pack={"input_ids": 8192}, drop_last=True)

    Args:
        uri (str, Path or list of them): addresses of the shards; left out with ``sources``.
        pack (dict or Pack): the column of tokens and the size of a block, as in
            ``StreamingDataset``. ``position_ids``, ``cu_seqlens``, ``max_seqlen`` and labels are
            added.
        batch_size (int, default 1): blocks of a sequence.
        seq_idx (bool, default False): see :class:`Flatten`.
        options: other arguments of :class:`shardfeed.torch.StreamingDataset`. Unless they are
            given, ``columns`` is the packed ones, ``with_row_valid`` is True, and a shuffled stream
            has ``drop_last=True``: a rank whose last batch only fills up the step would have no
            label in it, and a mean loss of NaN.
    """
    if isinstance(pack, Mapping):
        pack = Pack(pack)
    if not isinstance(pack, Pack) or not isinstance(pack.columns, Mapping) or not pack.columns:
        given = pack.columns if isinstance(pack, Pack) else pack
        raise OptionError(f'pack must name a column and the tokens of a block, as in pack={{"input_ids": 8192}}, got {type_name(given)}')
    if pack.labels == "next":
        raise OptionError('labels of pack must be "same" or left out, got "next": transformers\' models shift labels')
    tokens = next(iter(pack.columns))
    whole = replace(pack, with_columns=tuple(dict.fromkeys((*pack.with_columns, *_MADE))), labels="same")
    arguments: dict[str, Any] = {"columns": list(pack.columns), "with_row_valid": True, **options}
    if "tail" not in options:
        arguments.setdefault("drop_last", options.get("shuffle", True))
    dataset = StreamingDataset(uri, batch_size=batch_size, pack=whole, **arguments)
    return dataset.map(Flatten(tokens, seq_idx))
