"""LitData on parquet: its index of the files, then StreamingDataset with the ParquetLoader. It shuffles files, and rows within a file.

Its loader works with Polars, which refuses forked workers, so they are spawned.
"""

import os
import pathlib

import litdata
from columns import collate_dicts
from litdata.streaming.item_loader import ParquetLoader


def batches(task):
    directory = pathlib.Path(task.own)
    directory.mkdir(parents=True, exist_ok=True)
    for path in task.files:
        link = directory / os.path.basename(path)
        if not link.exists():
            os.link(path, link)
    (directory / "index.json").unlink(missing_ok=True)
    litdata.index_parquet_dataset(str(directory), num_workers=2)
    stream = litdata.StreamingDataset(str(directory), item_loader=ParquetLoader(), shuffle=True, seed=task.seed, item_shuffle_window="full")
    ahead = {"prefetch_factor": 4, "multiprocessing_context": "spawn"} if task.workers else {}
    return litdata.StreamingDataLoader(stream, batch_size=task.batch, num_workers=task.workers, collate_fn=collate, **ahead)


def collate(rows):
    return collate_dicts([{name: plain(value) for name, value in row.items()} for row in rows])


def plain(value):
    """Lists come as lists of numbers."""
    import numpy as np

    return np.asarray(value, np.int32) if isinstance(value, list) else value
