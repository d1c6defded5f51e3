"""dataset.filter(fn): rows are masked, and nothing else changes."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shardfeed import Batch, StreamingDataset, errors

pytestmark = pytest.mark.usefixtures("job")


def sevens(batch: Any) -> Any:
    return batch["label"] == 0


def even(batch: Any) -> Any:
    return batch["id"] % 2 == 0


def test_rows_are_masked_and_stay(shards: Path) -> None:
    dataset = StreamingDataset(shards, batch_size=300, seed=3, columns=["id", "label"])
    plain = [batch["id"].tolist() for batch in dataset]
    masked = dataset.filter(sevens)
    batches = list(masked)
    assert [b["id"].tolist() for b in batches] == plain, "the rows and their order are the same"
    assert all((b.row_valid == (b["id"] % 7 == 0)).all() for b in batches)
    assert len(masked) == len(dataset) and masked.size == dataset.size
    both = next(iter(masked.filter(even)))
    assert (both.row_valid == (both["id"] % 14 == 0)).all(), "masks add up"
    assert (both.copy().row_valid == both.row_valid).all() and (pickle.loads(pickle.dumps(both)).row_valid == both.row_valid).all()


def test_padding_stays_masked(shards: Path) -> None:
    valid = 0
    for rank in range(3):
        dataset = StreamingDataset(shards, batch_size=64, rank=rank, world_size=3, columns=["id"], tail="pad")
        valid += sum(int(b.row_valid.sum()) for b in dataset.filter(even))
    assert valid == 2000


def test_state_is_that_of_all_rows(shards: Path) -> None:
    def make() -> StreamingDataset[Batch]:
        return StreamingDataset(shards, batch_size=400, seed=3, columns=["id"])

    masked = make().filter(even)
    batches = iter(masked)
    for _ in range(4):
        next(batches)
    again = make()
    again.load_state_dict(masked.state_dict())
    rest = [b["id"].tolist() for b in again]
    assert rest == [b["id"].tolist() for b in batches]


def test_rows_by_one(shards: Path) -> None:
    rows = list(StreamingDataset(shards, batch_size=None, shuffle=False, columns=["id", "label"]).filter(lambda row: row["label"] == 0))
    assert len(rows) == 4000 and [int(r["id"]) for r in rows if r["_row_valid"]] == list(range(0, 4000, 7))


def test_wrong_functions(shards: Path) -> None:
    dataset = StreamingDataset(shards, batch_size=10, columns=["id"])
    with pytest.raises(errors.OptionError, match="filter needs a function of a batch, got 'id > 3'"):
        dataset.filter("id > 3")  # type: ignore[arg-type]
    with pytest.raises(errors.OptionError, match=r"must return a bool for each of the 10 rows, got int64\[10\]"):
        next(iter(dataset.filter(lambda b: b["id"])))
    with pytest.raises(errors.OptionError, match=r"must return a bool for each of the 10 rows, got bool alone"):
        next(iter(dataset.filter(lambda b: True)))
    with pytest.raises(errors.OptionError, match=r"filter needs a batch or row .* got a list: filter before map"):
        next(iter(dataset.map(lambda b: b["id"].tolist()).filter(even)))
    rows = StreamingDataset(shards, batch_size=None, columns=["id"])
    with pytest.raises(errors.OptionError, match="must return True or False for a row, got None"):
        next(iter(rows.filter(lambda row: None)))


class TestTorch:
    """The same with tensors."""

    torch = pytest.importorskip("torch")

    @pytest.mark.parametrize("workers", [0, 2])
    def test_loader(self, shards: Path, workers: int) -> None:
        from shardfeed.torch import DataLoader, drop_padding

        with DataLoader(shards, batch_size=300, seed=3, columns=["id", "label"], num_workers=workers) as loader:
            plain = [b["id"].tolist() for b in loader]
            with loader.filter(sevens) as masked:
                batches = list(masked)
        assert [b["id"].tolist() for b in batches] == plain
        assert all(bool((b["_row_valid"] == (b["id"] % 7 == 0)).all()) for b in batches)
        kept = np.concatenate([drop_padding(b)["id"] for b in batches])
        assert sorted(kept.tolist()) == list(range(0, 4000, 7))

    def test_padding_stays_masked(self, shards: Path) -> None:
        from shardfeed.torch import StreamingDataset

        valid = 0
        for rank in range(3):
            dataset = StreamingDataset(shards, batch_size=64, rank=rank, world_size=3, columns=["id"], tail="pad")
            valid += sum(int(b["_row_valid"].sum()) for b in dataset.filter(even))
        assert valid == 2000

    def test_rows_and_errors(self, shards: Path) -> None:
        from shardfeed.torch import StreamingDataset

        rows = list(StreamingDataset(shards, batch_size=None, shuffle=False, columns=["id"]).filter(lambda row: row["id"] % 2 == 0))
        assert len(rows) == 4000 and [int(r["id"]) for r in rows if r["_row_valid"]] == list(range(0, 4000, 2))
        batches = StreamingDataset(shards, batch_size=10, columns=["id"])
        with pytest.raises(errors.OptionError, match=r"a bool for each of the 10 rows, got torch.int64\[10\]"):
            next(iter(batches.filter(lambda b: b["id"])))
        with pytest.raises(errors.OptionError, match=r"filter needs a batch or row .* keep '_row_valid' in the function of map"):
            next(iter(batches.map(lambda b: {"id": b["id"]}).filter(even)))
