"""Evaluation that counts each row once, on any number of ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ranks import Job

torch = pytest.importorskip("torch")

import shardfeed.torch  # noqa: E402
from shardfeed import errors  # noqa: E402
from shardfeed.torch import Bytes, Ragged, drop_padding  # noqa: E402

ROWS = 4000


@pytest.mark.timeout(450)
@pytest.mark.parametrize("ranks", [2, 3])
def test_metrics_of_several_ranks(shards: Path, runtime: Path, tmp_path: Path, ranks: int) -> None:
    """On three ranks the last step of the larger batches has one row: two ranks have none."""
    with Job("evaluate.py", ranks, tmp_path, shards, 64, (ROWS - 1) // ranks) as job:
        job.wait()
    found = job.lines("found")
    assert len(found) == ranks * 2 * 3
    for line in found:
        assert line["rows"] == ROWS, line
        assert line["steps"] == -(-ROWS // (line["size"] * ranks)), line
        assert line["accuracy"] == pytest.approx(sum(i % 3 != 0 for i in range(ROWS)) / ROWS), line
        assert line["mean"] == pytest.approx(sum(i / 2 for i in range(ROWS)) / ROWS), line


@pytest.mark.timeout(450)
@pytest.mark.parametrize("ranks", [1, 3])
def test_the_trainer_of_transformers(shards: Path, runtime: Path, tmp_path: Path, ranks: int) -> None:
    """Predictions, labels and loss are those of each row once, and speeds count rows and steps."""
    with Job("evaluate_transformers.py", ranks, tmp_path, shards, tmp_path / "out", 64, (ROWS - 1) // ranks) as job:
        job.wait()
    found = job.lines("found")
    assert len(found) == ranks * 2
    for line in found:
        assert line["ids"] == list(range(ROWS)) and line["labels"]
        assert line["loss"] == pytest.approx(sum(i / 2 for i in range(ROWS)) / ROWS)
        assert line["rows"] == pytest.approx(ROWS, rel=0.05), "speeds are rounded"
        assert line["steps"] == pytest.approx(-(-ROWS // (line["size"] * ranks)), rel=0.05)


# Dropping padding


def test_without_a_loader_of_ranks(shards: Path, job: str) -> None:
    given: dict[str, Any] = {"cache": False, "tail": "pad", "with_row_valid": True}
    dataset = shardfeed.torch.StreamingDataset(shards, batch_size=150, **given)
    batches = [drop_padding(batch) for batch in dataset]
    assert [len(batch["id"]) for batch in batches if batch is not None] == [150] * 26 + [100]
    last = batches[-1]
    assert last is not None and list(last) == ["id", "x", "label", "text", "tokens"]
    assert last["text"].tolist() == [f"row {i}" for i in last["id"]]
    assert last["tokens"].tolist() == [list(range(i, i + i % 5)) for i in last["id"].tolist()]
    rows = [drop_padding(row) for row in shardfeed.torch.StreamingDataset(shards, batch_size=None, rank=0, world_size=3, **given)]
    assert sum(row is not None for row in rows) in (ROWS // 3, ROWS // 3 + 1)


def batch_of(mask: list[bool]) -> dict[str, Any]:
    n = len(mask)
    return {
        "_row_valid": torch.tensor(mask),
        "number": torch.arange(n),
        "array": np.arange(n),
        "bytes": Bytes(torch.arange(n, dtype=torch.uint8), torch.arange(n + 1, dtype=torch.int32)),
        "ragged": Ragged(torch.arange(n), torch.arange(n + 1, dtype=torch.int32)),
        "nested": {"number": torch.arange(n)},
        "pair": (torch.arange(n), torch.arange(n)),
        "list": list(range(n)),
        "step": 7,
        "scale": torch.tensor(2.0),
        "table": torch.zeros(n + 1, 2),
    }


@pytest.mark.parametrize(
    ("mask", "left"),
    [
        ([True, True, True, True], [0, 1, 2, 3]),
        ([True, True, False, False], [0, 1]),
        ([True, False, False, True], [0, 3]),
        ([False, False, True, False], [2]),
    ],
)
def test_which_rows_are_left(mask: list[bool], left: list[int]) -> None:
    found = drop_padding(batch_of(mask))
    assert found is not None and "_row_valid" not in found
    for value in (found["number"], found["array"], found["nested"]["number"], *found["pair"], torch.tensor(found["list"])):
        assert value.tolist() == left
    assert [row[0] for row in found["bytes"]] == left and [row.tolist() for row in found["ragged"]] == [[i] for i in left]
    assert (found["step"], found["scale"].item(), found["table"].shape) == (7, 2.0, (len(mask) + 1, 2))


@pytest.mark.parametrize(
    ("mask", "edges", "longest"),
    [
        ([True, True, True], [0, 3, 8, 16, 18, 19, 24], 8),
        ([True, True, False], [0, 3, 8, 16], 8),
        ([True, False, False], [0, 3, 8], 5),
        ([True, False, True], [0, 3, 8, 10, 11, 16], 5),
        ([False, True, False], [0, 8], 8),
    ],
)
@pytest.mark.parametrize("kind", [torch.tensor, np.array])
def test_edges_of_the_blocks_that_are_left(mask: list[bool], edges: list[int], longest: int, kind: Any) -> None:
    """The third block has padding behind its documents."""
    batch = {
        "_row_valid": torch.tensor(mask),
        "tokens": torch.arange(24).reshape(3, 8),
        "cu_seqlens": kind([0, 3, 8, 16, 18, 19, 24]),
        "max_seqlen": 8,
    }
    found = drop_padding(batch)
    assert found is not None and found["cu_seqlens"].tolist() == edges and found["max_seqlen"] == longest
    assert type(found["cu_seqlens"]) is type(batch["cu_seqlens"]) and found["cu_seqlens"].dtype == batch["cu_seqlens"].dtype
    assert found["tokens"].numel() == edges[-1] and list(found) == ["tokens", "cu_seqlens", "max_seqlen"]


def test_columns_of_rows_with_the_names_of_edges() -> None:
    found = drop_padding(
        {"_row_valid": torch.tensor([True, False]), "cu_seqlens": torch.tensor([5, 6]), "max_seqlen": torch.tensor([7, 8])}
    )
    assert found is not None and found["cu_seqlens"].tolist() == [5] and found["max_seqlen"].tolist() == [7]


def test_no_rows_are_left() -> None:
    assert drop_padding(batch_of([False, False])) is None


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        ({"x": torch.zeros(2)}, r'needs a batch with the mask "_row_valid", got the keys x: make the data set with with_row_valid=True'),
        ({}, "got an empty dict"),
        ([torch.zeros(2)], "got a list"),
    ],
)
def test_a_mask_is_needed(batch: Any, words: str) -> None:
    with pytest.raises(errors.OptionError, match=words):
        drop_padding(batch)
