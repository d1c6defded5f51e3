"""Epochs under torch's loaders: each is read once in its order, of mapped and copied data sets,
also after a resume.
"""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torchdata.stateful_dataloader import StatefulDataLoader  # noqa: E402

import shardfeed.torch  # noqa: E402
from shardfeed.torch import StreamingDataset  # noqa: E402

STEPS = 16

pytestmark = [pytest.mark.filterwarnings("ignore:This DataLoader will create"), pytest.mark.usefixtures("runtime")]


def open_shards(shards: Path) -> StreamingDataset:
    return StreamingDataset(shards, batch_size=250, columns=["id"], cache=False, seed=3, shuffle_buffer=1000)


@pytest.fixture(scope="module")
def epochs(runtime: Path, shards: Path) -> list[list[list[int]]]:
    """The order of epochs 0 to 3."""
    dataset = open_shards(shards)
    return [ids(dataset) for _ in range(4)]


def ids(batches: Any) -> list[list[int]]:
    return [batch["id"].tolist() for batch in batches]


def same(batch: Any) -> Any:
    return batch


CHANGES: dict[str, Callable[[StreamingDataset], StreamingDataset]] = {
    "plain": same,
    "map": lambda dataset: dataset.map(same),
    "with_valid": lambda dataset: dataset.with_valid("id"),
    "both": lambda dataset: dataset.map(same).with_valid("id").map(same),
    "deepcopy": copy.deepcopy,
    "pickle": lambda dataset: pickle.loads(pickle.dumps(dataset)),
}

LOADERS: dict[str, Callable[..., Any]] = {
    "torch": lambda dataset, **given: torch.utils.data.DataLoader(dataset, batch_size=None, **given),
    "torchdata": lambda dataset, **given: StatefulDataLoader(dataset, batch_size=None, **given),
    "own": shardfeed.torch.DataLoader,
}

WORKERS = {
    "no workers": {"num_workers": 0},
    "workers": {"num_workers": 2},
    "persistent workers": {"num_workers": 2, "persistent_workers": True},
}

CASES = [pytest.param(*case, id=", ".join(case)) for case in itertools.product(CHANGES, LOADERS, WORKERS)]


def open_loader(shards: Path, change: str, kind: str, workers: str) -> tuple[StreamingDataset, Any]:
    dataset = CHANGES[change](open_shards(shards))
    return dataset, LOADERS[kind](dataset, **WORKERS[workers])


@pytest.mark.parametrize(("change", "kind", "workers"), CASES)
def test_each_iteration_is_the_next_epoch(shards, epochs, change, kind, workers):
    _, loader = open_loader(shards, change, kind, workers)
    assert [ids(loader) for _ in range(3)] == epochs[:3]


@pytest.mark.parametrize(
    ("change", "kind", "workers"),
    [pytest.param(*c.values, id=c.id, marks=pytest.mark.long if c.values[0] in ("both", "deepcopy") else ()) for c in CASES],
)
def test_a_resume_goes_on_to_the_next_epochs(shards, epochs, change, kind, workers):
    state = pickle.dumps(stopped_in_epoch_1(shards, epochs, change, kind, workers))
    dataset, loader = open_loader(shards, change, kind, workers)
    (dataset if kind == "torch" else loader).load_state_dict(pickle.loads(state))
    assert ids(loader) == epochs[1][5:]
    assert [ids(loader) for _ in range(2)] == epochs[2:4]


def stopped_in_epoch_1(shards: Path, epochs: list[list[list[int]]], change: str, kind: str, workers: str) -> Any:
    """The state after five steps of epoch 1.

    For torch's own loader it is the data set's, without workers.
    """
    dataset, loader = open_loader(shards, change, kind, "no workers" if kind == "torch" else workers)
    assert ids(loader) == epochs[0]
    batches = iter(loader)
    assert ids(itertools.islice(batches, 5)) == epochs[1][:5]
    return (dataset if kind == "torch" else loader).state_dict()


def test_a_spawned_process_leaves_the_epochs_to_its_parent(shards, epochs):
    dataset = open_shards(shards).map(same)
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=1, multiprocessing_context="spawn")
    assert [ids(loader) for _ in range(2)] == epochs[:2]


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("kind", ["torchdata", "own"])
def test_a_state_of_the_last_step_resumes_at_the_epoch_that_is_set(shards, epochs, kind, workers):
    """A training counts on from the next epoch, or from the one that is done."""
    dataset, loader = open_loader(shards, "plain", kind, workers)
    batches = iter(loader)
    assert ids(itertools.islice(batches, STEPS)) == epochs[0]
    state = pickle.dumps(loader.state_dict())
    for first in (1, 0):
        dataset, loader = open_loader(shards, "plain", kind, workers)
        loader.load_state_dict(pickle.loads(state))
        passes = []
        for epoch in range(first, 3):
            dataset.set_epoch(epoch)
            passes += ids(loader)
        assert passes == epochs[1] + epochs[2]


@pytest.mark.parametrize("workers", WORKERS)
def test_a_later_epoch_that_is_set_wins_over_a_loaded_position(shards, epochs, workers):
    _, loader = open_loader(shards, "plain", "own", workers)
    assert ids(itertools.islice(loader, 5)) == epochs[0][:5]
    state = loader.state_dict()
    for epoch, expected in ((0, epochs[0][5:]), (1, epochs[1]), (2, epochs[2])):
        _, loader = open_loader(shards, "plain", "own", workers)
        loader.load_state_dict(state)
        loader.set_epoch(epoch)
        assert ids(loader) == expected


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize(("workers", "size"), [(0, 256), (1, 256), (2, 250), (3, 256), (8, 300), (3, 1)])
@pytest.mark.parametrize("kind", ["torch", "torchdata"])
def test_the_length_of_a_loader_of_rows(shards, kind, workers, size, drop_last):
    """Each worker of torch has a last, shorter batch of its own."""
    rows = StreamingDataset(shards / "part-0.parquet", batch_size=None, columns=["id"], cache=False)
    make = torch.utils.data.DataLoader if kind == "torch" else StatefulDataLoader
    loader = make(rows, batch_size=size, num_workers=workers, drop_last=drop_last)
    assert len(loader) == sum(1 for _ in loader)
    assert len(rows) == 1000


def test_epochs_of_different_lengths_have_none(shards):
    dataset = StreamingDataset(shards, batch_size=300, columns=["id"], cache=False, tail="carry")
    for each in (dataset, shardfeed.torch.DataLoader(dataset), torch.utils.data.DataLoader(dataset, batch_size=None)):
        with pytest.raises(TypeError, match=r'a data set with tail="carry" has no len\(\)'):
            len(each)


@pytest.mark.parametrize("resumed", [False, True])
def test_an_epoch_that_is_set_begins_with_the_rows_that_were_carried(shards, resumed):
    """With set_epoch as without it, also after a resume between two epochs."""

    def opened() -> shardfeed.torch.DataLoader:
        return shardfeed.torch.DataLoader(shards, batch_size=300, columns=["id"], cache=False, seed=3, tail="carry")

    plain = opened()
    expected = [ids(plain) for _ in range(4)]
    assert [len(epoch) for epoch in expected] == [13, 13, 14, 13]
    loader, seen = opened(), []
    for epoch in range(4):
        if resumed:
            state = loader.state_dict()
            loader = opened()
            loader.load_state_dict(state)
        loader.set_epoch(epoch)
        seen.append(ids(loader))
    assert seen == expected
    again = opened()
    again.load_state_dict(loader.state_dict())
    again.set_epoch(3)
    assert ids(again) == []
