"""As a blog has it: fastparquet's frames in a map-style data set, albumentations, torch's workers."""

import functools

import cv2
import fastparquet
import numpy as np
from columns import collate_dicts
from image_transforms import transform
from torch import from_numpy
from torch.utils.data import DataLoader, Dataset


class Frames(Dataset):
    """Rows in order of files, mixed within each; a worker keeps the frame that it is in."""

    def __init__(self, task):
        cv2.setNumThreads(1)
        self.task = task
        self.starts = np.cumsum([0, *(fastparquet.ParquetFile(path).count() for path in task.files)])

    def __len__(self):
        return int(self.starts[-1])

    def __getitem__(self, i):
        number = int(np.searchsorted(self.starts, i, "right")) - 1
        frame, order = self.frame(number)
        row = frame.iloc[order[i - self.starts[number]]]
        return {"img_jpg": self.change(from_numpy(np.frombuffer(row["img_jpg"], np.uint8).copy())), "id": int(row["id"])}

    @functools.cached_property
    def change(self):
        return transform(self.task)

    def frame(self, number):
        if getattr(self, "number", None) != number:
            self.number = number
            self.rows = fastparquet.ParquetFile(self.task.files[number]).to_pandas(columns=["img_jpg", "id"])
            self.order = np.random.default_rng([self.task.seed, number]).permutation(len(self.rows))
        return self.rows, self.order


def batches(task):
    collate = collate_dicts if task.way == "bytes" else None
    return DataLoader(Frames(task), task.batch, num_workers=task.workers, prefetch_factor=2, collate_fn=collate)
