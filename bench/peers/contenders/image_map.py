"""Our data set hands out bytes; transforms of the user's own run in torch's workers."""

import functools

import torch.utils.data
from image_ours import stream
from image_transforms import mapped


def batches(task):
    return torch.utils.data.DataLoader(stream(task).map(Mapped(task)), batch_size=None, num_workers=task.workers)


class Mapped:
    """Made in the worker that runs it."""

    def __init__(self, task):
        self.task = task

    @functools.cached_property
    def change(self):
        return mapped(self.task)

    def __call__(self, batch):
        return self.change(batch)
