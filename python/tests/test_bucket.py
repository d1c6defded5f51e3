"""Buckets: every row once, batches within the budget, even steps, resume, refusals."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import shardfeed.torch
from shardfeed import Bucket, Bytes, MapDataset, Source, StreamingDataset, errors

pytestmark = pytest.mark.usefixtures("job")

BUDGET = 600


def length(i: int) -> int:
    return 1 + (37 * i) % 151


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two shards of 300 rows of 1 to 151 tokens; every 17th list is null."""
    directory = tmp_path_factory.mktemp("rows")
    for k in range(2):
        ids = range(300 * k, 300 * (k + 1))
        columns = {
            "token_ids": pa.array([None if i % 17 == 0 else [i] * length(i) for i in ids], pa.list_(pa.int32())),
            "id": pa.array(ids, pa.int64()),
            "text": pa.array([f"row {i}" for i in ids], pa.string()),
            "n_tokens": pa.array([length(i) for i in ids], pa.int16()),
            "debt": pa.array([-4 if i == 170 else 4 for i in ids], pa.int16()),
        }
        pq.write_table(pa.table(columns), directory / f"part-{k}.parquet", row_group_size=150)
    return directory


@pytest.mark.parametrize("column", ["token_ids", "n_tokens"])
@pytest.mark.parametrize("world_size", [1, 2])
def test_every_row_comes_once(table: Path, column: str, world_size: int) -> None:
    found: Counter[int] = Counter()
    steps = set()
    for rank in range(world_size):
        dataset = StreamingDataset(
            table, batch_size=1, bucket=Bucket({column: BUDGET}, multiple=8, max_rows=20), rank=rank, world_size=world_size
        )
        batches = list(dataset)
        steps.add(len(batches))
        assert len(dataset) == len(batches)
        for batch in batches:
            assert isinstance(batch["text"], Bytes) and len(batch["token_ids"]) == len(batch["id"]) == batch.rows <= 20
            longest = -(-max(length(int(i)) for i in batch["id"]) // 8) * 8
            if column == "n_tokens":
                assert batch.rows == 1 or longest * batch.rows <= BUDGET
            for i, tokens, text in zip(batch["id"].tolist(), batch["token_ids"], batch["text"]):
                assert tokens.tolist() == ([] if i % 17 == 0 else [i] * length(i)) and text == f"row {i}"
            found.update(batch["id"][batch.row_valid].tolist())
    assert len(steps) == 1 and found == Counter(range(600))


def test_padded_batches(table: Path) -> None:
    loader = shardfeed.torch.DataLoader(
        table,
        batch_size=1,
        columns=["token_ids", "id"],
        bucket={"token_ids": BUDGET},
        pad={"token_ids": -1},
        shuffle_buffer=20,
        with_row_valid=True,
    )
    rows, real, padded = 0, 0, 0
    for batch in loader:
        tokens, lengths = batch["token_ids"], batch["token_ids_lengths"]
        assert tokens.shape == (len(batch["id"]), int(lengths.max().clamp(min=1))) and (len(tokens) == 1 or tokens.numel() <= BUDGET)
        assert torch.equal(tokens >= 0, torch.arange(tokens.shape[1]) < lengths[:, None]) and bool(batch["_row_valid"].all())
        rows, real, padded = rows + len(tokens), real + int(lengths.sum()), padded + tokens.numel()
    assert rows == 600 and real / padded > 0.8


def read(table: Path, world_size: int, state: Any = None, stop: int = 0) -> tuple[list[Any], Any]:
    """The rows of all ranks' batches, and the state after so many of them; 0 reads to the end."""
    steps: list[Any] = []
    for rank in range(world_size):
        dataset = StreamingDataset(
            table,
            batch_size=1,
            columns=["id"],
            bucket={"n_tokens": BUDGET},
            tail="short",
            shuffle_buffer=20,
            rank=rank,
            world_size=world_size,
        )
        if state is not None:
            dataset.load_state_dict(state)
        for n, batch in enumerate(dataset):
            steps.append(batch["id"][batch.row_valid].tolist())
            if n + 1 == stop:
                break
        after = dataset.state_dict()
    return steps, after


def test_resume_on_other_ranks(table: Path) -> None:
    whole, _ = read(table, 2)
    for stop in (1, 5, len(whole) // 2 - 1):
        first, state = read(table, 2, stop=stop)
        rest, _ = read(table, 3, state)
        assert sorted(filter(None, first + rest)) == sorted(filter(None, whole))


def mixed(table: Path, **given: Any) -> StreamingDataset[Any]:
    """Batches of the rows up to 200, and thrice as many of those behind."""
    sources = {"few": Source(table, weight=1, filters="id < 200"), "many": Source(table, weight=3, filters="id >= 200")}
    given = {"epoch_size": 120, "tail": "drop", "seed": 4, "lanes": 4, **given}
    return StreamingDataset(sources=sources, batch_size=1, columns=["id", "token_ids"], bucket={"n_tokens": BUDGET}, **given)


def test_a_mixture_of_buckets(table: Path) -> None:
    """A batch is a sample, and has rows of one source; each pass over a source has each row once."""
    dataset = mixed(table, lanes=1)  # so that no pass begins before the last batch of the one before
    found: dict[bool, list[int]] = {True: [], False: []}
    batches: Counter[bool] = Counter()
    for batch in dataset:
        ids = batch["id"].tolist()
        assert len(ids) == 1 or max(map(length, ids)) * len(ids) <= BUDGET
        assert [tokens.tolist() for tokens in batch["token_ids"]] == [[] if i % 17 == 0 else [i] * length(i) for i in ids]
        few = ids[0] < 200
        assert all((i < 200) is few for i in ids)
        batches[few] += 1
        found[few] += ids
    assert batches.total() == len(dataset) == dataset.size == 120 and abs(batches[True] - 30) <= 1
    for few, rows in ((True, 200), (False, 400)):
        times = Counter(found[few])
        passes = len(found[few]) / rows
        assert set(times.values()) <= {int(passes), int(passes) + 1} and len(times) == rows


def test_a_mixture_of_buckets_on_other_ranks(table: Path) -> None:
    whole = [sorted(batch["id"].tolist()) for batch in mixed(table)]
    ranks = [mixed(table, rank=rank, world_size=2) for rank in range(2)]
    first = [sorted(batch["id"].tolist()) for pair in zip(*(islice(dataset, 9) for dataset in ranks), strict=True) for batch in pair]
    rest = mixed(table)
    rest.load_state_dict(ranks[0].state_dict())
    assert sorted(first) == sorted(whole[:18])
    assert [sorted(batch["id"].tolist()) for batch in rest] == whole[18:]


def test_seeds_and_row_ids_are_of_rows(table: Path) -> None:
    plain = {int(i): int(s) for b in StreamingDataset(table, batch_size=8, columns=["id"], seeds=True) for i, s in zip(b["id"], b["_seed"])}
    for batch in StreamingDataset(table, batch_size=1, columns=["id"], bucket={"n_tokens": BUDGET}, seeds=True, row_ids=True, tail="carry"):
        assert batch["_row"].tolist() == batch["id"].tolist() and batch["source"].dtype == np.int32
        assert batch["_seed"].tolist() == [plain[int(i)] for i in batch["id"]] or batch.epoch > 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bucket": {"token_ids": BUDGET}, "batch_size": 8}, "bucket makes the batches: give batch_size=1, got 8"),
        ({"bucket": {"token_ids": BUDGET}, "batch_size": None}, "bucket makes the batches: give batch_size=1, got None"),
        ({"bucket": {"token_ids": 8, "n_tokens": 8}}, "bucket must name one column and the tokens of a batch"),
        ({"bucket": {"token_ids": 0}}, "bucket of column 'token_ids' must be at least 1, got 0"),
        ({"bucket": Bucket({"token_ids": 8}, multiple=0)}, "multiple of bucket must be at least 1, got 0"),
        ({"bucket": {"token_ids": 8}, "pack": {"token_ids": 8}}, "bucket makes batches of rows, and pack makes blocks"),
        (
            {"bucket": {"text": 8}},
            'bucket["text"] must be a column of lists, or of integers that are their lengths, got "text", which is string',
        ),
        ({"bucket": {"debt": 8}}, 'bucket["debt"] takes lengths from 0 to 2147483645, got -4 in column "debt"'),
        ({"bucket": {"tokens": 8}}, 'bucket["tokens"] names column "tokens", which the data does not have'),
    ],
)
def test_refused(table: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.ShardfeedError) as e:
        StreamingDataset(table, **{"batch_size": 1, **given})
    assert message in str(e.value)


def test_what_needs_rows(table: Path) -> None:
    dataset = StreamingDataset(table, batch_size=1, bucket={"n_tokens": BUDGET})
    with pytest.raises(errors.OptionError, match="filter does not go with bucket"):
        dataset.filter(lambda batch: batch["id"])
    with pytest.raises(TypeError, match="give it to a StreamingDataset"):
        MapDataset(table, batch_size=4, bucket={"n_tokens": 8})  # type: ignore[call-arg]
