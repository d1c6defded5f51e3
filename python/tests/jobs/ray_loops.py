"""Loops of Ray's workers, which import this file by name."""

from __future__ import annotations

import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import ray.train
from ray.train import Checkpoint


class Tell:
    """Lines of JSON in a file of this process."""

    def __init__(self, directory: str) -> None:
        context = ray.train.get_context()
        self.rank, self.world = context.get_world_rank(), context.get_world_size()
        Path(directory).mkdir(parents=True, exist_ok=True)
        self._file = (Path(directory) / f"{os.getpid()}.jsonl").open("a", buffering=1)

    def __call__(self, kind: str, **what: Any) -> None:
        line = {"kind": kind, "rank": self.rank, "world": self.world, "pid": os.getpid(), "time": time.time(), **what}
        self._file.write(json.dumps(line) + "\n")


def read(config: dict[str, Any]) -> None:
    """Reads an epoch with a loader of our own."""
    if config.get("named"):
        os.environ["SHARDFEED_JOB"] = "all trials"
    import shardfeed

    tell = Tell(config["told"])
    dataset = shardfeed.StreamingDataset(config["uri"], batch_size=16, columns=["id"], seed=config.get("seed", 7), timeout=60)
    ids = [int(i) for batch in dataset for i in batch["id"][batch.row_valid]]
    tell("read", ids=ids, engine=dataset._engine_pid, job=dataset._job)
    ray.train.report({"rows": len(ids)})


def ids_of(batch: dict[str, Any], column: str = "id") -> list[int]:
    return batch[column][batch["_row_valid"]].tolist()


def train(config: dict[str, Any]) -> None:
    """Epochs in Ray's own words, with the position in each checkpoint."""
    tell = Tell(config["told"])
    shard = ray.train.get_dataset_shard("train")
    first = 0
    if (checkpoint := ray.train.get_checkpoint()) is not None:
        with checkpoint.as_directory() as directory:
            kept = json.loads((Path(directory) / "data.json").read_text())
        shard.load_state_dict(kept["data"])
        first = kept["steps"]
    tell("begins", step=first)
    steps = first
    while steps < config["steps"]:
        for batch in shard.iter_torch_batches(batch_size=16):
            steps += 1
            tell("step", step=steps, ids=ids_of(batch))
            _checkpoint(shard, steps, every=config["every"])
            if steps == config.get("fails_at") and first == 0 and tell.rank == 1:
                os.abort()
            if steps == config.get("waits_at") and first == 0:
                tell("waits")
                time.sleep(1000)  # for the end of a node
            if steps == config["steps"]:
                break
        if config.get("one_epoch"):
            break
    tell("ends", engine=shard.loader(**_USED).dataset._engine_pid, steps_of_an_epoch=len(shard), rows=shard.size)


_USED = {"batch_size": 16, "prefetch": 2, "device": "auto", "collate_fn": None, "pin_memory": None}


def _checkpoint(shard: Any, steps: int, every: int) -> None:
    """Reports now and then alone: Ray takes two seconds for each report."""
    if steps % every:
        return
    with tempfile.TemporaryDirectory() as directory:
        kept = None
        if shard.rank == 0:
            (Path(directory) / "data.json").write_text(json.dumps({"data": shard.state_dict(), "steps": steps}))
            kept = Checkpoint.from_directory(directory)
        ray.train.report({"step": steps}, checkpoint=kept)


def places(config: dict[str, Any]) -> None:
    """The first steps of each data set, or all after a state."""
    tell = Tell(config["told"])
    for name, (column, state) in config["places"].items():
        shard = ray.train.get_dataset_shard(name)
        if state:
            shard.load_state_dict(state)
        ids = []
        for step, batch in enumerate(shard.iter_torch_batches(batch_size=4), 1):
            ids += ids_of(batch, column)
            if step == config["steps"]:
                break
        tell("place", name=name, ids=ids, state=shard.state_dict())


def forms(config: dict[str, Any]) -> None:
    """Each way to read a shard, one after the other: each begins the next epoch."""
    tell = Tell(config["told"])
    shard = ray.train.get_dataset_shard("train")
    whole = ray.train.get_dataset_shard("whole")
    for form, key in [("numpy", None), ("pandas", None), ("pyarrow", None)]:
        ids = []
        for batch in shard.iter_batches(batch_size=16, batch_format=form):
            ids += [int(i) for i in (batch["id"].to_pylist() if form == "pyarrow" else batch["id"])]
            key = key or type(batch).__name__
        tell("form", form=form, ids=ids, type=key, epoch=shard.state_dict()["shardfeed"]["epoch"])
    tell("rows", ids=[int(row["id"]) for row in shard.iter_rows() if row["_row_valid"]])
    tell("loader", ids=[i for batch in shard.loader(batch_size=8) for i in ids_of(batch)])
    tell("whole", ids=[int(i) for batch in whole.iter_batches(batch_size=100) for i in batch["id"]])
    theirs = ray.train.get_dataset_shard("theirs")
    tell("theirs", ids=[int(i) for batch in theirs.iter_batches() for i in batch["id"]])
    said = {}
    for name, call in {
        "dtypes": lambda: shard.iter_torch_batches(dtypes="float"),
        "local_shuffle_buffer_size": lambda: shard.iter_batches(local_shuffle_buffer_size=7),
        "batch_format": lambda: shard.iter_batches(batch_format="arrow"),
        "materialize": lambda: shard.materialize(),
    }.items():
        try:
            call()
        except Exception as error:
            said[name] = f"{type(error).__name__}: {error}"
    tell("refused", said=said, schema=list(shard.schema), stats=len(shard.stats()))


def trial(config: dict[str, Any]) -> None:
    """A trial of Ray Tune: two workers with the seed of the trial."""
    import ray.tune
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    trainer = TorchTrainer(
        read,
        train_loop_config=config,
        scaling_config=ScalingConfig(num_workers=2),
        run_config=RunConfig(storage_path=tempfile.mkdtemp(dir=config["scratch"]), name="trial"),
    )
    trainer.fit()
    ray.tune.report({"done": 1})
