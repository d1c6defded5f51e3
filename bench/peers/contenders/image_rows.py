"""torch's DataLoader: an IterableDataset reads row groups with pyarrow and decodes each row."""

import numpy as np
import pyarrow.parquet as pq
import torch
from columns import collate_dicts
from image_transforms import transform
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Rows(IterableDataset):
    def __init__(self, task):
        self.task = task

    def __iter__(self):
        change, worker = transform(self.task), get_worker_info()
        number, workers = (worker.id, worker.num_workers) if worker else (0, 1)
        for data, row in files(self.task, self.task.files[number::workers]):
            yield {"img_jpg": change(torch.frombuffer(bytearray(data), dtype=torch.uint8)), "id": row}


def files(task, paths):
    """Bytes and numbers of rows, mixed within each row group."""
    for path in paths:
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=["img_jpg", "id"])
            images, ids = table["img_jpg"].combine_chunks(), table["id"].to_numpy()
            for i in np.random.default_rng([task.seed, group]).permutation(len(ids)):
                yield images[int(i)].as_py(), int(ids[i])


def batches(task):
    collate = collate_dicts if task.way == "bytes" else None
    return DataLoader(Rows(task), task.batch, num_workers=task.workers, prefetch_factor=2, collate_fn=collate)
