"""Ray Data on two cores: files shuffled, a local shuffle buffer, batches of Arrow, its cheapest format."""

import logging
import os

os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import ray
import ray.data
from from_arrow import of_arrow
from ray.data import DataContext, FileShuffleConfig


def batches(task):
    ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
    DataContext.get_current().enable_progress_bars = False
    data = ray.data.read_parquet(task.files, columns=task.wanted, shuffle=FileShuffleConfig(seed=task.seed))
    read = data.iter_batches(
        batch_size=task.batch,
        batch_format="pyarrow",
        local_shuffle_buffer_size=task.buffer,
        local_shuffle_seed=task.seed,
        prefetch_batches=4,
    )
    return map(of_arrow, read)
