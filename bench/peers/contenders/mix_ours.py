"""shardfeed: each file is a source of its own, all of one weight; or all files are one data set."""

from shardfeed import Source
from shardfeed.torch import StreamingDataset


def batches(task):
    files = {f"source-{i:02d}": Source(path) for i, path in enumerate(task.files)}
    what = {"sources": files} if task.sources else {"uri": task.directory}
    return StreamingDataset(**what, batch_size=task.batch, shuffle_buffer=task.buffer, seed=task.seed, memory=task.memory)
