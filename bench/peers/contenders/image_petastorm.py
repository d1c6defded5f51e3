"""Petastorm on images: two threads read row groups of plain parquet, a TransformSpec decodes and augments, a queue mixes rows.

For bytes there is no TransformSpec, and its loader of rows: the other one does not take bytes.
"""

import numpy as np
from image_transforms import SIZE, transform
from petastorm.transform import TransformSpec
from petastorm_reader import loader
from torch import from_numpy


def batches(task):
    alone = task.way == "bytes"
    return loader(task, ["img_jpg", "id"], None if alone else augmenting(task), batched=not alone)


def augmenting(task):
    one = transform(task)

    def change(frame):
        images = [one(from_numpy(np.frombuffer(data, np.uint8).copy())) for data in frame["img_jpg"]]
        frame["img_jpg"] = [np.ascontiguousarray(image) for image in images]
        return frame

    kind = np.float32 if task.pixels == "float32" else np.uint8
    return TransformSpec(change, edit_fields=[("img_jpg", kind, (3, SIZE, SIZE), False)])
