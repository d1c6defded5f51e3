"""torchtitan: packed batches of tokens or texts as a component of its trainer.

A configuration names it in the place of torchtitan's own data loader::

    config.dataloader = shardfeed.torchtitan.DataLoader.Config(dataset_path="s3://bucket/tokens")
"""

from __future__ import annotations

import functools
import json
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import torch
import torch.distributed
import tyro
from torchtitan.components.dataloader import BaseDataLoader
from torchtitan.components.metrics import MetricsProcessor as _MetricsProcessor

from . import torch as _torch
from ._args._checks import got
from ._documented import documented
from ._pack import Pack
from ._stats import Stats
from ._wait_metrics import WaitMetrics
from .errors import OptionError, StateError
from .torch._flatten import real_labels

_STATE = "shardfeed"
_training: weakref.ref[DataLoader] | None = None  # the endless loader that was made last; one of a validation ends


@documented
class DataLoader(BaseDataLoader):
    """Packed batches as torchtitan's language models take them.

    They are ``({"input": ..., "positions": ...}, labels)``, all int64 of ``[local_batch_size,
    seq_len]``. ``positions`` start at 0 in each document, by which attention finds the documents.
    Each label is the next token of its document: -100 at its end and in padding.

    Documents are packed before the ranks divide the blocks, so ``state_dict`` is the same on each
    rank and continues on any number of data-parallel ranks.
    """

    @dataclass(kw_only=True, slots=True)
    class Config(BaseDataLoader.Config):
        """What a configuration says, and the command line as ``--dataloader.seed``.

        ``dataset_path`` is the address of the shards.
        """

        tokens: str = "input_ids"
        """The column with the tokens of a document, a list of integers in each row, or with its text."""

        tokenize: bool = False
        """Make tokens of the column's texts with the trainer's tokenizer, in the engine. The tokens
        that its tokenizer.json adds by itself are left out: see add_bos and add_eos."""

        strategy: Literal["wrapped", "bfd", "bfd_split"] = "wrapped"
        """How documents are put into blocks, see shardfeed.Pack."""

        add_bos: bool = False
        """Put the tokenizer's first token before each document."""

        add_eos: bool = False
        """Put the tokenizer's last token behind each document."""

        infinite: bool = True
        """Start the next epoch when one ends, in another order. Samples that do not fill a step of
        all ranks go first in the next epoch. False is one epoch, in which each block counts once."""

        seed: int = 0
        """Of the shuffle."""

        num_workers: int = 0
        """Processes that run functions of Python. The engine works in parallel without them."""

        replication: int = 1
        """How many ranks in a row have one data-parallel rank: tensor_parallel_degree times
        context_parallel_degree. On one machine they then share each batch. At 1 each rank makes its
        own, as it has to with pipeline parallelism."""

        options: Annotated[dict[str, Any], tyro.conf.Suppress] = field(default_factory=dict)
        """Further arguments of shardfeed.torch.StreamingDataset, such as filters, memory, and sources
        in the place of dataset_path. Not on the command line."""

    def __init__(
        self, config: Config, *, dp_world_size: int, dp_rank: int, tokenizer: Any = None, seq_len: int, local_batch_size: int, **_: Any
    ) -> None:
        if not config.dataset_path and not config.options.get("sources"):
            raise OptionError(
                f"dataloader.dataset_path must be an address, as in 's3://bucket/tokens', {got(config.dataset_path)}; a mixture has "
                "options={'sources': ...} instead"
            )
        pack = Pack(
            {config.tokens: seq_len},
            strategy=config.strategy,
            bos=_special(tokenizer, "bos") if config.add_bos else None,
            eos=_special(tokenizer, "eos") if config.add_eos else None,
            with_columns=["position_ids"],
            labels="next",
        )
        given = {
            "columns": [config.tokens],
            "batch_size": local_batch_size,
            "pack": pack,
            "seed": config.seed,
            "tail": "carry" if config.infinite else "pad",
            "with_row_valid": True,
            **({"tokenize": {config.tokens: _library(tokenizer)}} if config.tokenize else {}),
            **_ranks(config.replication, dp_rank, dp_world_size),
        }
        if taken := sorted(given.keys() & config.options.keys() - {"columns"}):
            raise OptionError(f"dataloader.options has {', '.join(taken)}, which other settings of the trainer say: leave them out")
        self.dataset = _torch.StreamingDataset(config.dataset_path or None, **{**given, **config.options})
        collate = functools.partial(_step, config.tokens)
        self._loader = _torch.DataLoader(self.dataset, collate_fn=collate, num_workers=config.num_workers)
        self._infinite = config.infinite
        if config.infinite:
            global _training
            _training = weakref.ref(self)

    def __iter__(self) -> Iterator[tuple[dict[str, torch.Tensor], torch.Tensor]]:
        while True:
            yield from self._loader
            if not self._infinite:
                return

    def stats(self) -> Stats:
        """Figures of this rank's stream, by the names of ``shardfeed bench --json``."""
        return self._loader.stats()

    def state_dict(self) -> dict[str, Any]:
        """The position after the last batch that was handed out: the same on every rank except ``audit``.

        It is one text, because checkpoints load only the keys that the new run has too.
        """
        return {_STATE: json.dumps(self._loader.state_dict())}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Makes the next iteration continue there, on any number of ranks."""
        if not state_dict:  # of a checkpoint without the loader
            return
        if not isinstance(text := state_dict.get(_STATE), str):
            raise StateError(
                f"the checkpoint's data loader has the keys {', '.join(map(str, state_dict))}, and not {_STATE!r}: it was saved with "
                'another data loader; leave it out with checkpoint.exclude_from_loading=["dataloader"]'
            )
        self._loader.load_state_dict(json.loads(text))


@documented
class MetricsProcessor(_MetricsProcessor):
    """torchtitan's metrics, and how much of the training's time is spent waiting for data.

    A configuration has ``config.metrics = shardfeed.torchtitan.MetricsProcessor.Config(...)``, with
    the fields of torchtitan's own. See :class:`shardfeed.WaitMetrics` for the metrics. They are of
    the rank that logs, for a :class:`DataLoader` with ``infinite=True``.
    """

    @dataclass(kw_only=True, slots=True)
    class Config(_MetricsProcessor.Config):
        pass

    def __init__(self, config: Config, **runtime: Any) -> None:
        super().__init__(config, **runtime)
        self._waits: WaitMetrics | None = None

    def log(self, *args: Any, extra_metrics: dict[str, Any] | None = None, **kwargs: Any) -> None:
        if self._waits is None and (loader := _training and _training()) is not None:
            self._waits = WaitMetrics(loader)
        waits = self._waits() if self._waits is not None else {}
        super().log(*args, extra_metrics={**waits, **(extra_metrics or {})}, **kwargs)


def _step(tokens: str, batch: Any) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    return {"input": batch[tokens].long(), "positions": batch["position_ids"].long()}, real_labels(batch)


def _special(tokenizer: Any, name: str) -> int:
    token = getattr(tokenizer, f"{name}_id", None)
    if token is None:
        raise OptionError(f"dataloader.add_{name} needs a tokenizer with {name}_id, and this one has none: leave add_{name} out")
    return int(token)


def _library(tokenizer: Any) -> Any:
    """The tokenizer of the library tokenizers in one of torchtitan's."""
    if callable(getattr(inner := getattr(tokenizer, "tokenizer", None), "to_str", None)):
        return inner
    raise OptionError(
        f"dataloader.tokenize needs torchtitan's HuggingFaceTokenizer, {got(tokenizer)}: give options={{'tokenize': "
        "{'text': 'tokenizer.json'}} instead"
    )


def _ranks(replication: int, dp_rank: int, dp_world_size: int) -> dict[str, int]:
    """The arguments of a data set for its rank."""
    if replication == 1:
        return {"rank": dp_rank, "world_size": dp_world_size}
    rank, world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    if replication < 1 or rank // replication != dp_rank or world_size != dp_world_size * replication:
        raise OptionError(
            f"dataloader.replication must be the ranks in a row with one data-parallel rank, got {replication}: rank {rank} of "
            f"{world_size} is data-parallel rank {dp_rank} of {dp_world_size}; with pipeline parallelism leave it out"
        )
    return {"rank": rank, "world_size": world_size, "replication": replication}
