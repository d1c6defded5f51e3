"""Petastorm on images: two threads read row groups of plain parquet, a TransformSpec decodes and augments, a queue mixes rows.

For the bytes alone there is no TransformSpec, and its loader of rows: the other one takes no bytes.
"""

import logging

import numpy as np
import petastorm.pytorch as torch_side
from columns import collate_dicts
from image_transforms import SIZE, transform
from petastorm import make_batch_reader
from petastorm.transform import TransformSpec
from torch import from_numpy

logging.disable(logging.WARNING)


def batches(task):
    alone = task.way == "bytes"
    reader = make_batch_reader(
        [f"file://{path}" for path in task.files],
        schema_fields=["img_jpg", "id"],
        reader_pool_type="thread",
        workers_count=task.workers,
        results_queue_size=4,
        shuffle_row_groups=True,
        seed=task.seed,
        shard_seed=task.seed,
        num_epochs=1,
        transform_spec=None if alone else augmenting(task),
    )
    if not alone:
        return torch_side.BatchedDataLoader(reader, task.batch, shuffling_queue_capacity=task.buffer)
    torch_side._sanitize_pytorch_types = lambda row: None
    return torch_side.DataLoader(reader, task.batch, collate_fn=collate_dicts, shuffling_queue_capacity=task.buffer)


def augmenting(task):
    one = transform(task)

    def change(frame):
        images = [one(from_numpy(np.frombuffer(data, np.uint8).copy())) for data in frame["img_jpg"]]
        frame["img_jpg"] = [np.ascontiguousarray(image) for image in images]
        return frame

    kind = np.float32 if task.pixels == "float32" else np.uint8
    return TransformSpec(change, edit_fields=[("img_jpg", kind, (3, SIZE, SIZE), False)])
