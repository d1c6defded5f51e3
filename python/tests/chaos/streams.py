"""The streams of a job."""

from __future__ import annotations

from typing import Any

import shardfeed
from chaos import tables

MEMORY_BYTES = 192 << 20  # of a rank
COLUMNS = ["id", "x", "label", "text", "tokens"]
NUMBERS = ["id", "x", "label"]
FILTER, BLOCK, BUDGET = "label != 3", 64, 64
DATED = "day < date '2026-02-10' and day <= today() and text like 'row%'"
DAYS = 40  # that DATED leaves
WINDOW = (5, 100)  # batches that are skipped, and taken
EPOCH = 4000  # rows of an epoch whose length is given
PARTS = {"train": 4, "val": 1}

BY_TORCH = ("threads", "workers", "valid", "stateful")

# What differs from reading the columns of `rows`.
OPTIONS: dict[str, dict[str, Any]] = {
    "filtered": {"filters": FILTER},
    "packed": {"columns": ["tokens"], "pack": {"tokens": BLOCK}},
    "tensors": {"columns": ["id", "grid", "array"], "images": {"array": shardfeed.Npy(tables.GRID, "float32")}},
    "padded": {"columns": ["id", "x", "tokens"], "pad": {"tokens": -1}},
    "valid": {"columns": ["id", "maybe"]},
    "dated": {"columns": ["id", "day"], "filters": DATED},
    "weighted": {"weight": "share"},
    "part": {"parts": PARTS, "part": "train", "part_key": "id"},
    "bucketed": {"columns": ["id", "tokens"], "bucket": {"tokens": BUDGET}, "pad": {"tokens": -1}},
    "passes": {"epoch_size": EPOCH},
    "stateful": {"columns": NUMBERS},
    "mixed": {"epoch_size": 6000},
    "per source": {"epoch_size": 6000, "batching": "per_source", "columns": NUMBERS},
    "by tokens": {"epoch_size": 6000, "weights_in": "tokens", "tokens": "tokens", "curriculum": [(3000, {"more": 5}), (8000, {"rows": 0})]},
}
MIXED = ("mixed", "per source", "by tokens")


def make(scenario: dict[str, Any], rank: int | None, world: int | None, data: str, batch: int, **other: Any) -> Any:
    """The stream of a rank, which a framework's environment knows where rank is None."""
    kind, framework = scenario["stream"], scenario["loop"] != "own"
    if kind == "by number":
        return _by_number(data, rank or 0, world or 1, batch, scenario["seed"], **other)
    options = {"batch_size": batch, "rank": rank, "world_size": world, "tail": scenario["tail"], "memory": MEMORY_BYTES}
    options |= {"shuffle": False} if kind == "ordered" else {"seed": scenario["seed"], "shuffle_buffer": 1500}
    options |= {"columns": NUMBERS if framework else COLUMNS, **OPTIONS.get(kind, {}), **other}
    if kind == "images":
        options |= {"columns": ["id", "image"], "images": {"image": shardfeed.Image(size=tables.SIZE)}}
    addresses = [] if kind in MIXED else [f"{data}/pictures" if kind == "images" else f"{data}/rows"]
    if kind in MIXED:
        options["sources"] = {
            "rows": shardfeed.Source(f"{data}/rows", weight=3),
            "more": shardfeed.Source(f"{data}/more", weight=1, filters="label < 5"),
        }
    return _changed(kind, _opened(kind, framework, addresses, options))


def _opened(kind: str, framework: bool, addresses: list[str], options: dict[str, Any]) -> Any:
    if kind in ("threads", "workers"):
        from shardfeed.torch import DataLoader

        beside = {"threads": 2} if kind == "threads" else {"num_workers": 2}
        return DataLoader(*addresses, with_row_valid=True, **beside, **options)
    if framework or kind in BY_TORCH:
        from shardfeed import torch

        return torch.StreamingDataset(*addresses, with_row_valid=True, **options)
    return shardfeed.StreamingDataset(*addresses, **options)


def _changed(kind: str, stream: Any) -> Any:
    if kind in ("map", "threads", "workers"):
        return stream.map(_unchanged)
    if kind == "window":
        return stream.skip(WINDOW[0]).take(WINDOW[1])
    return stream.with_valid("maybe") if kind == "valid" else stream


def _by_number(data: str, rank: int, world: int, batch: int, seed: int, cache: bool = True) -> Any:
    from torch.utils.data import DistributedSampler

    from shardfeed.torch import DataLoader

    rows = shardfeed.MapDataset(f"{data}/rows", columns=COLUMNS, memory=MEMORY_BYTES, cache=cache)
    return DataLoader(rows, batch_size=batch, sampler=DistributedSampler(rows, world, rank, seed=seed))  # type: ignore[arg-type]


def _unchanged(batch: Any) -> Any:
    return batch
