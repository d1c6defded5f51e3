"""What a function of the user's raises: no error ends an epoch, and no failed batch counts."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import shardfeed
import shardfeed.torch
from shardfeed import errors

pytestmark = pytest.mark.usefixtures("job")

BATCH, FAILS = 100, 5  # rows of a batch; the step whose function fails


class Stop(BaseException):
    """A BaseException and not an Exception."""


def ids(batch: Any) -> list[int]:
    found = batch["id"]
    return [int(found)] if getattr(found, "ndim", 0) == 0 else [int(n) for n in found]


def fails(kind: type[BaseException] | None, batch: Any) -> Any:
    """Fails in one step, unless kind is None."""
    if kind is not None and FAILS * BATCH in ids(batch):
        raise kind("mine")
    return batch


def keeps(kind: type[BaseException] | None, batch: Any) -> Any:
    fails(kind, batch)
    return [True] * len(ids(batch)) if len(ids(batch)) > 1 else True


def keeps_torch(kind: type[BaseException] | None, batch: Any) -> Any:
    return torch.tensor(keeps(kind, batch))


def same(batch: Any) -> Any:
    return batch


class Moves:
    """A batch of a class of the user's, which moves to a device itself."""

    def __init__(self, kind: type[BaseException] | None, batch: Any) -> None:
        self.kind, self.batch, self.tries = kind, batch, 0

    def __getitem__(self, name: str) -> Any:
        return self.batch[name]

    def to(self, device: Any) -> Any:
        self.tries += 1
        if self.tries == 1:
            fails(self.kind, self.batch)
        return self.batch


def _numpy(shards: Path, **given: Any) -> Any:
    return shardfeed.StreamingDataset(shards, shuffle=False, cache=False, **{"batch_size": BATCH, **given})


def _torch(shards: Path, **given: Any) -> Any:
    return shardfeed.torch.StreamingDataset(shards, shuffle=False, cache=False, **{"batch_size": BATCH, **given})


def _loader(shards: Path, **given: Any) -> Any:
    return shardfeed.torch.DataLoader(shards, shuffle=False, cache=False, **{"batch_size": BATCH, **given})


def _map_loader(shards: Path, **given: Any) -> Any:
    return shardfeed.torch.DataLoader(shardfeed.MapDataset(shards), batch_size=BATCH, **given)


def moves(kind: type[BaseException] | None, batch: Any) -> Any:
    return Moves(kind, batch)


Make = Callable[[Path, type[BaseException] | None], Any]

# Where a function runs: what makes the loader or data set, and how an error names the function.
PLACES: dict[str, tuple[Make, str]] = {
    "map": (lambda s, k: _numpy(s).map(functools.partial(fails, k)), "the function of map (fails)"),
    "map of map": (lambda s, k: _numpy(s).map(functools.partial(fails, k)).map(same), "the function of map (fails)"),
    "map of rows": (lambda s, k: _numpy(s, batch_size=None).map(functools.partial(fails, k)), "the function of map (fails)"),
    "filter": (lambda s, k: _numpy(s).filter(functools.partial(keeps, k)), "the function of filter (keeps)"),
    "filter of rows": (lambda s, k: _numpy(s, batch_size=None).filter(functools.partial(keeps, k)), "the function of filter (keeps)"),
    "torch map": (lambda s, k: _torch(s).map(functools.partial(fails, k)), "the function of map (fails)"),
    "torch map of rows": (lambda s, k: _torch(s, batch_size=None).map(functools.partial(fails, k)), "the function of map (fails)"),
    "torch filter": (lambda s, k: _torch(s).filter(functools.partial(keeps_torch, k)), "the function of filter (keeps_torch)"),
    "loader map": (lambda s, k: _loader(s).map(functools.partial(fails, k)), "the function of map (fails)"),
    "collate_fn": (lambda s, k: _loader(s, collate_fn=functools.partial(fails, k)), "collate_fn (fails)"),
    "collate_fn of rows": (lambda s, k: _loader(s, batch_size=None, collate_fn=functools.partial(fails, k)), "collate_fn (fails)"),
    "threads": (lambda s, k: _loader(s, threads=2).map(functools.partial(fails, k)), "the function of map (fails)"),
    "threads of rows": (lambda s, k: _loader(s, batch_size=None, threads=2, collate_fn=functools.partial(fails, k)), "collate_fn (fails)"),
    "workers": (lambda s, k: _loader(s, num_workers=2).map(functools.partial(fails, k)), "the function of map (fails)"),
    "workers filter": (
        lambda s, k: _loader(s, num_workers=2).filter(functools.partial(keeps_torch, k)),
        "the function of filter (keeps_torch)",
    ),
    "workers of rows": (
        lambda s, k: _loader(s, batch_size=None, num_workers=2, collate_fn=functools.partial(fails, k)),
        "collate_fn (fails)",
    ),
    "rows by number": (lambda s, k: _map_loader(s, collate_fn=functools.partial(fails, k)), "collate_fn (fails)"),
    "rows by number, workers": (lambda s, k: _map_loader(s, num_workers=2, collate_fn=functools.partial(fails, k)), "collate_fn (fails)"),
    "device": (lambda s, k: _loader(s, collate_fn=functools.partial(moves, k), device="meta"), "to of a batch (Moves.to)"),
}


@pytest.mark.parametrize("place", PLACES)
def test_an_error_is_not_the_end(shards: Path, place: str) -> None:
    """The error comes after the batches before it, and the state counts these alone.

    A loop that catches the error gets the next batch, or an error again.
    """
    make, name = PLACES[place]
    for kind in (StopIteration, GeneratorExit, ValueError, KeyboardInterrupt, Stop):
        failing = make(shards, kind)
        batches: Iterator[Any] = iter(failing)
        seen = []
        with pytest.raises(expected(place, kind)) as caught:
            for batch in batches:
                seen += ids(batch)
        assert seen == list(range(FAILS * BATCH)) and kind.__name__ in caught.exconly()
        if kind in ENDS:
            assert f"{name} raised {kind.__name__}, which would end the epoch before its last batch" in str(caught.value)
        resumed = make(shards, None)
        resumed.load_state_dict(failing.state_dict())
        with contextlib.suppress(errors.ShardfeedError):
            assert ids(next(batches))[0] in (FAILS * BATCH, FAILS * BATCH + 1, (FAILS + 1) * BATCH)
        del batches, caught
        for batch in resumed:
            seen += ids(batch)
        assert seen == list(range(4000)), kind


ENDS = (StopIteration, StopAsyncIteration, GeneratorExit)


def expected(place: str, kind: type[BaseException]) -> type[BaseException]:
    """What the trainer gets: a worker can only send an Exception."""
    in_process = "workers" in place and not issubclass(kind, Exception)
    return RuntimeError if kind in ENDS or in_process else kind


@pytest.mark.parametrize("place", ["map", "threads", "workers"])
def test_other_ends(shards: Path, place: str) -> None:
    with pytest.raises(RuntimeError, match="raised StopAsyncIteration"):
        list(PLACES[place][0](shards, StopAsyncIteration))
    with pytest.raises(errors.WorkerError if place == "workers" else SystemExit):
        list(PLACES[place][0](shards, SystemExit))


def test_a_batch_that_failed_counts_once_the_next_one_came(shards: Path) -> None:
    for place in ("map", "torch map", "loader map", "threads", "rows by number", "rows by number, workers"):
        failing = PLACES[place][0](shards, ValueError)
        batches = iter(failing)
        seen = [ids(next(batches)) for _ in range(FAILS)]
        with pytest.raises(ValueError, match="mine"):
            next(batches)
        seen.append(ids(next(batches)))
        resumed = PLACES[place][0](shards, ValueError)
        resumed.load_state_dict(failing.state_dict())
        seen += [ids(batch) for batch in resumed]
        assert seen == [list(range(k, k + BATCH)) for k in range(0, 4000, BATCH) if k != FAILS * BATCH], place


def test_select(shards: Path, tmp_path: Path) -> None:
    for workers in (1, 2):
        with pytest.raises(RuntimeError, match=r"the function of select \(keeps\) raised StopIteration"):
            shardfeed.select(
                shards, functools.partial(keeps, StopIteration), save=tmp_path / "x.rows", batch_size=200, workers=workers, cache=False
            )
    assert not list(tmp_path.iterdir())


class Ends:
    """An iterator of rows that ends as Python's do."""

    def __init__(self) -> None:
        self.n = 0

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        if self.n == 300:
            raise StopIteration
        self.n += 1
        return self.n - 1


def odd(n: int) -> bool:
    return n % 2 == 1


def test_samplers(shards: Path) -> None:
    def bad(n: int) -> Any:
        return next(iter(())) if n == 250 else [n, n + 1]

    dataset = shardfeed.MapDataset(shards)
    for given in (
        {"batch_sampler": map(bad, range(300))},
        {"sampler": filter(bad, range(300)), "batch_size": 50},
        {"sampler": itertools.takewhile(bad, range(300)), "batch_size": None},
    ):
        seen = []
        with pytest.raises(RuntimeError, match=r"a function of the sampler \(bad\) raised StopIteration"):
            for batch in (batches := iter(shardfeed.torch.DataLoader(dataset, **given))):
                seen += ids(batch)
        assert seen[-1] in (199, 249, 250)
        with pytest.raises(RuntimeError):
            next(batches)
    for sampler in (filter(odd, Ends()), filter(odd, range(300)), (n for n in Ends() if odd(n))):
        batches = iter(shardfeed.torch.DataLoader(dataset, sampler=sampler, batch_size=7))
        assert [n for batch in batches for n in ids(batch)] == list(range(1, 300, 2))
