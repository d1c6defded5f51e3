"""Loaders around a data set: it refuses batches of batches, and a second split of a stream,
and gives the others a true length.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from torch.utils.data import DataLoader

from ..errors import OptionError

_FETCHER = "torch.utils.data._utils.fetch"
_ACCELERATE = "accelerate.data_loader"
# Accelerate's classes that split a stream, and what of them has the number of processes.
_SPLITTERS: dict[str, Callable[[Any], Any]] = {
    "IterableDatasetShard": lambda split: split,
    "DataLoaderDispatcher": lambda split: split.state,
}


def check(*, rows: bool, batch_size: int, world_size: int) -> None:
    """Checks the caller of __iter__, two frames above."""
    frame = sys._getframe(2)
    if _module(frame) == _FETCHER and not rows and frame.f_locals.get("auto_collation"):
        if _accelerate(frame, "SkipDataLoader") is not None:
            raise OptionError(
                "accelerate's skip_first_batches makes a loader of torch, which would make batches of these batches: to skip batches "
                "after a resume, load the state of the shardfeed.torch.DataLoader, which accelerator.register_for_checkpointing(loader) "
                "saves and accelerator.load_state loads; for one that skips use shardfeed.torch.huggingface.prepare" + _resume_hint()
            )
        raise OptionError(
            f"this data set yields whole batches of {batch_size} rows, and the loader around it would make batches of batches: give "
            "torch's DataLoader batch_size=None (its default is 1), or give the data set batch_size=None, which yields rows"
            + _trainer_hint()
        )
    if world_size > 1 and (splitter := _splitter(frame)):
        raise OptionError(
            f"accelerate's {splitter} would split this data set over the ranks, but it is one rank's part of {world_size} already, and "
            "most rows would be lost: give a shardfeed.torch.DataLoader to accelerator.prepare, which does not split it, or make the "
            "data set with rank=0, world_size=1" + _trainer_hint()
        )


def measures(dataset: Any) -> Any:
    """Returns torch's DataLoader that asks for the length of its data set, two frames above, or None."""
    frame = sys._getframe(2)
    loader: Any = frame.f_locals.get("self")
    return loader if frame.f_code.co_name == "__len__" and isinstance(loader, DataLoader) and loader.dataset is dataset else None


def length(loader: Any, rows: int) -> int:
    """Returns the length of a data set of rows for torch's DataLoader, which divides it by its batch
    size.

    Each of K workers has each K-th row, and a last batch of its own, so it gets the rows of as many
    whole batches.
    """
    size, workers = loader.batch_size, max(1, loader.num_workers)
    if size is None or workers == 1:
        return rows
    parts = [-(-(rows - worker) // workers) for worker in range(workers)]
    batches = sum(part // size if loader.drop_last else -(-part // size) for part in parts)
    return int(batches * size)


def _splitter(frame: FrameType | None) -> str:
    """The class of accelerate that iterates here and splits its stream; empty without one."""
    for name, of in _SPLITTERS.items():
        if (loader := _accelerate(frame, name)) is not None and of(loader).num_processes > 1:
            return name
    return ""


def _accelerate(frame: FrameType | None, name: str) -> Any:
    """The object of a class of accelerate that iterates here, or None."""
    while frame is not None:
        if _module(frame) == _ACCELERATE and type(found := frame.f_locals.get("self")).__name__ == name:
            return found
        frame = frame.f_back
    return None


def _trainer_hint() -> str:
    """How transformers' Trainer takes a data set; empty when it is not imported."""
    if "transformers.trainer" not in sys.modules:
        return ""
    return (
        "; transformers' Trainer takes it with shardfeed.torch.huggingface.TrainerMixin: class Trainer(TrainerMixin, transformers.Trainer)"
    )


def _resume_hint() -> str:
    """How transformers' Trainer resumes; empty when it is not imported."""
    if "transformers.trainer" not in sys.modules:
        return ""
    return (
        "; transformers' Trainer resumes with shardfeed.torch.huggingface.TrainerMixin, which takes the data set as train_dataset, without "
        "a get_train_dataloader"
    )


def _module(frame: FrameType) -> str:
    return frame.f_globals.get("__name__", "")
