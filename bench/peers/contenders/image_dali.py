"""DALI on the CPU, fed with the bytes that our data set hands out."""

from itertools import pairwise

import numpy as np
import torch
from image_ours import stream
from image_transforms import MEAN, SIZE, STD
from nvidia.dali import fn, pipeline_def, types


def batches(task):
    pipeline = images(task, batch_size=task.batch, num_threads=task.workers, device_id=None, prefetch_queue_depth=2)
    pipeline.build()
    while True:
        try:
            pixels, ids = pipeline.run()
        except StopIteration:
            return
        yield {"img_jpg": torch.from_numpy(pixels.as_array()), "id": torch.from_numpy(ids.as_array())}


def source(task):
    for batch in stream(task):
        values, ends = batch["img_jpg"].values.numpy(), batch["img_jpg"].offsets.tolist()
        yield [values[a:b] for a, b in pairwise(ends)], batch["id"].numpy().astype(np.int64)[:, None]


@pipeline_def
def images(task):
    data, ids = fn.external_source(source=source(task), num_outputs=2, dtype=[types.UINT8, types.INT64], ndim=[1, 1])
    pixels = fn.decoders.image_random_crop(
        data, device="cpu", output_type=types.RGB, random_area=(0.08, 1), random_aspect_ratio=(3 / 4, 4 / 3)
    )
    pixels = fn.resize(pixels, resize_x=SIZE, resize_y=SIZE, interp_type=types.INTERP_LINEAR, antialias=True)
    flip = fn.random.coin_flip()
    if task.pixels != "float32":
        return fn.flip(pixels, horizontal=flip), ids
    mean, std = [255 * m for m in MEAN], [255 * s for s in STD]
    return fn.crop_mirror_normalize(pixels, mirror=flip, dtype=types.FLOAT, output_layout="CHW", mean=mean, std=std), ids
