"""Agreement of ranks through the store of a process group."""

from __future__ import annotations

import itertools
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest
from meetings import attend, goers, meet  # noqa: F401 - a fixture

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402

from shardfeed import PaddingWarning, errors  # noqa: E402
from shardfeed.torch import StreamingDataset  # noqa: E402
from shardfeed.torch._ranks import _agree, _meeting  # noqa: E402

PRINT = {"data": "abc", "seed": "1", "batch_size": "64"}


def compare(prints, *, store=None, timeout: float | None = 60.0):
    """What compare raises on each rank; a rank of None does not come."""

    def part(meeting):
        if prints[meeting.rank] is not None:
            _agree.compare(meeting, prints[meeting.rank])

    return meet(store or dist.HashStore(), len(prints), part, timeout=timeout)


@pytest.mark.usefixtures("goers")
@pytest.mark.parametrize("world", [2, 3, 9])
def test_ranks_that_agree(world):
    store = dist.HashStore()
    for _ in range(3):
        assert compare([PRINT] * world, store=store, timeout=None) == [None] * world


@pytest.mark.usefixtures("goers")
def test_a_difference_fails_every_rank():
    found = compare([PRINT, PRINT, {**PRINT, "seed": "2"}, PRINT | {"extra": "x"}])
    for error in found:
        assert isinstance(error, errors.RankMismatchError)
        assert "train.py:3#1" in str(error) and "seed: 1 on ranks 0, 1, 3, 2 on rank 2" in str(error)
        assert error.details == ("extra: nothing on ranks 0, 1, 2, x on rank 3", "seed: 1 on ranks 0, 1, 3, 2 on rank 2")


@pytest.mark.usefixtures("goers")
def test_unlike_decoders_say_what_to_do():
    for error in compare([PRINT | {"image_decoder": "turbo"}, PRINT | {"image_decoder": "go"}]):
        assert "image_decoder: turbo on rank 0, go on rank 1 (libjpeg-turbo is not on all machines" in str(error)
    for error in compare([PRINT | {"image_decoder": "turbo", "seed": "3"}, PRINT | {"image_decoder": "go"}]):
        assert "libjpeg-turbo" not in str(error)


@pytest.mark.usefixtures("goers")
def test_ranks_that_do_not_come_are_named():
    found = compare([PRINT, None, PRINT, None], timeout=0.5)
    for error in (found[0], found[2]):
        assert isinstance(error, TimeoutError) and "ranks 1, 3 of 4" in str(error)


@pytest.mark.usefixtures("goers")
def test_the_first_rank_does_not_come(monkeypatch):
    monkeypatch.setattr(_meeting, "_GRACE", 0.2)
    found = compare([None, PRINT], timeout=0.2)
    assert isinstance(found[1], errors.FeedTimeoutError) and "rank 0" in str(found[1])


@pytest.mark.usefixtures("goers")
@pytest.mark.parametrize("failed", [0, 2])
def test_a_rank_that_cannot_begin_fails_the_others(failed):
    store = dist.HashStore()
    attend(store, failed, 3).leave(ValueError("no such\nfile"))
    prints = [None if r == failed else PRINT for r in range(3)]
    for rank, error in enumerate(compare(prints, store=store)):
        if rank != failed:
            assert isinstance(error, errors.RankMismatchError) and f"rank {failed} could not begin: no such" in str(error)


def test_without_a_process_group_nothing_is_compared():
    assert _agree.meeting("here", 0, 1, 1.0) is None
    assert _agree.meeting("here", 1, 2, 1.0) is None


def test_the_first_iteration_compares(job, shards, monkeypatch):
    store = dist.HashStore()
    monkeypatch.setattr(_agree, "_store", lambda world_size: store)
    ranks = [StreamingDataset(shards, batch_size=64, cache=False, rank=r, world_size=2, seed=s, timeout=60) for r, s in ((0, 1), (1, 2))]
    for dataset in ranks:
        dataset._agree = "the same"

    def first(dataset):
        try:
            return next(iter(dataset))
        except errors.RankMismatchError as e:
            return str(e)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(first, ranks))
    assert all("seed: " in text and "1 on rank 0" in text and "2 on rank 1" in text for text in found), found


def test_any_error_of_a_rank_fails_the_others(job, shards, monkeypatch):
    """Such as a warning that the program made an error: rank 0 warns of padding."""
    store = dist.HashStore()
    monkeypatch.setattr(_agree, "_store", lambda world_size: store)
    ranks = [StreamingDataset(shards, batch_size=96, cache=False, rank=rank, world_size=2, timeout=60) for rank in range(2)]
    ranks[1]._agree = ranks[0]._agree

    def first(dataset):
        try:
            return next(iter(dataset))
        except Exception as e:
            return e

    with warnings.catch_warnings(), ThreadPoolExecutor(2) as pool:
        warnings.simplefilter("error", PaddingWarning)
        found = list(pool.map(first, ranks))
    assert isinstance(found[0], PaddingWarning), found
    assert isinstance(found[1], errors.RankMismatchError) and "rank 0 could not begin: shardfeed: the last of" in str(found[1])


class Place:
    """Where an iteration stands, as BatchIterator has it."""

    def __init__(self, epoch: int, position: int):
        self.epoch, self.position = epoch, position


class World:
    """Two ranks that begin epochs of 1,000 rows in steps of 20."""

    def __init__(self) -> None:
        self.store = dist.HashStore()
        self.courses = [_agree.Course(), _agree.Course()]
        self.places: list[Place | None] = [None, None]

    def begins(self, rank: int, epoch: int) -> None:
        joined = {"epoch": epoch, "state": {"rows": 1000}, "fingerprint": {"batch_size": "10"}}
        self.courses[rank].compare(self.store, "train.py:3#1", joined, self.places[rank], rank, 2)
        self.places[rank] = Place(epoch, 0)

    def takes(self, rank: int, rows: int) -> None:
        place = self.places[rank]
        assert place is not None
        place.epoch, place.position = (place.epoch + 1, 0) if rows == 1000 else (place.epoch, rows)


@pytest.mark.parametrize("first", [0, 1])
def test_a_rank_that_looked_at_a_batch_is_an_epoch_ahead(first: int) -> None:
    world = World()
    world.begins(0, 0)
    world.takes(0, 20)
    world.begins(0, 1)
    world.begins(1, 0)
    for rank in range(2):
        world.takes(rank, 1000)
    world.begins(first, 2 - first)
    with pytest.raises(errors.RankMismatchError, match=r"epoch: 2 on rank 0, 1 on rank 1; of epoch 0 rank 0 took 20 rows and rank 1 1000"):
        world.begins(1 - first, 1 + first)


@pytest.mark.parametrize("rows", [(1000, 1000), (500, 500), (480, 520)], ids=str)
def test_ranks_that_take_the_same_may_begin_at_any_time(rows: tuple[int, int]) -> None:
    world = World()
    for epoch in range(6):
        for rank in range(2):
            world.begins(rank, epoch)
            world.takes(rank, rows[rank])


def test_a_look_before_an_epoch_that_is_set() -> None:
    world = World()
    world.begins(0, 0)
    world.takes(0, 20)
    for epoch in range(3):
        for rank in (1, 0):
            world.begins(rank, epoch)
        for rank in (1, 0):
            world.takes(rank, 1000)


def test_ranks_in_different_epochs_through_data_sets(job, shards, monkeypatch):
    """Each rank has an engine of its own, as on a node of its own."""
    store = dist.HashStore()
    monkeypatch.setattr(_agree, "_store", lambda world_size: store)
    ranks = []
    for rank in range(2):
        monkeypatch.setenv("SHARDFEED_JOB", f"{job} {rank}")
        ranks.append(StreamingDataset(shards, batch_size=64, cache=False, rank=rank, world_size=2, timeout=60))
        ranks[rank]._agree = "the same"

    def run(rank, epochs):
        try:
            if rank == 0:
                next(iter(ranks[0]))
            for _ in range(epochs):
                list(ranks[rank])
        except errors.RankMismatchError as e:
            return str(e)
        return ""

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, range(2), (1, 1))) == ["", ""]
        found = list(pool.map(run, (1, 0), (1, 1)))
    assert any("on rank 0" in text and "take the same batches on every rank" in text for text in found), found


def test_ranks_of_one_node_in_different_epochs(job, shards):
    """The engine compares them, without a process group, and in the epoch itself."""
    ranks = [StreamingDataset(shards, batch_size=8, cache=False, slots=4, rank=rank, world_size=2, timeout=60) for rank in range(2)]
    ranks[1]._agree = ranks[0]._agree
    next(iter(ranks[0]))

    def run(rank):
        with pytest.raises(errors.RankMismatchError, match="epoch: 1 on rank 0, 0 on rank 1") as caught:
            for batch in itertools.chain(ranks[rank], ranks[rank]):  # slowly: the other rank may come late
                del batch
                time.sleep(0.01)
        return caught.value.details

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, range(2))) == [("epoch: 1 on rank 0, 0 on rank 1",)] * 2
