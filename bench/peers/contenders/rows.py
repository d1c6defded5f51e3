"""dl:rows: what most people write. An IterableDataset turns Arrow into Python rows and mixes them in a buffer; DataLoader collates."""

import random

import pyarrow.parquet as pq
from columns import collate
from from_arrow import as_rows
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Rows(IterableDataset):
    """Files are shared out to the workers, and so is the buffer."""

    def __init__(self, task):
        self.task = task

    def __iter__(self):
        task, worker = self.task, get_worker_info()
        number, workers = (worker.id, worker.num_workers) if worker else (0, 1)
        files = list(task.files)
        random.Random(task.seed).shuffle(files)
        chance, room, buffer = random.Random(f"{task.seed} {number}"), task.buffer // workers, []
        for row in self.read(files[number::workers]):
            if len(buffer) < room:
                buffer.append(row)
                continue
            i = chance.randrange(room)
            yield buffer[i]
            buffer[i] = row
        chance.shuffle(buffer)
        yield from buffer

    def read(self, files):
        for path in files:
            for table in pq.ParquetFile(path).iter_batches(batch_size=1024, columns=self.task.wanted):
                yield from zip(*as_rows(table))


class Collate:
    def __init__(self, names):
        self.names = names

    def __call__(self, rows):
        return collate(rows, self.names)


def batches(task):
    names = task.wanted or pq.ParquetFile(task.files[0]).schema_arrow.names
    ahead = {"prefetch_factor": 4} if task.workers else {}
    return DataLoader(Rows(task), task.batch, num_workers=task.workers, collate_fn=Collate(names), **ahead)
