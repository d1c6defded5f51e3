"""Ray Train on two workers, each in a loop over iter_torch_batches: of Ray Data's shard, or of ours.

The loops run in Ray's workers. The stream here gives as many row numbers as they say that they have read, and no rows.
"""

import logging
import os
import pathlib
import tempfile
import threading
import time

os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import numpy as np
import ray
import ray.data
import ray.train
import torch
from columns import count, touch
from ray.data import DataContext, FileShuffleConfig
from ray.train import DataConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

WORKERS = 2
EPOCHS = 3  # task.rows are those of all
LOOK = 0.1  # seconds


def batches(task):
    ray.init(
        num_cpus=2 * WORKERS,
        include_dashboard=False,
        logging_level=logging.ERROR,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join([str(pathlib.Path(__file__).parent), os.environ["PYTHONPATH"]])}},
    )
    DataContext.get_current().enable_progress_bars = False
    with tempfile.TemporaryDirectory() as told:
        trainer = TorchTrainer(
            loop,
            train_loop_config={"told": told, "batch": task.batch, **options(task)},
            datasets={"train": data(task)},
            dataset_config=config(task),
            scaling_config=ScalingConfig(num_workers=WORKERS, resources_per_worker={"CPU": 1}),
            run_config=RunConfig(storage_path=told, name="run"),
        )
        training = threading.Thread(target=trainer.fit)
        training.start()
        read = 0
        while training.is_alive():
            training.join(LOOK)
            now = sum(int(path.read_text() or 0) for path in pathlib.Path(told).glob("*.rows"))
            if now > read:
                yield {task.id: np.zeros(now - read)}
                read = now


def data(task):
    if task.way != "ours":
        return ray.data.read_parquet(task.files, columns=task.wanted, shuffle=FileShuffleConfig(seed=task.seed))
    import shardfeed.ray

    return shardfeed.ray.Source(
        task.directory,
        columns=task.wanted,
        shuffle_buffer=task.buffer,
        seed=task.seed,
        with_row_valid=True,
    )


def config(task):
    if task.way != "ours":
        return DataConfig()
    import shardfeed.ray

    return shardfeed.ray.DataConfig()


def options(task):
    """What Ray's iter_torch_batches needs besides: a shuffle buffer of a worker's part of the rows, and tensors of numbers alone."""
    if task.way == "ours":
        return {"options": {}}
    return {
        "options": {
            "local_shuffle_buffer_size": task.buffer // WORKERS,
            "local_shuffle_seed": task.seed,
            "collate_fn": tensors,
        }
    }


def tensors(batch):
    """Numbers as tensors. Texts, binary values and lists stay what they are, since torch has nothing for them."""
    return {n: v if v.dtype == object or v.dtype.kind not in "iufb" else torch.as_tensor(v) for n, v in batch.items()}


def use(batch):
    """Reads the tensors, and of objects of Python their lengths alone."""
    touch({name: column for name, column in batch.items() if not isinstance(column, np.ndarray)})
    for column in batch.values():
        if isinstance(column, np.ndarray):
            sum(len(value) for value in column if value is not None)


def loop(config):
    rank = ray.train.get_context().get_world_rank()
    shard = ray.train.get_dataset_shard("train")
    told, rows, said = pathlib.Path(config["told"], f"{rank}.rows"), 0, 0.0
    for _ in range(EPOCHS):
        for batch in shard.iter_torch_batches(batch_size=config["batch"], **config["options"]):
            use(batch)
            real = batch.get("_row_valid")
            rows += count(next(iter(batch.values()))) if real is None else int(real.sum())
            if time.monotonic() > said + LOOK:
                told.write_text(str(rows))
                said = time.monotonic()
    told.write_text(str(rows))
