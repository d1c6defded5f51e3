"""The position of a data set, in the checkpoints of transformers' Trainer.

The Trainer keeps only the number of its updates, and skips as many batches when it resumes. The
order of a data set depends on the ranks that began it, so a file beside the Trainer's own holds its
state.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch.utils.data import IterableDataset

from ..errors import OptionError
from ._dataset import StreamingDataset

_FILE = "shardfeed.json"


def save(directory: Path, dataset: StreamingDataset[Any], updates: int, accumulation: int, *, workers: bool) -> None:
    """Writes the position of a data set after some updates, each of accumulation batches.

    Batches are made ahead of the training, and with workers in other processes: the state has the
    plan, and the place is counted.
    """
    epoch, position, rows = _place(dataset, updates, accumulation)
    state = dataset._state_here() if workers else dataset.state_dict()
    state["shardfeed"] |= {"epoch": epoch, "position": position}
    directory.mkdir(parents=True, exist_ok=True)
    _write_whole(directory / _FILE, json.dumps({"updates": updates, "rows": rows, "dataset": state}))


def _write_whole(path: Path, text: str) -> None:
    """Writes a file under another name first: a full disk leaves no half of it."""
    part = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        part.write_text(text)
        os.replace(part, path)
    except BaseException as e:
        with contextlib.suppress(OSError):
            part.unlink()
        if isinstance(e, OSError):  # which has no path when the disk is full
            raise OSError(e.errno, e.strerror, str(path)) from None
        raise


def load(directory: Path, dataset: StreamingDataset[Any], accumulation: int, *, seek: bool) -> Any:
    """Loads what save wrote, and returns the data set that the Trainer iterates.

    The Trainer skips the batches before the place. With seek it does not read them. A checkpoint
    without the file leaves the data set as it is.
    """
    if not (path := directory / _FILE).exists():
        return dataset
    saved = json.loads(path.read_text())
    state = saved["dataset"]["shardfeed"]
    epoch, position, rows = _place(dataset, saved["updates"], accumulation)
    if (epoch, position) != (state["epoch"], state["position"]):
        advice = f"choose batch_size and gradient_accumulation_steps so that an update over all ranks has {saved['rows']} rows"
        if rows == saved["rows"]:
            advice = "give the data set the arguments, skip and take with which the checkpoint was made, so that epochs have the same steps"
        raise OptionError(
            f"{path} was saved at row {state['position']} of epoch {state['epoch']}, with {saved['rows']} rows in an update over all "
            f"ranks, and with {rows} the Trainer would continue at row {position} of epoch {epoch}, as it counts updates: {advice}"
        )
    skipped = 0
    if seek:
        skipped = max(0, position - dataset._row_range()[0]) // dataset._global_batch()
    else:
        state["position"] = 0
    dataset.load_state_dict(saved["dataset"])
    return Resumed(dataset, skipped) if skipped else dataset


def _place(dataset: StreamingDataset[Any], updates: int, accumulation: int) -> tuple[int, int, int]:
    """The epoch and position after n updates, and the rows of one update over all ranks."""
    epoch, done = divmod(updates, max(1, -(-dataset._length() // accumulation)))
    rows = dataset._global_batch() * accumulation
    return epoch, dataset._row_range()[0] + done * rows if done else 0, rows


class Resumed(IterableDataset[Any]):
    """A data set that continues behind its first batches. The first iteration has empty batches in
    their places, which the Trainer skips.
    """

    def __init__(self, dataset: StreamingDataset[Any], skipped: int) -> None:
        self.stream = dataset
        self._skipped = skipped

    def __len__(self) -> int:
        return self.stream._length()

    def set_epoch(self, epoch: int) -> None:
        self.stream.set_epoch(epoch)

    def __iter__(self) -> Iterator[Any]:
        skipped, self._skipped = self._skipped, 0
        for _ in range(skipped):
            yield {}
        yield from self.stream
