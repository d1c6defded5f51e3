"""Copies of loaders: pickled, in a spawned process, by copy and deepcopy."""

from __future__ import annotations

import copy
import itertools
import multiprocessing
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import shardfeed  # noqa: E402
from shardfeed.torch import DataLoader, StreamingDataset  # noqa: E402

pytestmark = pytest.mark.usefixtures("job")


def ids(batches: Any) -> list[int]:
    return [int(n) for batch in batches for n in torch.atleast_1d(torch.as_tensor(batch["id"]))]


def same(batch: Any) -> Any:
    return batch


GIVEN: dict[str, Any] = {"seed": 3, "cache": False, "columns": ["id"]}

LOADERS: dict[str, Callable[[Path], Any]] = {
    "address": lambda shards: DataLoader(shards, batch_size=100, **GIVEN),
    "data set": lambda shards: DataLoader(StreamingDataset(shards, batch_size=100, **GIVEN).map(same), collate_fn=same),
    "rows": lambda shards: DataLoader(shards, batch_size=None, **GIVEN),
    "threads": lambda shards: DataLoader(shards, batch_size=100, threads=2, **GIVEN).map(same),
    "workers": lambda shards: DataLoader(shards, batch_size=100, num_workers=1, persistent_workers=True, **GIVEN),
    "map": lambda shards: DataLoader(shardfeed.MapDataset(shards), batch_size=100, shuffle=True),
    "map, workers": lambda shards: DataLoader(shardfeed.MapDataset(shards), batch_size=100, num_workers=1, persistent_workers=True),
}
COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda loader: pickle.loads(pickle.dumps(loader)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("kind", LOADERS)
def test_a_copy_is_a_loader_of_its_own(shards: Path, kind: str, how: str) -> None:
    """It has the arguments and the place, and leaves the iterations and workers to the original."""
    first = LOADERS[kind](shards)
    whole = ids(first)
    again = LOADERS[kind](shards)
    batches = iter(again)
    seen = ids(itertools.islice(batches, 7))
    made = COPIES[how](again)
    assert type(made) is type(again) and made.state_dict() == again.state_dict() and len(made) == len(again)
    made.load_state_dict(made.state_dict())
    assert seen + ids(made) == whole
    made.close()
    assert seen + ids(batches) == whole, "closing a copy leaves the original alone"
    assert ids(again) == ids(first)


def test_a_copy_of_a_loader_that_began_nothing(shards: Path) -> None:
    made = pickle.loads(pickle.dumps(LOADERS["address"](shards)))
    assert ids(made) == ids(LOADERS["address"](shards))


def in_a_process(loader: Any, rank: int, pipe: Any) -> None:
    os.environ.update(RANK=str(rank), WORLD_SIZE="2")
    pipe.send((ids(loader), loader.state_dict()))


@pytest.mark.parametrize("kind", ["address", "map"])
def test_a_spawned_process_gets_a_loader(shards: Path, kind: str) -> None:
    """As torch.multiprocessing.spawn and Lightning's ddp_spawn do. Each process finds its rank."""
    loader = LOADERS[kind](shards)
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe(duplex=False) for _ in range(2)]
    processes = [context.Process(target=in_a_process, args=(loader, rank, pipes[rank][1])) for rank in range(2)]
    for process in processes:
        process.start()
    seen = [ours.recv() for ours, _ in pipes]
    for process in processes:
        process.join()
    if kind == "map":
        assert seen[0] == seen[1] and sorted(seen[0][0]) == list(range(4000))
    else:
        assert len(set(seen[0][0]) | set(seen[1][0])) == 4000 and seen[0][1]["shardfeed"] == seen[1][1]["shardfeed"]
