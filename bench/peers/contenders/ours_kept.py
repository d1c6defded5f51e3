"""shardfeed in a later epoch: its conversion is `shardfeed warm --decoded`.

A run is an epoch of a new engine, which verifies each kept column before it uses it.
"""

import os
import subprocess

from shardfeed.torch import StreamingDataset

LIMIT = "1TiB"


def convert(task):
    columns = ["--columns", ",".join(task.columns)] if task.columns else []
    kept = ["--decoded", "--decoded-limit", LIMIT, "--cache-dir", task.own]
    subprocess.run([os.environ["SHARDFEED_BIN"], "warm", task.directory, *kept, *columns], check=True, stdout=subprocess.DEVNULL)


def batches(task):
    return StreamingDataset(
        task.directory,
        batch_size=task.batch,
        columns=task.wanted,
        shuffle_buffer=task.buffer,
        seed=task.seed,
        stack={"x": task.columns} if task.matrix else None,
        cache_dir=task.own,
        decoded_limit=LIMIT,
    )
