"""Writes orders.json: rows of testdata/shop as training gets them, which the charts of the order draw. make pictures runs it."""

from __future__ import annotations

import json
import subprocess
import warnings
from pathlib import Path
from typing import Any

import shardfeed
from shardfeed._program import find_binary

FILE = Path(__file__).with_name("orders.json")
SHOP = Path(__file__).parents[3] / "testdata/shop"
BUFFERS = (100, 400, 2026)  # rows, of 2,026


def main() -> None:
    warnings.simplefilter("ignore", shardfeed.ShardfeedWarning)
    FILE.write_text(json.dumps(orders()).replace("}", "}\n") + "\n")


def orders() -> dict[str, Any]:
    return {
        "buffers": {str(buffer): [row for batch in _open(2026, 1, shuffle_buffer=buffer)[0] for row in _rows(batch)] for buffer in BUFFERS},
        "deff": {str(buffer): _deff(buffer) for buffer in BUFFERS},
        "dealt": _dealt(),
    }


def _deff(buffer: int) -> float:
    """How many times as much a batch of 64 sorted rows varies as one of a perfect shuffle."""
    command = [find_binary(), "plan", SHOP, "--shuffle", "--shuffle-buffer", str(buffer), "--batch-size", "64", "--json"]
    return float(json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["quality"]["deff"])


def _dealt() -> list[list[list[int]]]:
    """The rows of each rank in each step: two steps on two ranks, then two on three."""
    two = _open(3, 2, shuffle_buffer=2026)
    before = [[next(batches) for batches in two] for _ in range(2)]
    three = _open(2, 3, before[-1][0].state)
    after = [[next(batches) for batches in three] for _ in range(2)]
    return [[_rows(batch) for batch in step] for step in (*before, *after)]


def _open(batch_size: int, world_size: int, state: Any = None, **options: Any) -> list[Any]:
    iterators = []
    for rank in range(world_size):
        dataset = shardfeed.StreamingDataset(
            SHOP,
            batch_size=batch_size,
            columns=["unique_id"],
            row_ids=True,
            seed=7,
            rank=rank,
            world_size=world_size,
            cache=False,
            **options,
        )
        if state is not None:
            dataset.load_state_dict(state)
        iterators.append(iter(dataset))
    return iterators


def _rows(batch: Any) -> list[int]:
    return [int(row) for row in batch["_row"]]


if __name__ == "__main__":
    main()
