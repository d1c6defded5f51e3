"""Torch workers on the real engine: the same batches for any number of them, epochs, and states."""

from __future__ import annotations

import inspect
import itertools
import json
import pickle
import sys
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader  # noqa: E402
from torchdata.stateful_dataloader import StatefulDataLoader  # noqa: E402

import shardfeed.torch  # noqa: E402
from shardfeed import errors  # noqa: E402
from shardfeed.torch import StreamingDataset  # noqa: E402
from shardfeed.torch._workers import _torch_worker  # noqa: E402
from shardfeed.torch._workers._torch_worker import Worker  # noqa: E402

ROWS, STEPS = 4000, 32

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


@pytest.fixture(scope="module", autouse=True)
def one_engine(runtime: Path, shards: Path):
    """One engine for the module: a data set that stays open keeps it."""
    dataset = StreamingDataset(shards, batch_size=1, cache=False)
    yield
    del dataset


def open_shards(shards: Path, batch_size: int | None = 128, **given) -> StreamingDataset:
    return StreamingDataset(shards, batch_size=batch_size, **({"cache": False, "seed": 7, "shuffle_buffer": 1000} | given))


def ids(batches) -> list[list[int]]:
    return [batch["id"].tolist() for batch in batches]


@pytest.fixture(scope="module")
def epochs(one_engine, shards) -> list[list[list[int]]]:
    """What the epochs of open_shards are."""
    dataset = open_shards(shards)
    return [ids(dataset) for _ in range(4)]


@pytest.mark.parametrize("workers, given", [(1, {}), (2, {}), (3, {"persistent_workers": True})])
def test_the_same_for_any_number_of_workers(shards, epochs, workers, given):
    dataset = open_shards(shards)
    loader = DataLoader(dataset, batch_size=None, num_workers=workers, **given)
    assert len(loader) == STEPS
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*Length of IterableDataset.*")
        assert ids(loader) == epochs[0]
        assert ids(loader) == epochs[1], "the next iteration is the next epoch"
        for batch in loader:  # left after one batch
            assert batch["id"].tolist() == epochs[2][0]
            break
        assert ids(loader) == epochs[3], "an epoch that was left is used up"
        dataset.set_epoch(1)
        assert ids(loader) == epochs[1], "reaches workers that persist too"


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_that_are_not_forked(shards, epochs, method):
    dataset = open_shards(shards)
    loader = DataLoader(dataset, batch_size=None, num_workers=2, multiprocessing_context=method, persistent_workers=True)
    assert ids(loader) == epochs[0]
    dataset.set_epoch(2)
    assert ids(loader) == epochs[2]


def with_imports(batch):
    return {**batch, "imported": torch.tensor("torch.nested._internal.nested_tensor" in sys.modules)}


def test_nothing_is_imported_where_tensors_are_sent(shards):
    """The thread that sends them imports nothing: an import can fail there, and the batch would be
    lost.
    """
    assert "torch.nested._internal.nested_tensor" in inspect.getsource(torch.multiprocessing.reductions.reduce_tensor)
    dataset = StreamingDataset(shards, batch_size=100).map(with_imports)
    loader = DataLoader(dataset, batch_size=None, num_workers=1, multiprocessing_context="spawn")
    assert all(batch["imported"] for batch in loader)


def test_columns_through_workers(shards):
    for batch in DataLoader(open_shards(shards), batch_size=None, num_workers=2):
        assert batch["text"].tolist() == [f"row {i}" for i in batch["id"]]
        assert batch["tokens"].tolist() == [list(range(i, i + i % 5)) for i in batch["id"].tolist()]
        assert torch.equal(batch["x"], batch["id"].float() / 2) and batch["label"].dtype == torch.int32


@pytest.mark.parametrize("steps, workers", [(2, 4), (5, 2), (1, 3)])
def test_fewer_steps_than_workers(shards, steps, workers):
    size = -(-ROWS // steps)
    loader = DataLoader(open_shards(shards, size), batch_size=None, num_workers=workers)
    assert len(loader) == steps
    assert ids(loader) == ids(open_shards(shards, size))


def test_ranks_with_workers(shards):
    seen = []
    for rank in range(3):
        dataset = open_shards(shards, rank=rank, world_size=3, with_row_valid=True)
        alone = list(open_shards(shards, rank=rank, world_size=3))
        batches = list(DataLoader(dataset, batch_size=None, num_workers=2))
        assert ids(batches) == ids(alone) and len(batches) == len(dataset)
        assert all(batch["_row_valid"].dtype == torch.bool for batch in batches)
        seen += [i for batch in batches for i in batch["id"][batch["_row_valid"]].tolist()]
    assert sorted(seen) == list(range(ROWS))


def test_rows_through_workers(shards):
    loader = DataLoader(open_shards(shards, None), batch_size=50, num_workers=2, collate_fn=lambda rows: [int(r["id"]) for r in rows])
    assert sorted(i for batch in loader for i in batch) == list(range(ROWS))


def test_random_transforms_do_the_same_in_workers(shards):
    dataset = open_shards(shards).map(_noise, random=True)
    want = [batch["noise"] for batch in dataset]
    assert not torch.equal(want[0], want[1])
    for workers in (0, 3):
        dataset.set_epoch(0)
        got = [batch["noise"] for batch in DataLoader(dataset, batch_size=None, num_workers=workers)]
        assert all(torch.equal(a, b) for a, b in zip(got, want))


def _noise(batch, generator):
    return {"id": batch["id"], "noise": torch.rand(3, generator=generator)}


# States


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.long), 3])
@pytest.mark.parametrize("after", [pytest.param(0, marks=pytest.mark.long), 1, pytest.param(2, marks=pytest.mark.long), 17, 31, 32])
def test_state_of_a_stateful_loader(shards, epochs, workers, after):
    sequence = [batch for epoch in epochs for batch in epoch]
    loader = StatefulDataLoader(open_shards(shards), batch_size=None, num_workers=workers)
    assert ids(loader) == epochs[0]
    batches = iter(loader)
    taken = [next(batches) for _ in range(after)]
    assert ids(taken) == epochs[1][:after]
    state = pickle.loads(pickle.dumps(loader.state_dict()))
    del batches, loader
    again = StatefulDataLoader(open_shards(shards), batch_size=None, num_workers=workers)
    again.load_state_dict(state)
    seen = ids(again)
    if workers:
        assert len(seen) == STEPS - after, "nothing is left of the epoch after its last batch"
    seen += ids(again)
    assert seen == sequence[STEPS + after : STEPS + after + len(seen)] and len(seen) >= STEPS


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("persistent", [False, True])
def test_state_of_a_finished_epoch(shards, epochs, workers, persistent):
    given = {"num_workers": workers, "persistent_workers": persistent and workers > 0}
    loader = StatefulDataLoader(open_shards(shards), batch_size=None, **given)
    assert ids(loader) == epochs[0]
    state = loader.state_dict()
    again = StatefulDataLoader(open_shards(shards), batch_size=None, **given)
    again.load_state_dict(state)
    assert ids(again) == epochs[1]
    assert ids(again) == epochs[2]


def row_ids(rows):
    return [int(row["id"]) for row in rows]


@pytest.mark.parametrize(("size", "workers"), [(30, 2), (7, 3)])
def test_batches_of_rows_resume_after_any_batch(shards, size, workers):
    """A worker takes several rows in a row for a batch, so that workers stand apart."""

    def make():
        dataset = StreamingDataset(shards, batch_size=None, columns=["id"], cache=False, seed=4)
        return StatefulDataLoader(dataset, batch_size=size, num_workers=workers, collate_fn=row_ids)

    whole = list(make())
    for taken in (1, 2, 3, 5, len(whole) - 1, len(whole)):
        batches = iter(loader := make())
        seen = list(itertools.islice(batches, taken))
        state = pickle.loads(pickle.dumps(loader.state_dict()))
        del batches
        resumed = make()
        resumed.load_state_dict(state)
        assert seen + list(resumed) == whole
        if taken == 3:
            assert sorted(n for batch in resumed for n in batch) == list(range(4000)), "the next epoch"


def test_a_restored_worker_begins_at_once(shards, monkeypatch):
    """Workers that restore a finished epoch may be replaced at once, and their successors find it
    used up.
    """
    worker = Worker(0, 1, "loader")
    monkeypatch.setattr(_torch_worker, "current", lambda: worker)
    dataset = open_shards(shards)
    batches = iter(dataset)
    assert batches.place is None, "until all workers are there, each sees the same epoch"
    state = dataset.state_dict()
    assert state["worker"] == {"worker": 0, "workers": 1, "next": 0}
    next(batches)
    assert dataset.state_dict()["worker"]["next"] == 128
    dataset.load_state_dict(state)
    again = iter(dataset)
    assert again.place is not None and again.place.epoch == 0
    with pytest.raises(StopIteration):
        next(batches)


def test_state_of_a_stateful_loader_on_more_ranks(shards):
    whole = [i for batch in open_shards(shards, 100, max_world_size=2) for i in batch["id"].tolist()]
    loader = StatefulDataLoader(open_shards(shards, 100, max_world_size=2), batch_size=None, num_workers=2)
    batches = iter(loader)
    for _ in range(8):
        next(batches)
    state = loader.state_dict()
    seen = []
    for rank in range(2):
        dataset = open_shards(shards, 100, rank=rank, world_size=2, max_world_size=2, with_row_valid=True)
        again = StatefulDataLoader(dataset, batch_size=None, num_workers=2)
        again.load_state_dict(state)
        seen += [i for batch in again for i in batch["id"][batch["_row_valid"]].tolist()]
    assert sorted(seen) == sorted(whole[800:])


def test_state_in_workers_is_refused_elsewhere(shards):
    dataset = open_shards(shards)
    next(iter(DataLoader(dataset, batch_size=None, num_workers=2)))
    with pytest.raises(errors.StateError, match=r"shardfeed\.torch\.DataLoader, or torchdata's StatefulDataLoader"):
        dataset.state_dict()
    loader = StatefulDataLoader(dataset, batch_size=None, num_workers=2)
    next(iter(loader))
    part = loader.state_dict()["_snapshot"]["_worker_snapshots"]["worker_0"]["dataset_state"]
    with pytest.raises(errors.StateError, match="one of 2 torch workers, and this process is not a torch worker"):
        dataset.load_state_dict(part)


@pytest.mark.parametrize("before, after", [(0, 2), (2, 0), (3, 2)])
def test_state_of_the_own_loader(shards, epochs, before, after):
    loader = shardfeed.torch.DataLoader(open_shards(shards), num_workers=before)
    batches = iter(loader)
    taken = [next(batches) for _ in range(7)]
    assert ids(taken) == epochs[0][:7]
    state = json.loads(json.dumps(loader.state_dict()))
    again = shardfeed.torch.DataLoader(open_shards(shards), num_workers=after, persistent_workers=after > 0)
    again.load_state_dict(state)
    assert again.state_dict() == state and len(again) == STEPS
    assert ids(again) == epochs[0][7:]
    assert ids(again) == epochs[1]
    again.load_state_dict(state)
    assert ids(again) == epochs[0][7:], "workers that persist are made anew"


def test_batches_of_batches_are_refused(shards):
    for workers in (0, 2):
        for given in ({}, {"batch_size": 8, "drop_last": True}):
            with pytest.raises(errors.OptionError, match="batch_size=None"):
                next(iter(DataLoader(open_shards(shards), num_workers=workers, **given)))


def test_errors_in_workers_arrive_whole(tmp_path, shards):
    good = (shards / "part-0.parquet").read_bytes()
    (tmp_path / "bad.parquet").write_bytes(good[:1000] + bytes(500) + good[1500:])
    with pytest.raises(errors.DataError, match=r"bad\.parquet"):
        list(DataLoader(StreamingDataset(tmp_path, batch_size=10, cache=False), batch_size=None, num_workers=2))
