"""shardfeed: its data set for torch, iterated as it is, or in torch's workers. The engine's start and its work are counted."""

from shardfeed.torch import StreamingDataset
from torch.utils.data import DataLoader


def batches(task):
    data = StreamingDataset(
        task.directory,
        batch_size=task.batch,
        columns=task.wanted,
        shuffle_buffer=task.buffer or None,
        seed=task.seed,
        rank=task.rank,
        world_size=task.world_size,
        with_row_valid=task.world_size > 1,
        memory=task.memory or None,
        lanes=task.lanes or None,
        unit_rows=task.unit_rows or None,
        stack={"x": task.columns} if task.matrix else None,
    )
    return DataLoader(data, batch_size=None, num_workers=task.workers) if task.workers else data
