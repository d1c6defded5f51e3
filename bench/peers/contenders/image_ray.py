"""Ray Data on two cores: files shuffled, map_batches decodes with torchvision. Bytes come as numpy's objects."""

import logging
import os

os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import numpy as np
import ray
import ray.data
import torch
from image_transforms import transform
from ray.data import DataContext, FileShuffleConfig


def batches(task):
    ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    DataContext.get_current().enable_progress_bars = False
    data = ray.data.read_parquet(task.files, columns=["img_jpg", "id"], shuffle=FileShuffleConfig(seed=task.seed))
    if task.way == "bytes":
        return data.iter_batches(batch_size=task.batch, batch_format="numpy", prefetch_batches=2)
    data = data.map_batches(change, fn_args=(task,), batch_size=task.batch)
    return data.iter_torch_batches(batch_size=task.batch, prefetch_batches=2)


def change(batch, task):
    one = transform(task)
    images = [one(torch.frombuffer(bytearray(data), dtype=torch.uint8)) for data in batch["img_jpg"]]
    return {"img_jpg": np.stack([image.numpy() for image in images]), "id": batch["id"]}
