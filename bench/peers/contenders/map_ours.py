"""shardfeed: its DataLoader, whose workers run a function that returns what it gets."""

from shardfeed.torch import DataLoader, StreamingDataset


def identity(batch):
    return batch


def mapped(task):
    data = StreamingDataset(task.directory, batch_size=task.batch, columns=task.wanted, shuffle_buffer=task.buffer, seed=task.seed)
    return data.map(identity)


def batches(task):
    return DataLoader(mapped(task), num_workers=task.workers)
