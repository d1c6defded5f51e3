"""shardfeed in a later epoch. Its conversion is `shardfeed warm --decoded`.

A run is three epochs of a new engine, which verifies the decoded row groups in the first of them.
"""

import os
import subprocess

from shardfeed.torch import StreamingDataset

LIMIT = "1TiB"
EPOCHS = 3


def convert(task):
    columns = ["--columns", ",".join(task.columns)] if task.columns else []
    keep = ["--decoded", "--decoded-limit", LIMIT, "--cache-dir", task.own]
    command = [os.environ["SHARDFEED_BIN"], "warm", task.directory, *keep, *columns]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Epochs(StreamingDataset):
    """A data set that is read several times."""

    def __iter__(self):
        for _ in range(EPOCHS):
            yield from super().__iter__()


def batches(task):
    return Epochs(
        task.directory,
        batch_size=task.batch,
        columns=task.wanted,
        shuffle_buffer=task.buffer,
        seed=task.seed,
        stack={"x": task.columns} if task.matrix else None,
        cache_dir=task.own,
        decoded_limit=LIMIT,
    )
