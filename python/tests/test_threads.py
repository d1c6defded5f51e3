"""Threads that share an iterator: each row comes once, all see the end, and one may close it for
the others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from threads import WITHIN, in_threads

import shardfeed
from shardfeed import _iterator

torch = pytest.importorskip("torch")

import shardfeed.torch  # noqa: E402

ROWS, THREADS = 4000, 4

pytestmark = pytest.mark.usefixtures("one_engine", "_often")


@pytest.fixture(scope="module")
def one_engine(runtime: Path, shards: Path) -> Iterator[None]:
    dataset = shardfeed.StreamingDataset(shards, batch_size=1, cache=False)
    yield
    del dataset


def dataset_of(package: Any, shards: Path, batch_size: int | None) -> Any:
    return package.StreamingDataset(shards, batch_size=batch_size, columns=["id"], cache=False)


def same(batch: Any) -> Any:
    return batch


OPENED: dict[str, Callable[[Path], Any]] = {
    "numpy": lambda shards: dataset_of(shardfeed, shards, 8),
    "numpy rows": lambda shards: dataset_of(shardfeed, shards, None),
    "torch": lambda shards: dataset_of(shardfeed.torch, shards, 8),
    "torch rows": lambda shards: dataset_of(shardfeed.torch, shards, None),
    "mapped": lambda shards: dataset_of(shardfeed.torch, shards, 8).map(same),
    "loader": lambda shards: shardfeed.torch.DataLoader(dataset_of(shardfeed.torch, shards, 8)),
    "loader of rows": lambda shards: shardfeed.torch.DataLoader(dataset_of(shardfeed.torch, shards, None)),
    "loader with workers": lambda shards: shardfeed.torch.DataLoader(dataset_of(shardfeed.torch, shards, 50), num_workers=2),
}


def ids(batch: Any) -> list[int]:
    found = batch["id"].tolist()
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("kind", OPENED)
def test_each_row_comes_once(shards: Path, kind: str) -> None:
    opened = OPENED[kind](shards)
    for _ in range(3):
        iterator, found, ends = iter(opened), [], []

        def take(iterator: Any = iterator, found: list[int] = found, ends: list[int] = ends) -> None:
            for batch in iterator:
                found.extend(ids(batch))
            ends.append(1)

        in_threads(THREADS, take)
        assert sorted(found) == list(range(ROWS))
        assert len(ends) == THREADS
        assert next(iterator, None) is None


@pytest.mark.parametrize("kind", [kind for kind in OPENED if "loader" not in kind])
def test_another_thread_closes_the_iterator(shards: Path, kind: str) -> None:
    opened = OPENED[kind](shards)
    for _ in range(10):
        iterator, found, enough = iter(opened), [], threading.Event()

        def take(iterator: Any = iterator, found: list[int] = found, enough: threading.Event = enough) -> None:
            for batch in iterator:
                found.extend(ids(batch))
                if len(found) > 100:
                    enough.set()

        def close(iterator: Any = iterator, enough: threading.Event = enough) -> None:
            assert enough.wait(WITHIN)
            iterator.close()

        closing = threading.Thread(target=close, daemon=True)
        closing.start()
        in_threads(THREADS, take)
        closing.join(WITHIN)
        assert len(found) == len(set(found))
        assert next(iterator, None) is None
    assert sorted(i for batch in opened for i in ids(batch)) == list(range(ROWS))


def test_closed_while_it_begins(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = OPENED["torch"](shards)
    iterator, begun, go_on = iter(dataset), threading.Event(), threading.Event()
    made: list[_iterator.BatchIterator] = []

    def begin(*_: Any) -> _iterator.BatchIterator:
        made.append(dataset._batches(plain=True))
        begun.set()
        assert go_on.wait(WITHIN)
        return made[0]

    monkeypatch.setattr(dataset, "_begin", begin)
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.extend(iterator), daemon=True)
    thread.start()
    assert begun.wait(WITHIN)
    iterator.close()
    go_on.set()
    thread.join(WITHIN)
    assert found == [] and not thread.is_alive()
    assert made[0]._connection is None, "the iteration has ended in the engine"


@pytest.mark.parametrize("kind", ["numpy rows", "torch", "torch rows"])
def test_an_iterator_that_is_dropped_ends_at_once(shards: Path, kind: str) -> None:
    """Without a run of the garbage collector."""
    dataset = OPENED[kind](shards)
    iterator = iter(dataset)
    next(iterator)
    assert dataset._batches_of() is not None
    del iterator
    assert dataset._batches_of() is None
