"""Transforms of the user's own in our loader: in its workers or threads, by the name."""

import shardfeed.torch
from image_map import Mapped
from image_ours import stream
from shardfeed import Image

DECODED = 256  # pixels of a side, from which kornia takes its crops: it needs images of one size


def batches(task):
    options = {"images": {"img_jpg": Image(size=DECODED, crop="center")}} if task.way == "kornia" else {}
    where = "threads" if task.contender.endswith("threads") else "num_workers"
    return shardfeed.torch.DataLoader(stream(task, **options).map(Mapped(task)), **{where: task.workers})
