"""Trainings on two ranks, from real servers through the cache, that are killed and resumed within
an epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from ranks import Job, assert_sequence, epoch_order, flat, steps
from servers import HDFS, S3, Storage, hdfs, s3  # noqa: F401 - fixtures

ROWS = 4000
BATCH = 40
RANKS = 2
SEED = 7

pytestmark = pytest.mark.timeout(900)  # what a training takes at most is in ranks.py


@dataclass
class Place:
    """Where a training reads from, and where it leaves what it wrote."""

    uri: str
    environment: dict[str, str]
    directory: Path

    @property
    def cache(self) -> Path:
        return self.directory / "cache"

    def job(self, name: str, run: str, *arguments: object, ranks: int = RANKS) -> Job:
        environment = {**self.environment, "SHARDFEED_CACHE_DIR": str(self.cache)}
        checkpoint = self.directory / "checkpoint"
        given = ["--batch-size", BATCH, "--seed", SEED, *arguments]
        return Job(name, ranks, self.directory / run, self.uri, checkpoint, *given, **environment)


@pytest.fixture
def place(request: pytest.FixtureRequest, runtime: Path, shards: Path, tmp_path: Path) -> Place:
    if request.param == "local":
        return Place(str(shards), {}, tmp_path)
    storage: Storage = request.getfixturevalue(request.param)
    return Place(storage.put(shards), storage.environment, tmp_path)


def on(*servers: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("place", servers, indirect=True)


@pytest.fixture(scope="module")
def order(runtime: Path, shards: Path) -> list[int]:
    """The rows of the first epoch, in the order of a process that trains alone."""
    return epoch_order(shards, BATCH, SEED, RANKS)


def killed_and_resumed(place: Place, name: str, order: list[int], *arguments: object, ranks: int = RANKS) -> None:
    """Trains, kills all ranks after some steps, and resumes.

    The steps of the first run before its checkpoint and those of the second run are each row once,
    in the order of a run without a kill. The second run reads from the cache.
    """
    with place.job(name, "first", *arguments) as job:
        job.until("step", RANKS * 17)
        job.kill()
    with place.job(name, "second", *arguments, ranks=ranks) as again:
        again.wait()
    (checkpoint,) = {line["step"] for line in again.lines("resumed")}
    kept = steps([line for line in job.lines("step") if line["step"] < checkpoint], RANKS)
    rest = steps(again.lines("step"), ranks)
    assert kept and rest
    assert sorted(flat(kept) + flat(rest)) == list(range(ROWS))
    assert_sequence(kept + rest, order)
    done = [line["stats"]["cache"] for line in again.lines("done")]
    assert len(done) == ranks
    used = [cache["hit_bytes"] + cache["decoded_hit_bytes"] for cache in done]  # encoded, or kept decoded by the first run
    assert all(used) and all(cache["directory"] == str(place.cache) for cache in done), done


@on("hdfs")
def test_own_loader(place: Place, order: list[int]) -> None:
    killed_and_resumed(place, "train.py", order)


@on("s3")
def test_own_loader_goes_on_with_more_ranks(place: Place, order: list[int]) -> None:
    killed_and_resumed(place, "train.py", order, ranks=3)


@pytest.mark.long
@on("s3")
def test_own_loader_with_workers(place: Place, order: list[int]) -> None:
    killed_and_resumed(place, "train.py", order, "--loader", "own-2")


@on("s3")
@pytest.mark.parametrize("workers", [pytest.param(0, marks=pytest.mark.long), 2])
def test_stateful_data_loader(place: Place, order: list[int], workers: int) -> None:
    killed_and_resumed(place, "train.py", order, "--loader", f"stateful-{workers}")


@on("hdfs")
def test_checkpoints_of_torch(place: Place, order: list[int]) -> None:
    killed_and_resumed(place, "train_dcp.py", order)


@on("s3")
@pytest.mark.parametrize("loader", ["own", pytest.param("prepared", marks=pytest.mark.long)])
def test_accelerate(place: Place, order: list[int], loader: str) -> None:
    killed_and_resumed(place, "train_accelerate.py", order, "--loader", loader)


@on("local")
def test_accelerate_is_kept_from_splitting_again(place: Place) -> None:
    with place.job("train_accelerate.py", "run", "--loader", "split") as job:
        job.wait()
    told = job.lines("error")
    assert len(told) == RANKS and all("accelerator.prepare" in line["text"] for line in told), told


@on("s3")
def test_lightning(place: Place, order: list[int]) -> None:
    killed_and_resumed(place, "train_lightning.py", order)


@on("s3")
def test_transformers(place: Place, order: list[int]) -> None:
    killed_and_resumed(place, "train_transformers.py", order)
