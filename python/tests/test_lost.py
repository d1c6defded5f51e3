"""on_error: data that is corrupt, gone or changed costs its rows alone."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from servers import S3, Storage, hdfs, s3  # noqa: F401  fixtures

import shardfeed
import shardfeed.torch
from shardfeed.errors import DataError

pytestmark = pytest.mark.usefixtures("job")


@pytest.fixture
def damaged(shards: Path, tmp_path: Path) -> Path:
    """The shards with row group 2 of the second destroyed: rows 1500 to 1749."""
    for k in range(4):
        content = bytearray((shards / f"part-{k}.parquet").read_bytes())
        if k == 1:
            at = pq.ParquetFile(shards / "part-1.parquet").metadata.row_group(2).column(0).data_page_offset
            content[at : at + 16] = b"\xff" * 16
        (tmp_path / f"part-{k}.parquet").write_bytes(content)
    return tmp_path


LOST = set(range(1500, 1750))


def test_raise(damaged: Path) -> None:
    with pytest.raises(DataError, match=r"part-1.parquet: row group 2, column \"id\", page at byte"):
        list(shardfeed.StreamingDataset(damaged, batch_size=100))


@pytest.mark.parametrize("on_error", ["mask", "skip"])
@pytest.mark.parametrize("shuffle", [True, False])
def test_each_step_without_the_lost_rows(
    shards: Path, damaged: Path, shuffle: bool, on_error: str, caplog: pytest.LogCaptureFixture
) -> None:
    whole = shardfeed.StreamingDataset(shards, batch_size=100, shuffle=shuffle)
    dataset = shardfeed.StreamingDataset(damaged, batch_size=100, shuffle=shuffle, on_error=on_error, max_lost=0.1)
    assert len(dataset) == len(whole) == 40
    with caplog.at_level(logging.WARNING, "shardfeed"):
        for want, batch in zip(whole, dataset, strict=True):
            kept = [i for i in want["id"].tolist() if i not in LOST]
            assert batch["id"][batch.row_valid].tolist() == kept
            assert len(batch["id"]) == (100 if on_error == "mask" else len(kept))
    stats = dataset.stats()
    assert stats["lost_rows"] == 250
    [place] = stats["lost"]
    assert place["shard"].endswith("part-1.parquet")
    assert (place["row_group"], place["first_row"], place["rows"], place["column"]) == (2, 0, 250, "id")
    assert sum("rows 0 to 249 are lost" in r.getMessage() for r in caplog.records) == 1


def test_tensors_with_empty_batches(damaged: Path) -> None:
    dataset = shardfeed.torch.StreamingDataset(damaged, batch_size=50, shuffle=False, on_error="skip", max_lost=0.1, columns=["id", "x"])
    sizes = [len(batch["id"]) for batch in dataset]
    assert sizes == [50] * 30 + [0] * 5 + [50] * 45
    empty = list(dataset)[31]
    assert empty["x"].dtype == torch.float32
    assert empty["x"].shape == (0,)


def test_masked_tensors(damaged: Path) -> None:
    dataset = shardfeed.torch.StreamingDataset(damaged, batch_size=50, shuffle=False, on_error="mask", max_lost=0.1)
    batches = list(dataset)
    assert {len(b["id"]) for b in batches} == {50}
    assert [int(b["_row_valid"].sum()) for b in batches] == [50] * 30 + [0] * 5 + [50] * 45
    seen = torch.cat([b["id"][b["_row_valid"]] for b in batches]).tolist()
    assert seen == [i for i in range(4000) if i not in LOST]


def test_resume_meets_the_place_again(damaged: Path) -> None:
    make = lambda: shardfeed.StreamingDataset(damaged, batch_size=100, on_error="skip", max_lost=0.1)  # noqa: E731
    whole = [b["id"].tolist() for b in make()]
    for stop in (1, 17, 39):
        first = make()
        batches = iter(first)
        head = [next(batches)["id"].tolist() for _ in range(stop)]
        second = make()
        second.load_state_dict(first.state_dict())
        assert head + [b["id"].tolist() for b in second] == whole


def test_too_many(damaged: Path) -> None:
    path = damaged / "part-2.parquet"
    content = bytearray(path.read_bytes())
    at = pq.ParquetFile(path).metadata.row_group(0).column(1).data_page_offset
    content[at : at + 16] = b"\xff" * 16
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"of 4000 rows of the epoch are lost, more than max_lost=0.1 allows.*part-"):
        list(shardfeed.StreamingDataset(damaged, batch_size=100, on_error="mask", max_lost=0.1))
    assert (
        np.concatenate([b["id"] for b in shardfeed.StreamingDataset(damaged, batch_size=100, on_error="skip", max_lost=0.2)]).size == 3500
    )


@pytest.mark.parametrize("gone", [True, False])
def test_gone_or_changed(shards: Path, tmp_path: Path, gone: bool) -> None:
    for k in range(4):
        (tmp_path / f"part-{k}.parquet").write_bytes((shards / f"part-{k}.parquet").read_bytes())
    dataset = shardfeed.StreamingDataset(tmp_path, batch_size=100, on_error="skip", max_lost=0.3)
    if gone:
        (tmp_path / "part-3.parquet").unlink()
    else:
        (tmp_path / "part-3.parquet").write_bytes((shards / "part-2.parquet").read_bytes() + b"PAR1")
    ids = np.concatenate([b["id"] for b in dataset])
    assert sorted(ids.tolist()) == list(range(3000))
    assert dataset.stats()["lost_rows"] == 1000


@pytest.mark.parametrize("store", ["s3", "hdfs"])
@pytest.mark.parametrize("cache", [True, False])
def test_replaced_on_servers(
    shards: Path, tmp_path: Path, store: str, cache: bool, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shard is replaced, or deleted, after the first of two epochs on four ranks. All ranks make all steps; a cache has it still."""
    server: Storage = request.getfixturevalue(store)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    data = tmp_path / f"lost-{store}-{cache}"
    shutil.copytree(shards, data)
    uri = server.put(data)
    options = {"on_error": "skip", "max_lost": 1, "cache": cache, "cache_dir": tmp_path / "cache"}
    datasets = [shardfeed.StreamingDataset(uri, batch_size=10, shuffle=False, rank=r, world_size=4, **options) for r in range(4)]

    def epoch() -> list[int]:
        steps = [[i for b in batches for i in b["id"].tolist()] for batches in zip(*datasets, strict=True)]
        assert len(steps) == len(datasets[0]) == 100
        return [i for step in steps for i in step]

    assert epoch() == list(range(4000))
    if isinstance(server, S3):
        pq.write_table(pq.read_table(data / "part-3.parquet").slice(0, 900), data / "part-3.parquet")
        server.put(data)
    else:
        server.command("rm", f"/{data.name}/part-3.parquet")
    rows, lost = epoch(), sum(d.stats()["lost_rows"] for d in datasets)
    if cache:
        assert rows == list(range(4000)) and lost == 0
    else:  # the start of the second epoch is read ahead, before the shard is replaced
        assert rows[:3000] == list(range(3000)) and set(rows) < set(range(4000))
        assert lost >= 4000 - len(rows)


def as_it_is(batch: Any) -> Any:
    return batch


PATHS: dict[str, Callable[..., Any]] = {
    "tensors": shardfeed.torch.StreamingDataset,
    "loader": shardfeed.torch.DataLoader,
    "threads": lambda uri, **given: shardfeed.torch.DataLoader(uri, threads=1, collate_fn=as_it_is, **given),
    "workers": lambda uri, **given: shardfeed.torch.DataLoader(uri, num_workers=1, collate_fn=as_it_is, **given),
    "torch's workers": lambda uri, **given: torch.utils.data.DataLoader(
        shardfeed.torch.StreamingDataset(uri, **given), batch_size=None, num_workers=1
    ),
    "map": lambda uri, **given: shardfeed.torch.StreamingDataset(uri, **given).map(as_it_is),
    "arrow": lambda uri, **given: (batch.to_arrow() for batch in shardfeed.StreamingDataset(uri, **given)),
    "arrow's capsules": lambda uri, **given: (pa.record_batch(batch) for batch in shardfeed.StreamingDataset(uri, **given)),
    "arrow of tensors": lambda uri, **given: (batch.to_arrow() for batch in shardfeed.torch.StreamingDataset(uri, **given)),
    "pandas": lambda uri, **given: (batch.to_pandas() for batch in shardfeed.StreamingDataset(uri, **given)),
}


@pytest.mark.parametrize("path", PATHS)
def test_the_mask_is_there_without_a_word(damaged: Path, path: str) -> None:
    stream = PATHS[path](damaged, batch_size=50, columns=["id"], shuffle=False, on_error="mask", max_lost=0.1)
    seen: list[int] = []
    for batch in stream:
        valid, ids = np.asarray(batch["_row_valid"]).astype(bool), np.asarray(batch["id"])
        assert len(ids) == len(valid) == 50
        seen += ids[valid].tolist()
    assert seen == [i for i in range(4000) if i not in LOST]
    if hasattr(stream, "close"):
        stream.close()


@pytest.mark.parametrize("kind", [shardfeed.StreamingDataset, shardfeed.torch.StreamingDataset, shardfeed.torch.DataLoader])
def test_the_mask_of_rows_is_there_without_a_word(damaged: Path, kind: Any) -> None:
    rows = kind(damaged, batch_size=None, columns=["id"], shuffle=False, on_error="mask", max_lost=0.1)
    assert [int(row["id"]) for row in rows if row["_row_valid"]] == [i for i in range(4000) if i not in LOST]


def test_arrow_has_the_mask_that_was_asked_for(shards: Path) -> None:
    [batch] = shardfeed.StreamingDataset(shards, batch_size=4001, columns=["id"], tail="pad", with_row_valid=True)
    table = batch.to_arrow()
    assert table.column("_row_valid").to_pylist() == [True] * 4000 + [False]
    assert "_row_valid" not in next(iter(shardfeed.StreamingDataset(shards, batch_size=10))).to_arrow().schema.names


def first_id(row: Any) -> int:
    return int(row["id"]) if row.get("_row_valid", True) else -1


ROWS: dict[str, Callable[..., Any]] = {
    "numpy": shardfeed.StreamingDataset,
    "torch": shardfeed.torch.StreamingDataset,
    "loader": shardfeed.torch.DataLoader,
    "threads": lambda uri, **given: shardfeed.torch.DataLoader(uri, threads=2, collate_fn=dict, **given),
}


@pytest.mark.parametrize("on_error", ["mask", "skip"])
@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("shuffle", [True, False])
def test_rows_resume_between_lost_rows(damaged: Path, kind: str, on_error: str, shuffle: bool) -> None:
    """Rows come many at once, and each has a state of its own, also beside rows that are lost."""
    given: dict[str, Any] = {"batch_size": None, "columns": ["id"], "seed": 3, "shuffle": shuffle, "on_error": on_error, "max_lost": 0.1}
    given["with_row_valid"] = on_error == "mask"
    whole = [first_id(row) for row in ROWS[kind](damaged, **given)]
    assert len(whole) == (4000 if on_error == "mask" else 3750)
    assert sorted(i for i in whole if i >= 0) == sorted(set(range(4000)) - LOST)
    for taken in (1, 200, 1400, 1500, 1503, 1749, 2100):
        stream = ROWS[kind](damaged, **given)
        rows = iter(stream)
        ids = [first_id(next(rows)) for _ in range(taken)]
        state = stream.state_dict()
        del rows
        resumed = ROWS[kind](damaged, **given)
        resumed.load_state_dict(state)
        ids += [first_id(row) for row in resumed]
        assert ids == whole, f"after {taken} rows"
        assert resumed.stats()["audit"]["faults"] is None, resumed.stats()["audit"]["text"]
        if on_error == "mask":
            assert state["shardfeed"]["position"] == taken  # as on every other rank
