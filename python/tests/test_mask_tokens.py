"""The example that masks tokens: the same tokens are hidden on any number of ranks, others in each epoch."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from conftest import ROOT

from shardfeed import StreamingDataset

EXAMPLE = ROOT / "examples" / "mask_tokens.py"


def example() -> Any:
    spec = importlib.util.spec_from_file_location("mask_tokens", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def hidden(rank: int, world_size: int, batch_size: int, epoch: int = 0) -> dict[int, tuple[bytes, bytes]]:
    """What each row becomes, by its number."""
    dataset = StreamingDataset(
        ROOT / "testdata" / "shop",
        batch_size=batch_size,
        columns=["token_ids"],
        pad={"token_ids": {"value": 0, "max_length": 32, "to_max": True}},
        row_ids=True,
        seeds=True,
        rank=rank,
        world_size=world_size,
    )
    dataset.set_epoch(epoch)
    mask_tokens, found = example().mask_tokens, {}
    for batch in dataset:
        made = mask_tokens(batch, 0.15)
        for row, tokens, labels in zip(batch["_row"].tolist(), made["tokens"], made["labels"]):
            found[row] = tokens.tobytes(), labels.tobytes()
    return found


def test_any_world_size(runtime: Path) -> None:
    want = hidden(0, 1, 64)
    assert len(want) == 2026
    assert want == hidden(0, 2, 50) | hidden(1, 2, 50)
    assert want == hidden(0, 3, 7) | hidden(1, 3, 7) | hidden(2, 3, 7)
    assert sum(want[row] == other for row, other in hidden(0, 1, 64, epoch=1).items()) < 200


def test_how_many_are_hidden(runtime: Path) -> None:
    made, tokens = example(), np.full((4000, 32), 7)
    out = made.mask_tokens({"token_ids": tokens, "_seed": np.arange(4000)}, 0.15)
    chosen = out["labels"] != -100
    assert abs(chosen.mean() - 0.15) < 0.005
    assert abs((out["tokens"][chosen] == made.MASK).mean() - 0.8) < 0.02 and abs((out["tokens"][chosen] == 7).mean() - 0.1) < 0.02
    assert (out["tokens"][~chosen] == 7).all()


def test_the_program(job: str, runtime: Path) -> None:
    ran = subprocess.run([sys.executable, EXAMPLE, ROOT / "testdata" / "shop"], capture_output=True, text=True, timeout=200, check=True)
    assert ran.stdout.count("places are hidden") == 32 and ran.stderr == ""
