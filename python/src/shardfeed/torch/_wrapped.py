"""Refusing what would go wrong in silence: loaders that batch batches again, or split the stream of a rank again."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from ..errors import OptionError

_FETCHER = "torch.utils.data._utils.fetch"
_ACCELERATE = "accelerate.data_loader"


def check(*, rows: bool, batch_size: int, world_size: int) -> None:
    """Looks at who begins an iteration, two calls above."""
    frame = sys._getframe(2)
    if _module(frame) == _FETCHER and not rows and frame.f_locals.get("auto_collation"):
        raise OptionError(
            f"this data set yields whole batches of {batch_size} rows, and the loader around it would make batches of batches: give "
            "torch's DataLoader batch_size=None (without it, it takes 1), or the data set batch_size=None, which yields rows"
            + _trainer_hint()
        )
    if world_size > 1 and (splitter := _splitter(frame)):
        raise OptionError(
            f"accelerate's {splitter} splits what it is given over the ranks, and this data set is one rank's part of {world_size} "
            "already: most rows would never be seen. Give a shardfeed.torch.DataLoader to accelerator.prepare, which leaves it whole, "
            "or make the data set with rank=0, world_size=1" + _trainer_hint()
        )


def _splitter(frame: FrameType | None) -> str:
    """The class of accelerate's that splits streams and is at work here; empty: none is."""
    while frame is not None:
        if _module(frame) == _ACCELERATE:
            loader: Any = frame.f_locals.get("self")
            name = type(loader).__name__
            if name == "IterableDatasetShard" and loader.num_processes > 1:
                return name
            if name == "DataLoaderDispatcher" and loader.state.num_processes > 1:
                return name
        frame = frame.f_back
    return ""


def _trainer_hint() -> str:
    """How transformers' Trainer takes a data set; empty where it is not in use."""
    if "transformers.trainer" not in sys.modules:
        return ""
    return (
        "; transformers' Trainer takes it with shardfeed.torch.huggingface.TrainerMixin: class Trainer(TrainerMixin, transformers.Trainer)"
    )


def _module(frame: FrameType) -> str:
    return frame.f_globals.get("__name__", "")
