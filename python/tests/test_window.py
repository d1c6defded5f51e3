"""skip and take: some batches of each epoch, as a slice of them."""

from __future__ import annotations

import warnings
from itertools import islice
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader as TorchLoader
from torchdata.stateful_dataloader import StatefulDataLoader

import shardfeed
import shardfeed.torch
from shardfeed import StreamingDataset, errors

ROWS = 4000


@pytest.fixture(scope="module", autouse=True)
def one_engine(runtime: Path, shards: Path):
    dataset = StreamingDataset(shards, batch_size=1, cache=False)
    yield
    del dataset


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="shardfeed: (skip|the last of)")
        yield


def data(shards: Path, kind=StreamingDataset, batch_size: int | None = 64, **given):
    return kind(shards, batch_size=batch_size, **({"columns": ["id"], "cache": False, "seed": 7, "shuffle_buffer": 1000} | given))


def ids(batches) -> list[list[int]]:
    return [batch["id"].tolist() if hasattr(batch["id"], "tolist") else [batch["id"]] for batch in batches]


@pytest.mark.parametrize("batch_size", [64, None])
@pytest.mark.parametrize("world_size", [1, 3])
@pytest.mark.parametrize("kind", [StreamingDataset, shardfeed.torch.StreamingDataset])
def test_as_a_slice_of_each_epoch(shards, kind, world_size, batch_size):
    width = (batch_size or 1) * world_size
    for rank in range(world_size):

        def whole(rank=rank):
            return data(shards, kind, batch_size, rank=rank, world_size=world_size, tail="drop" if world_size > 1 else None)

        epochs = [ids(epoch) for epoch in [whole()] * 2]
        for some, of in (
            (whole().take(5), slice(0, 5)),
            (whole().skip(7), slice(7, None)),
            (whole().skip(3).take(9).skip(2).take(4), slice(5, 9)),
            (whole().take(10**6), slice(None)),
        ):
            for epoch in epochs:
                assert ids(some) == epoch[of], (of, rank)
            steps = range(len(epochs[0]))[of]
            assert len(some) == len(steps)
            end = ROWS if of.stop is None else (steps[-1] + 1) * width
            assert some.size == end - steps[0] * width


@pytest.mark.parametrize("batch_size", [64, None])
@pytest.mark.parametrize("tail", ["drop", "pad", "short"])
def test_tails(shards, batch_size, tail):
    for rank in range(3):
        given = {"batch_size": batch_size, "tail": tail, "rank": rank, "world_size": 3}
        whole, steps = ids(data(shards, **given)), len(data(shards, **given))
        some = data(shards, **given).skip(steps - 3)
        again = data(shards, **given).skip(steps - 3).take(3)
        last = 2 if batch_size is None and tail == "pad" else 3  # which row is the padding is not in the order
        assert ids(some)[:last] == ids(again)[:last] == whole[steps - 3 :][:last]
        assert len(some) == len(again) == 3


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("batch_size", [64, None])
def test_resume_after_each_batch(shards, batch_size, shuffle):
    def some():
        given = {} if shuffle else {"shuffle_buffer": None}
        return data(shards, batch_size=batch_size, shuffle=shuffle, **given).skip(2).take(4)

    whole = some()
    epochs = [ids(whole), ids(whole)]
    for taken in range(5):
        first = some()
        assert ids(islice(iter(first), taken)) == epochs[0][:taken]
        second = some()
        second.load_state_dict(first.state_dict())
        rest = ids(second)
        assert rest == (epochs[0][taken:] or epochs[1]), taken
        if taken < 4:
            assert ids(second) == epochs[1]
        assert second.state_dict()["shardfeed"]["position"] == 0


def test_a_state_after_the_last_batch_ends_its_epoch(shards):
    some = data(shards).take(4)
    assert len(ids(some)) == 4
    again = data(shards).take(4)
    again.load_state_dict(some.state_dict())
    again.set_epoch(0)
    assert ids(again) == []
    assert ids(again) == ids(some)
    assert some.state_dict() == again.state_dict()


def test_set_epoch(shards):
    whole = data(shards)
    whole.set_epoch(5)
    some = data(shards).skip(1).take(3)
    some.set_epoch(5)
    assert ids(some) == ids(whole)[1:4]


def test_another_number_of_ranks(shards):
    """The rows after the state stay, and the epoch ends with the step in which take ends there."""
    whole = ids(data(shards))
    first = data(shards).take(10)
    assert len(ids(islice(iter(first), 5))) == 5
    state = first.state_dict()
    ranks = [data(shards, rank=rank, world_size=2).take(4) for rank in range(2)]
    rows = []
    for rank in ranks:
        rank.load_state_dict(state)
        rows.append(ids(rank))
    assert len(rows[0]) == len(rows[1]) == 2
    assert sorted(i for each in rows for batch in each for i in batch) == sorted(i for batch in whole[5:9] for i in batch)


@pytest.mark.parametrize("batch_size", [64, None])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_torchs_workers(shards, workers, batch_size):
    def some():
        return data(shards, shardfeed.torch.StreamingDataset, batch_size).skip(3).take(7)

    whole = data(shards, shardfeed.torch.StreamingDataset, batch_size)
    epochs = [ids(whole)[3:10] for _ in range(2)]
    loader = TorchLoader(some(), batch_size=None, num_workers=workers, multiprocessing_context="fork")
    assert len(loader) == 7
    for epoch in epochs:
        assert ids(loader) == epoch
    persistent = TorchLoader(some(), batch_size=None, num_workers=workers, persistent_workers=True, multiprocessing_context="fork")
    for epoch in epochs:
        assert ids(persistent) == epoch


@pytest.mark.parametrize("taken", [0, 1, 4, 6])
def test_torchdatas_workers_resume(shards, taken):
    def loader():
        some = data(shards, shardfeed.torch.StreamingDataset).skip(3).take(7)
        return StatefulDataLoader(some, batch_size=None, num_workers=2, multiprocessing_context="fork")

    first, whole = loader(), ids(data(shards))[3:10]
    it = iter(first)
    assert ids(islice(it, taken)) == whole[:taken]
    state = first.state_dict()
    second = loader()
    second.load_state_dict(state)
    assert ids(second) == whole[taken:]


@pytest.mark.parametrize("given", [{}, {"num_workers": 2}, {"threads": 2}])
@pytest.mark.parametrize("batch_size", [64, None])
def test_loaders(shards, given, batch_size):
    options = {"columns": ["id"], "cache": False, "seed": 7, "shuffle_buffer": 1000}
    whole = ids(data(shards, shardfeed.torch.StreamingDataset, batch_size))
    with (
        shardfeed.torch.DataLoader(shards, batch_size=batch_size, **options, **given) as loader,
        loader.skip(2).take(6).map(tensors) as some,
    ):
        assert len(some) == 6
        assert len(some.dataset) == some.size == 6 * (batch_size or 1)
        it = iter(some)
        assert ids(islice(it, 4)) == whole[2:6]
        state = some.state_dict()
        it.close()
        some.load_state_dict(state)
        assert ids(some) == whole[6:8]
        some.load_state_dict(state)
        assert ids(some) == whole[6:8]


def tensors(batch):
    return {"id": torch.as_tensor(batch["id"])}


def test_it_is_refused(shards):
    whole = data(shards)
    with pytest.raises(errors.OptionError, match=r"^take must be a number of batches of at least 1, got 0$"):
        whole.take(0)
    with pytest.raises(errors.OptionError, match=r"^skip must be a number of batches of at least 0, got -1$"):
        whole.skip(-1)
    with pytest.raises(errors.OptionError, match=r"^take must be a number of batches of at least 1, got 2.5$"):
        whole.take(2.5)
    with pytest.raises(errors.OptionError, match=r"^skip\(63\) leaves nothing of the 63 steps of an epoch: skip fewer$"):
        whole.skip(63)
    with pytest.raises(errors.OptionError, match=r"^skip\(4\) leaves nothing of the 4 batches that take left: skip fewer$"):
        whole.take(4).skip(4)
    with pytest.raises(errors.OptionError, match=r'^tail="carry" moves rows into the next epoch'):
        data(shards, tail="carry").take(4)


def test_a_shuffled_split_is_warned_of(shards):
    with pytest.warns(shardfeed.ShardfeedWarning, match=r"^shardfeed: skip\(3\) of shuffled data skips other rows in each epoch; parts= "):
        data(shards).skip(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data(shards).take(3)
        data(shards, shuffle=False, shuffle_buffer=None).skip(3)


def test_sources(shards):
    def mixture(**given):
        two = {"a": shardfeed.Source(shards, weight=1), "b": shardfeed.Source(shards, weight=2)}
        return StreamingDataset(sources=two, batch_size=60, columns=["id"], cache=False, epoch_size=3000, **given)

    for batching in ("stratified", "per_source"):
        whole, some = mixture(batching=batching), mixture(batching=batching).skip(4).take(5)
        for _ in range(2):
            assert ids(some) == ids(whole)[4:9]
        assert len(some) == 5 and some.size == 300
