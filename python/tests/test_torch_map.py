"""DataLoader over a MapDataset: samplers, exclusions, resume; and torch's own DataLoader over it."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

from shardfeed import MapDataset, errors, samplers  # noqa: E402
from shardfeed.torch import Batch, DataLoader, MapLoader  # noqa: E402

pytestmark = pytest.mark.usefixtures("job")

ROWS = 4000


@pytest.fixture
def dataset(shards: Path) -> Iterator[MapDataset]:
    made = MapDataset(shards, columns=["id", "x", "text"])
    yield made
    made._forget()  # pytest keeps it beyond the end of the engines


def ids(batch: Any) -> list[int]:
    return list(torch.atleast_1d(batch["id"]).tolist())


def read(loader: Any) -> list[list[int]]:
    return [ids(batch) for batch in loader]


def flat(batches: list[list[int]]) -> list[int]:
    return list(itertools.chain.from_iterable(batches))


ORDERS: dict[str, dict[str, Any]] = {
    "all": {"batch_size": 300},
    "drop_last": {"batch_size": 300, "drop_last": True},
    "shuffle": {"batch_size": 300, "shuffle": True},
    "sampler": {"batch_size": 7, "sampler": data.SubsetRandomSampler(range(0, 40, 2))},
    "list": {"batch_size": 3, "sampler": [5, 4, 4, 3999, -1]},
    "weighted": {"batch_size": 50, "sampler": data.WeightedRandomSampler([1.0] * 100, 120)},
    "batch_sampler": {"batch_sampler": data.BatchSampler(data.SequentialSampler(range(100)), 30, False)},
    "lists": {"batch_sampler": [[1], [2, 3], []]},
    "single": {"batch_size": None, "sampler": [5, 3]},
    "lists as a sampler": {"batch_size": None, "sampler": [[5, 3], [1]]},
    "distributed": {"batch_size": 400, "sampler": data.DistributedSampler(range(ROWS), 3, 1, shuffle=True)},
}


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("workers", [0, 2])
def test_rows_are_those_of_torch(dataset: MapDataset, name: str, workers: int) -> None:
    """As many batches, of the same rows, as torch's own loader has; in the same order unless the order is random."""
    if workers and name not in ("shuffle", "batch_sampler", "single"):
        pytest.skip("a few are enough with processes")
    order = ORDERS[name]
    ours = DataLoader(dataset, num_workers=workers, **order)
    assert isinstance(ours, MapLoader) and len(ours) == len(data.DataLoader(range(ROWS), **order))  # type: ignore[arg-type]
    torch.manual_seed(1)
    got = read(ours)
    torch.manual_seed(1)
    want = [torch.atleast_1d(torch.as_tensor(batch)).tolist() for batch in data.DataLoader(Numbers(), collate_fn=list_of, **order)]
    assert [len(batch) for batch in got] == [len(batch) for batch in want]
    if name in ("shuffle", "sampler", "weighted"):
        assert name == "weighted" or Counter(flat(got)) == Counter(flat(want))
        assert set(flat(got)) <= set(range(ROWS if name != "weighted" else 100))
    else:
        assert got == want


class Numbers(data.Dataset[Any]):
    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: Any) -> Any:
        return [i % ROWS for i in index] if isinstance(index, list) else index % ROWS


def list_of(batch: Any) -> Any:
    return batch


@pytest.mark.parametrize("workers", [0, 2])
def test_torchs_own_loader(dataset: MapDataset, workers: int) -> None:
    """torch's DataLoader with its own collate works, in processes too."""
    seen = Counter[int]()
    for batch in data.DataLoader(dataset, batch_size=512, shuffle=True, num_workers=workers):  # type: ignore[arg-type]
        numbers = batch["id"].tolist()
        assert batch["text"] == [f"row {i}" for i in numbers] and batch["x"].tolist() == [i / 2 for i in numbers]
        seen.update(numbers)
    assert seen == Counter(range(ROWS))


def test_batches_are_tensors(dataset: MapDataset) -> None:
    loader = DataLoader(dataset, batch_size=2)
    batch = next(iter(loader))
    assert isinstance(batch, Batch) and batch["id"].dtype == torch.int64 and batch["text"][1] == "row 1"
    row = next(iter(DataLoader(dataset, batch_size=None)))
    assert row["id"].shape == () and row["text"] == "row 0"
    doubled = DataLoader(dataset, batch_size=2, collate_fn=lambda b: b["id"] * 2)
    assert next(iter(doubled)).tolist() == [0, 2]
    assert loader.size == ROWS and list(loader.schema) == ["id", "x", "text"] and loader.batch_size == 2


VALUES: dict[str, list[Any]] = {
    "batch_size": [1, 4, None],
    "shuffle": [None, False, True],
    "sampler": [None, [1, 2]],
    "batch_sampler": [None, [[1], [2]]],
    "drop_last": [False, True],
}


def test_exclusions_are_torchs(dataset: MapDataset) -> None:
    """Every combination is refused where torch refuses it, and only there; the error lists all."""
    refused = 0
    for values in itertools.product(*VALUES.values()):
        order: dict[str, Any] = dict(zip(VALUES, values))
        try:
            data.DataLoader(Numbers(), **order)
            torchs = None
        except ValueError as e:
            torchs = e
        try:
            DataLoader(dataset, **order)
            ours = None
        except errors.OptionError as e:
            ours = e
        assert (ours is None) == (torchs is None), (order, ours, torchs)
        refused += ours is not None
    assert refused > 20
    with pytest.raises(errors.OptionError) as e:
        DataLoader(dataset, batch_size=None, shuffle=True, sampler=[1], drop_last=True, num_workers=-1, prefetch_factor=2)
    assert [line.split(" ")[3] for line in str(e.value).splitlines()[1:]] == ["num_workers", "sampler", "batch_size=None"]
    with pytest.raises(errors.OptionError, match="batch_sampler excludes batch_size, shuffle, sampler, drop_last"):
        DataLoader(dataset, batch_size=2, shuffle=True, sampler=[1], batch_sampler=[[1]], drop_last=True)


def test_wrong_arguments(dataset: MapDataset, shards: Path) -> None:
    for wrong, text in [
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"sampler": 3}, "sampler must be an iterable of row numbers"),
    ]:
        with pytest.raises(errors.OptionError, match=text):
            DataLoader(dataset, **wrong)
    with pytest.raises(TypeError, match="has no argument 'shufle'; did you mean 'shuffle'"):
        DataLoader(dataset, shufle=True)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="takes only data by position"):
        DataLoader(dataset, 4)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"has no argument 'sampler'.*a MapDataset takes samplers"):
        DataLoader(shards, batch_size=2, sampler=[1])  # type: ignore[call-overload]


def test_rows_beyond_the_end(dataset: MapDataset) -> None:
    """The batches before a wrong number come, then the error; the loader can be used again."""
    sampler = [1, 2, ROWS, 3]
    batches = iter(DataLoader(dataset, sampler=sampler))
    assert [ids(next(batches)), ids(next(batches))] == [[1], [2]]
    with pytest.raises(IndexError, match="row 4000 is out of range"):
        next(batches)
    sampler[2] = 9
    assert read(DataLoader(dataset, sampler=sampler)) == [[1], [2], [9], [3]]


def test_epochs(dataset: MapDataset) -> None:
    loader = DataLoader(dataset, batch_size=500, shuffle=True, seed=3)
    epochs = [read(loader) for _ in range(3)]
    assert len({str(epoch) for epoch in epochs}) == 3
    assert all(sorted(flat(epoch)) == list(range(ROWS)) for epoch in epochs)
    loader.set_epoch(1)
    assert read(loader) == epochs[1] and read(loader) == epochs[2]
    assert read(DataLoader(dataset, batch_size=500, shuffle=True, seed=4)) != epochs[0]


class Stateful:
    """A sampler with a state of its own."""

    def __init__(self, rows: int) -> None:
        self.round, self.rows = 0, rows

    def __len__(self) -> int:
        return self.rows

    def __iter__(self) -> Any:
        first, self.round = self.round * 100, self.round + 1
        return iter(range(first, first + self.rows))

    def state_dict(self) -> dict[str, int]:
        return {"round": self.round}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self.round = state["round"]


def distributed() -> Any:
    sampler = data.DistributedSampler(range(40), 2, 1, shuffle=True)
    sampler.set_epoch(5)
    return sampler


RESUMES: dict[str, Any] = {
    "shuffle": lambda: {"batch_size": 600, "shuffle": True},
    "in order": lambda: {"batch_size": 600},
    "list": lambda: {"batch_size": 2, "sampler": [9, 8, 7, 6, 5]},
    "own": lambda: {"batch_size": 9, "sampler": samplers.WeightedRandomSampler([1.0, 2.0, 3.0], 40)},
    "stateful": lambda: {"batch_size": 4, "sampler": Stateful(10)},
    "distributed": lambda: {"batch_size": 8, "sampler": distributed()},
    "batch sampler": lambda: {"batch_sampler": data.BatchSampler(Stateful(10), 4, False)},
}


@pytest.mark.parametrize("name", RESUMES)
def test_resume_after_each_batch(dataset: MapDataset, name: str) -> None:
    loader = DataLoader(dataset, **RESUMES[name]())
    states, batches = [loader.state_dict()], []
    for batch in loader:
        batches.append(ids(batch))
        states.append(loader.state_dict())
    following = read(loader)
    for n, state in enumerate(states):
        again = DataLoader(dataset, **RESUMES[name]())
        again.load_state_dict(state)
        assert again.state_dict()["shardfeed_map"]["epoch"] == (1 if n == len(batches) else 0)
        if n < len(batches):
            assert read(again) == batches[n:], n
        if name not in ("stateful", "batch sampler") or n < len(batches):
            assert read(again) == following, n


def test_resume_with_workers(dataset: MapDataset) -> None:
    loader = DataLoader(dataset, batch_size=300, shuffle=True, num_workers=2)
    batches = iter(loader)
    for _ in range(4):
        next(batches)
    state = loader.state_dict()
    rest = [ids(batch) for batch in batches]
    again = DataLoader(dataset, batch_size=300, shuffle=True)
    again.load_state_dict(state)
    assert read(again) == rest


def test_refused_states(dataset: MapDataset) -> None:
    loader = DataLoader(dataset, batch_size=4, sampler=data.RandomSampler(range(40)))
    state = loader.state_dict()
    with pytest.raises(errors.StateError, match="RandomSampler cannot repeat the rows of an epoch"):
        loader.load_state_dict(state)
    other = DataLoader(dataset, batch_size=5)
    with pytest.raises(errors.StateError, match="batch_size=4, and here it is 5"):
        other.load_state_dict(state)
    with pytest.raises(errors.StateError, match="must be the dict"):
        other.load_state_dict({"version": 1, "shardfeed": {}})


def test_leaving_and_closing(dataset: MapDataset) -> None:
    loader = DataLoader(dataset, batch_size=10, shuffle=True)
    for _ in range(3):
        next(iter(loader))
    assert read(loader)[0] != []
    batches = iter(loader)
    held = next(batches)
    loader.close()
    loader.close()
    with pytest.raises(StopIteration):
        next(batches)
    with pytest.raises(ValueError, match="was closed"):
        iter(loader)
    assert len(ids(held)) == 10 and len(dataset[[1]]["id"]) == 1
    with DataLoader(dataset, batch_size=10) as again:
        assert len(again) == 400
    for call in (lambda: loader.map(ids), lambda: loader.with_valid("id")):
        with pytest.raises(TypeError, match="a loader of a MapDataset has no"):
            call()


def test_persistent_workers(dataset: MapDataset) -> None:
    loader = DataLoader(dataset, batch_size=1000, shuffle=True, num_workers=1, persistent_workers=True)
    one, two = read(loader), read(loader)
    assert sorted(flat(one)) == sorted(flat(two)) == list(range(ROWS)) and one != two
    loader.close()


@pytest.mark.parametrize("workers", [0, 1])
def test_subsets(shards: Path, workers: int) -> None:
    """As random_split makes them; samplers name places in a subset, and resume there."""
    dataset = MapDataset(shards, columns=["id"])
    train, valid = torch.utils.data.random_split(dataset, [3000, 1000], torch.Generator().manual_seed(1))
    half = torch.utils.data.Subset(valid, range(0, 1000, 2))
    for subset in (train, valid, half):
        numbers = [int(subset[n]["id"]) for n in (0, 5, len(subset) - 1)]
        loader = DataLoader(subset, batch_size=64, num_workers=workers)
        seen = [n for batch in loader for n in batch["id"].tolist()]
        assert len(seen) == len(loader.dataset) == loader.size == len(subset) and [seen[0], seen[5], seen[-1]] == numbers
        shuffled = DataLoader(subset, batch_size=64, shuffle=True, num_workers=workers)
        batches = iter(shuffled)
        first = next(batches)["id"].tolist()
        again = DataLoader(subset, batch_size=64, shuffle=True, num_workers=workers)
        again.load_state_dict(shuffled.state_dict())
        rest = [n for batch in again for n in batch["id"].tolist()]
        assert sorted(first + rest) == sorted(seen) and first + rest != seen
    with pytest.raises(IndexError, match="500"):
        list(DataLoader(half, sampler=[1, 500], batch_size=2, num_workers=workers))
    with pytest.raises(errors.OptionError, match="data must be a"):
        DataLoader(torch.utils.data.ConcatDataset([dataset, dataset]), batch_size=4)


def test_lists_wait_for_room(dataset, monkeypatch):
    """Lists beyond the rows that may be asked for at once wait; one that alone is too long fails in
    its place, after the batches before it.
    """
    monkeypatch.setattr("shardfeed.torch._map_source._MOST_ROWS", 50)
    lists = [list(range(n, n + 40)) for n in range(0, 400, 40)]
    assert read(DataLoader(dataset, batch_sampler=lists, prefetch=5)) == lists
    monkeypatch.setattr("shardfeed._engine._protocol.MAX_PAYLOAD", 8 * 600)
    batches = iter(DataLoader(dataset, batch_sampler=[[1], [2, 3], [*range(601)], [4]], prefetch=5))
    assert ids(next(batches)) == [1] and ids(next(batches)) == [2, 3]
    with pytest.raises(ValueError, match="at most 600 rows can be asked for at once, got 601"):
        next(batches)
