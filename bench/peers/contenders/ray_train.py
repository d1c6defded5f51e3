"""Ray Train on two workers, each in a loop over iter_torch_batches of Ray Data's shard, or of ours.

The loops run in Ray's workers. The first batch here is empty. With ours it marks that all workers
are about to start; with Ray Data's, whose tasks take long to start, that each of them has its
first batch. Each further one has as many row numbers as the workers have read since, and no rows.
"""

import logging
import os
import pathlib
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, wait

os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import numpy as np
import ray
import ray.data
import ray.train
from columns import count, touch
from from_arrow import of_arrow
from ray.data import DataContext, FileShuffleConfig
from ray.data.collate_fn import ArrowBatchCollateFn
from ray.train import DataConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

WORKERS = 2
EPOCHS = 3  # task.rows counts all of them
LOOK = 0.1  # seconds
HERE = pathlib.Path(__file__).parent


class Collate(ArrowBatchCollateFn):
    """Arrow tables as tensors without a copy: the cheapest form that Ray Data has."""

    def __call__(self, table):
        return of_arrow(table)


def batches(task):
    ray.init(
        num_cpus=2 * WORKERS,
        include_dashboard=False,
        logging_level=logging.ERROR,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join([str(HERE), os.environ["PYTHONPATH"]])}},
    )
    DataContext.get_current().enable_progress_bars = False
    data, config, options = (ours if task.way == "ours" else theirs)(task)
    with tempfile.TemporaryDirectory() as told:
        trainer = TorchTrainer(
            loop,
            train_loop_config={"told": told, "batch": task.batch, "options": options},
            datasets={"train": data},
            dataset_config=config,
            scaling_config=ScalingConfig(num_workers=WORKERS, resources_per_worker={"CPU": 1}),
            run_config=RunConfig(storage_path=told, name="run"),
        )
        yield from _read(pathlib.Path(told), ThreadPoolExecutor(1).submit(trainer.fit), task)


def _read(told, training, task):
    """Starts the workers together, and yields how many rows they have read until they end."""
    _until(lambda: len(_rows(told)) == WORKERS, training)
    before = 0
    if task.way == "ours":
        yield {task.id: np.zeros(0)}
        (told / "begin").touch()
    else:
        (told / "begin").touch()
        _until(lambda: min(_rows(told), default=0) > 0, training)
        before = sum(_rows(told))
        yield {task.id: np.zeros(0)}
    while not training.done():
        wait([training], LOOK)
        now = sum(_rows(told))
        if now > before:
            yield {task.id: np.zeros(now - before)}
            before = now
    training.result()


def _until(met, training):
    while not met() and not training.done():
        wait([training], LOOK)


def _rows(told):
    """How many rows each worker has read so far."""
    return [int(path.read_text() or 0) for path in told.glob("*.rows")]


def ours(task):
    import shardfeed.ray

    source = shardfeed.ray.Source(
        task.directory, columns=task.wanted, shuffle_buffer=task.buffer, seed=task.seed, with_row_valid=True
    )  # fmt: skip
    return source, shardfeed.ray.DataConfig(), {}


def theirs(task):
    data = ray.data.read_parquet(task.files, columns=task.wanted, shuffle=FileShuffleConfig(seed=task.seed))
    shuffle = {"local_shuffle_buffer_size": task.buffer // WORKERS, "local_shuffle_seed": task.seed}
    return data, DataConfig(), {**shuffle, "collate_fn": Collate()}


def loop(config):
    told = pathlib.Path(config["told"])
    own, rows, said = told / f"{ray.train.get_context().get_world_rank()}.rows", 0, 0.0
    shard = ray.train.get_dataset_shard("train")
    own.write_text("0")
    while not (told / "begin").exists():
        time.sleep(LOOK / 10)
    for _ in range(EPOCHS):
        for batch in shard.iter_torch_batches(batch_size=config["batch"], **config["options"]):
            touch(batch)
            real = batch.get("_row_valid")
            rows += count(next(iter(batch.values()))) if real is None else int(real.sum())
            if time.monotonic() > said + LOOK:
                own.write_text(str(rows))
                said = time.monotonic()
    own.write_text(str(rows))
