"""Under a Ray cluster of this machine: make test-ray."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from pages import blocks, job, patched

ray = pytest.importorskip("ray", reason="Ray is not installed: make test-ray")

from places import azurite, gcs, of_adapters, s3  # noqa: E402, F401 - fixtures
from ranks import JOBS, Line  # noqa: E402
from ray import tune  # noqa: E402 - only where Ray is installed
from ray.train import DataConfig, FailureConfig, RunConfig, ScalingConfig  # noqa: E402
from ray.train.torch import TorchTrainer  # noqa: E402
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer  # noqa: E402

sys.path.insert(0, str(JOBS))  # Ray's workers import the loops by name

import ray_loops  # noqa: E402

import shardfeed  # noqa: E402
import shardfeed.ray  # noqa: E402
from shardfeed import errors  # noqa: E402

pytestmark = pytest.mark.timeout(600)

ROWS = 4000
EVERY = 25  # steps from one checkpoint to the next

Told = Callable[[str], list[Line]]


@pytest.fixture(scope="module")
def cluster(runtime: Path, shards: Path) -> Iterator[None]:
    """Ray, started by a driver that has used shardfeed before: what it left in the environment reaches all workers."""
    assert len(shardfeed.StreamingDataset(shards, batch_size=100)) == ROWS / 100
    assert "SHARDFEED_PROCESS_JOB" in os.environ
    found = os.pathsep.join([str(JOBS), os.environ["PYTHONPATH"]])
    env = {"OMP_NUM_THREADS": "1", "PYTHONPATH": found}
    ray.init(
        num_cpus=8, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": env}, _temp_dir=tempfile.mkdtemp(prefix="ray")
    )
    yield
    ray.shutdown()
    del os.environ["SHARDFEED_PROCESS_JOB"]


@pytest.fixture
def told(tmp_path: Path) -> Told:
    """The lines of a kind that workers have written."""

    def lines(kind: str) -> list[Line]:
        found = [json.loads(line) for path in (tmp_path / "told").glob("*.jsonl") for line in path.read_text().splitlines()]
        return sorted((line for line in found if line["kind"] == kind), key=lambda line: line["time"])

    return lines


def fit(
    kind: Any, loop: Any, tmp_path: Path, workers: Any = 2, failures: int = 0, data: dict[str, Any] | None = None, **config: Any
) -> Any:
    split = [name for name in data or {} if name != "whole"]
    more = {"datasets": data, "dataset_config": shardfeed.ray.DataConfig(datasets_to_split=split)} if data else {}
    return kind(
        loop,
        train_loop_config={"told": str(tmp_path / "told"), "scratch": str(tmp_path), **config},
        scaling_config=ScalingConfig(num_workers=workers),
        run_config=RunConfig(storage_path=str(tmp_path / "storage"), name="run", failure_config=FailureConfig(max_failures=failures)),
        **more,
    ).fit()


@pytest.mark.parametrize("kind", [TorchTrainer, DataParallelTrainer], ids=["with torch's environment", "without"])
def test_a_group_of_workers_has_one_engine(cluster: None, tmp_path: Path, shards: Path, told: Told, kind: Any) -> None:
    fit(kind, ray_loops.read, tmp_path, uri=str(shards))
    lines = told("read")
    assert sorted(i for line in lines for i in line["ids"]) == list(range(ROWS)), "the workers share the rows"
    assert {line["rank"] for line in lines} == {0, 1}
    assert len({line["engine"] for line in lines}) == 1


@pytest.mark.parametrize("named", [False, True], ids=["", "with one SHARDFEED_JOB"])
def test_trials_do_not_disturb_each_other(cluster: None, tmp_path: Path, shards: Path, told: Told, named: bool) -> None:
    run = {"run_config": tune.RunConfig(storage_path=str(tmp_path / "tune"), name="tune")}
    space = {"uri": str(shards), "told": str(tmp_path / "told"), "scratch": str(tmp_path), "named": named, "seed": tune.grid_search([1, 2])}
    results = tune.Tuner(ray_loops.trial, param_space=space, tune_config=tune.TuneConfig(max_concurrent_trials=2), **run).fit()
    assert [result.error for result in results] == [None, None]
    lines = told("read")
    assert sorted(i for line in lines for i in line["ids"]) == sorted([*range(ROWS)] * 2)
    assert len({line["engine"] for line in lines}) == 2
    assert len({line["job"] for line in lines}) == 2


def test_tasks_are_jobs_of_their_own(cluster: None, shards: Path) -> None:
    @ray.remote
    def read(uri: str) -> tuple[int, str]:
        dataset = shardfeed.StreamingDataset(uri, batch_size=100)
        return sum(batch.rows for batch in dataset), dataset._job

    rows, jobs = zip(*ray.get([read.remote(str(shards)) for _ in range(2)]))
    assert rows == (ROWS, ROWS)
    assert all(job.startswith("ray worker ") for job in jobs)


def source(shards: Path) -> shardfeed.ray.Source:
    return shardfeed.ray.Source(str(shards), columns=["id"], seed=7, with_row_valid=True)


def test_a_worker_dies_and_the_position_is_in_the_checkpoint(cluster: None, tmp_path: Path, shards: Path, told: Told) -> None:
    """Two epochs on two workers, of which one dies in the first."""
    epoch = ROWS // 32
    config = {"steps": 2 * epoch, "every": EVERY, "fails_at": 60}
    result = fit(TorchTrainer, ray_loops.train, tmp_path, failures=1, data={"train": source(shards)}, **config)
    assert result.error is None
    first, checkpoint = sorted({line["step"] for line in told("begins")})
    assert first == 0
    assert checkpoint in (EVERY, 2 * EVERY), "a checkpoint is written beside training"
    lives = {line["pid"]: line["step"] for line in told("begins")}
    kept = [line for line in told("step") if lives[line["pid"]] == checkpoint or line["step"] <= checkpoint]
    for number in range(2):
        lines = [line for line in kept if (line["step"] - 1) // epoch == number]
        assert sorted(i for line in lines for i in line["ids"]) == list(range(ROWS))
    (ends, other) = told("ends")
    assert ends["engine"] == other["engine"]
    assert (ends["steps_of_an_epoch"], ends["rows"]) == (epoch, ROWS)


def test_forms(cluster: None, tmp_path: Path, shards: Path, told: Told) -> None:
    theirs = ray.data.range(100)
    data = {"train": source(shards), "whole": shardfeed.ray.Source(str(shards), columns=["id"], shuffle=False), "theirs": theirs}
    fit(TorchTrainer, ray_loops.forms, tmp_path, data=data)
    for kind in ("rows", "loader"):
        assert sorted(i for line in told(kind) for i in line["ids"]) == list(range(ROWS)), kind
    for form, kind in [("numpy", "dict"), ("pandas", "DataFrame"), ("pyarrow", "Table")]:
        lines = [line for line in told("form") if line["form"] == form]
        assert sorted(i for line in lines for i in line["ids"]) == list(range(ROWS)), form
        assert {line["type"] for line in lines} == {kind}
    for rank in range(2):
        assert [line["epoch"] for line in told("form") if line["rank"] == rank] == [1, 2, 3]
    assert [line["ids"] for line in told("whole")] == [list(range(ROWS))] * 2
    assert sorted(i for line in told("theirs") for i in line["ids"]) == list(range(100))
    for line in told("refused"):
        assert line["said"]["dtypes"] == "OptionError: dtypes: give cast to the Source, as in cast={'label': 'float32'}"
        assert "shuffle_buffer" in line["said"]["local_shuffle_buffer_size"]
        assert "batch_format must be one of" in line["said"]["batch_format"]
        assert "is streamed in each epoch" in line["said"]["materialize"]
        assert (line["schema"], line["stats"] > 0) == (["id"], True)


def test_tables_and_clouds(cluster: None, tmp_path: Path, told: Told, request: pytest.FixtureRequest) -> None:
    """Two workers begin with each place, and one reads the rest of it."""
    found = of_adapters(request, tmp_path)
    options: dict[str, Any] = {"seed": 7, "with_row_valid": True}
    data = {
        name: shardfeed.ray.Source(place.uri, storage_options=place.options, columns=[place.column], **options)
        for name, place in found.items()
    }
    fit(TorchTrainer, ray_loops.places, tmp_path, data=data, places={name: (place.column, None) for name, place in found.items()}, steps=3)
    begun = told("place")
    states = {line["name"]: (found[line["name"]].column, line["state"]) for line in begun}
    fit(TorchTrainer, ray_loops.places, tmp_path / "rest", workers=1, data=data, places=states, steps=0, told=str(tmp_path / "told"))
    lines = told("place")
    assert len(lines) == 3 * len(found) and all(line["ids"] for line in begun)
    for name, place in found.items():
        assert sorted(i for line in lines if line["name"] == name for i in line["ids"]) == place.ids, name


@pytest.mark.parametrize("ours", [False, True], ids=["without", "with"])
def test_the_job_of_the_page(cluster: None, tmp_path: Path, shards: Path, monkeypatch: pytest.MonkeyPatch, ours: bool) -> None:
    """Three epochs of 32 steps, and a second start at the checkpoint behind step 20."""
    (diff,) = blocks("ray.md", "diff")
    text = patched(job("ray.md", "# Ray"), diff) if ours else job("ray.md", "# Ray")
    assert ("ray.data" in text) != ours
    monkeypatch.setattr(sys, "argv", ["job.py", str(shards), str(tmp_path / "storage")])
    said = tmp_path / "said"
    here = {"num_workers=8, use_gpu=True": "num_workers=2", "print(f": f"print(file=open({str(said)!r}, 'a'), *[f", 'steps")': 'steps"])'}
    for _ in range(2):
        run_block(text, here)
    first, last = ["epoch 0: 32 steps", "epoch 1: 32 steps", "epoch 2: 32 steps"], f"epoch 2: {12 if ours else 32} steps"
    assert said.read_text().splitlines() == [*first, last]


def run_block(text: str, here: dict[str, str], **names: Any) -> dict[str, Any]:
    """The names that a block of the page leaves, with addresses and numbers of this machine."""
    for there, ours in here.items():
        assert there in text
        text = text.replace(there, ours)
    found = {"__name__": "a block of the page", **names}
    exec(compile(text, "ray.md", "exec"), found)
    return found


def test_ray_data_prepares(cluster: None, tmp_path: Path, shards: Path) -> None:
    """What the page's recipe writes has a page index and groups of the given size, and streams."""
    import ray.data

    (recipe,) = [block for block in blocks("ray.md", "py") if "write_parquet" in block]
    here = {"s3://bucket/raw": str(shards), "s3://bucket/table-1": str(tmp_path / "table"), "20_000": "500", "1_000_000": "2000"}
    run_block(recipe, here, ray=ray, prepare=lambda batch: {**batch, "double": 2 * batch["id"]})
    files = [pq.ParquetFile(path) for path in (tmp_path / "table").glob("*.parquet")]
    groups = [file.metadata.row_group(i) for file in files for i in range(file.num_row_groups)]
    assert all(group.num_rows <= 500 and group.column(0).has_column_index and group.column(0).has_offset_index for group in groups)
    dataset = shardfeed.StreamingDataset(tmp_path / "table", batch_size=100, columns=["id", "double"])
    pairs = sorted((int(i), int(d)) for batch in dataset for i, d in zip(batch["id"], batch["double"]))
    assert pairs == [(i, 2 * i) for i in range(ROWS)]


def test_actors_read_and_transform(cluster: None, tmp_path: Path, shards: Path) -> None:
    """The page's recipe has the rows of a data set in its order, and continues at any state."""
    (recipe,) = [block for block in blocks("ray.md", "py") if "class Reader" in block]
    names = run_block(recipe, {"num_cpus=2": "num_cpus=1"}, ray=ray, shardfeed=shardfeed, transform=lambda batch: np.asarray(batch["id"]))
    options = {"batch_size": 64, "columns": ["id"], "seed": 7, "rank": 1, "world_size": 2}
    want = [batch["id"].tolist() for batch in shardfeed.StreamingDataset(str(shards), **options)]
    made = list(names["batches"](names["Reader"].remote(str(shards), **options)))
    assert [ids.tolist() for ids, _ in made] == want
    rest = names["batches"](names["Reader"].remote(str(shards), state=made[9][1], **options))
    assert [ids.tolist() for ids, _ in rest] == want[10:]


def test_each_loop_is_an_epoch(runtime: Path, shards: Path) -> None:
    """As with Ray, what a method returns can be iterated again."""
    shard = shardfeed.ray.Shard(source(shards), 0, 1)
    for batches, ids in [
        (shard.iter_torch_batches(batch_size=100), lambda batch: batch["id"].tolist()),
        (shard.iter_batches(batch_size=100), lambda batch: batch["id"].tolist()),
        (shard.iter_rows(), lambda row: [row["id"]]),
    ]:
        one, other = ([i for batch in batches for i in ids(batch)] for _ in range(2))
        assert sorted(one) == sorted(other) == list(range(ROWS))
        assert one != other
    assert shard.state_dict()["shardfeed"]["epoch"] == 6


def test_bad_arguments_are_errors_at_once(runtime: Path, shards: Path) -> None:
    from ray.data.collate_fn import NumpyBatchCollateFn

    class Theirs(NumpyBatchCollateFn):
        def __call__(self, batch: Any) -> Any:
            return batch

    shard = shardfeed.ray.Shard(source(shards), 0, 1)
    with pytest.raises(errors.OptionError, match="a function of a dict of tensors, got Ray's Theirs"):
        shard.iter_torch_batches(collate_fn=Theirs())
    with pytest.raises(errors.OptionError, match="batch_size must be"):
        shard.iter_torch_batches(batch_size=0)
    with pytest.raises(errors.OptionError, match="batch_size must be"):
        shard.iter_batches(batch_size=0)


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        ([], {}, "needs uri"),
        (["x"], {"batch_size": 4}, "batch_size: give it to iter_torch_batches"),
        (["x"], {"rank": 0, "world_size": 2}, "Ray Train says which rank"),
        (["x"], {"colums": ["id"]}, "did you mean 'columns'"),
    ],
)
def test_arguments_of_a_source(arguments: list[str], options: dict[str, Any], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        shardfeed.ray.Source(*arguments, **options)


def test_rays_own_config_says_what_is_missing(shards: Path) -> None:
    with pytest.raises(errors.OptionError, match=r"dataset_config=shardfeed\.ray\.DataConfig\(\)"):
        DataConfig().configure({"train": source(shards)}, 2, None, None)
