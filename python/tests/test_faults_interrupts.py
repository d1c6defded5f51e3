"""Ctrl-C at each place where the interpreter handles it: what comes next has the right rows."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import interrupts
import pytest

from shardfeed import MapDataset, StreamingDataset, errors

ROWS = 4000

pytestmark = [
    pytest.mark.usefixtures("job"),
    pytest.mark.skipif(sys.version_info < (3, 11), reason="places of interrupts are found by tables of Python 3.11"),
    # An interrupt that strikes a finalizer is dropped by Python, with a warning.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

every = pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.long)])


def whole(batches: Iterable[Any]) -> None:
    assert sorted(i for batch in batches for i in batch["id"].reshape(-1).tolist()) == list(range(ROWS))


def struck(
    operation: Callable[[], object], check: Callable[[], object], step: int, prepare: Callable[[], object] = int, times: int = 2
) -> None:
    """Checks twice after each interrupt: what is left over may come with the second request."""
    count = 0
    for place in interrupts.sweep(operation, step, prepare):
        count += 1
        for _ in range(times):
            try:
                check()
            except Exception as e:
                raise AssertionError(f"after an interrupt at {place}") from e
    assert count * step > 80, "the sweep did not strike the package"


def source(kind: str, shards: Path) -> Any:
    """What a training iterates over."""
    if kind == "rows":
        return StreamingDataset(shards, batch_size=None, columns=["id"])
    if kind in ("numpy", "mapped"):
        dataset = StreamingDataset(shards, batch_size=500, columns=["id"])
        return dataset.map(dict) if kind == "mapped" else dataset
    pytest.importorskip("torch")
    import shardfeed.torch as feed

    if kind == "workers":
        return feed.DataLoader(feed.StreamingDataset(shards, batch_size=500, columns=["id"]).map(dict), num_workers=2)
    if kind == "threads":
        return feed.DataLoader(feed.StreamingDataset(shards, batch_size=500, columns=["id"]).map(dict), threads=2)
    if kind == "torch":
        return feed.DataLoader(feed.StreamingDataset(shards, batch_size=500, columns=["id"]))
    return feed.DataLoader(MapDataset(shards, columns=["id"]), batch_size=500, shuffle=True)


@pytest.mark.parametrize("request_of", [int, lambda number: [number, 17, number]])
def test_interrupted_rows_by_number(shards: Path, request_of: Callable[[int], Any]) -> None:
    dataset = MapDataset(shards, columns=["id"])
    numbers = itertools.cycle(range(0, ROWS, 7))

    def right() -> None:
        number = next(numbers)
        assert int(dataset[number]["id"]) == number

    struck(lambda: dataset[request_of(next(numbers))], right, 1)


@every
@pytest.mark.parametrize("batch_size", [500, None])
def test_interrupted_epochs(shards: Path, batch_size: int | None, step: int) -> None:
    dataset = StreamingDataset(shards, batch_size=batch_size, columns=["id"])

    def some() -> None:
        for _ in itertools.islice(dataset, 9):
            pass

    struck(some, lambda: whole(dataset), step)


@every
def test_interrupted_questions(shards: Path, step: int) -> None:
    dataset = StreamingDataset(shards, batch_size=500, columns=["id"])
    questions = [dataset.__len__, lambda: dataset.set_epoch(1), dataset.stats, dataset.state_dict, dataset.manifest]
    struck(lambda: [ask() for ask in questions], lambda: whole(dataset), step)


@every
@pytest.mark.parametrize("kind", ["torch", "torch map"])
def test_interrupted_loaders(shards: Path, kind: str, step: int) -> None:
    loader = source(kind, shards)
    struck(lambda: list(loader), lambda: whole(loader), step)


@every
@pytest.mark.parametrize(
    "kind", ["numpy", "mapped", "rows", "torch", "torch map", "threads", pytest.param("workers", marks=pytest.mark.long)]
)
def test_states_after_interrupts(shards: Path, kind: str, step: int) -> None:
    """Wherever the interrupt struck, the state counts the batches that were handed out, and the
    iteration has the others or raises an error.
    """
    interrupted, resumed = (source(kind, shards) for _ in range(2))
    start = interrupted.state_dict()
    got: list[Any] = []
    batches: list[Any] = []

    def prepare() -> None:
        interrupted.load_state_dict(start)
        got.clear()
        batches.clear()

    def some() -> None:
        batches[:] = [iter(interrupted)]
        for batch in itertools.islice(batches[0], 5):
            got.append(batch)

    def rest() -> None:
        resumed.load_state_dict(interrupted.state_dict())
        whole(itertools.chain(got, resumed))
        with contextlib.suppress(errors.ShardfeedError):  # else it has lost nothing
            whole(itertools.chain(got, *batches or [interrupted]))

    struck(some, rest, step, prepare, 1)
