"""Which rows a data set reads: filters, parts, samples, lists of rows and weights, against pyarrow and DuckDB."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shardfeed import StreamingDataset, errors

pytestmark = pytest.mark.usefixtures("job")

LANGUAGES = ("en", "de", "fr", None)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three shards of 1,000 rows in two partitions, with nulls and NaN; id counts the rows."""
    directory = tmp_path_factory.mktemp("table")
    random = np.random.default_rng(5)
    for k in range(3):
        ids = list(range(1000 * k, 1000 * (k + 1)))
        scores = [None if i % 11 == 0 else float("nan") if i % 13 == 0 else float(random.random()) for i in ids]
        columns = {
            "id": pa.array(ids, pa.int64()),
            "score": pa.array(scores, pa.float64()),
            "lang": pa.array([LANGUAGES[i % 4] for i in ids], pa.string()),
            "tokens": pa.array([None if i % 17 == 0 else list(range(i % 6)) for i in ids], pa.list_(pa.int32())),
            "meta": pa.array([{"stars": i % 5} for i in ids], pa.struct([("stars", pa.int32())])),
            "times": pa.array([i % 3 for i in ids], pa.int32()),
        }
        place = directory / f"year={2024 + k // 2}"
        place.mkdir(exist_ok=True)
        pq.write_table(pa.table(columns), place / f"part-{k}.parquet", row_group_size=300)
    return directory


def ids(dataset: Any) -> list[int]:
    return [int(i) for batch in dataset for i in batch["id"][batch.row_valid].tolist()]


def read(table: Path, **given: Any) -> list[int]:
    """The ids of an epoch over all ranks."""
    world_size = given.pop("world_size", 1)
    found: list[int] = []
    for rank in range(world_size):
        found += ids(StreamingDataset(table, batch_size=32, columns=["id"], rank=rank, world_size=world_size, **given))
    return found


def where(table: Path, condition: str) -> list[int]:
    """What DuckDB finds."""
    files = f"read_parquet('{table}/*/*.parquet', hive_partitioning=true)"
    return [i for (i,) in duckdb.sql(f"select id from {files} where {condition} order by id").fetchall()]


@pytest.mark.parametrize(
    "filters",
    [
        [("id", ">=", 1500)],
        [("lang", "in", ["en", "fr"]), ("id", "<", 2000)],
        [[("score", ">", 0.9)], [("lang", "==", "de"), ("id", "!=", 1)]],
        [("year", "=", 2025)],
        [("score", "<=", 0.25), ("year", "in", [2024])],
    ],
    ids=str,
)
@pytest.mark.parametrize("world_size", [1, 2])
def test_the_rows_are_pyarrows(table: Path, filters: Any, world_size: int) -> None:
    want = pq.read_table(table, filters=filters, columns=["id"])["id"].to_pylist()
    assert want and len(want) < 3000
    assert sorted(read(table, filters=filters, world_size=world_size)) == sorted(want)


@pytest.mark.parametrize(
    "condition",
    [
        "score >= 0.5 and lang in ('en', 'de') or meta.stars = 4",
        "not (lang = 'en') and id between 100 and 2900",
        "lang is null or len(tokens) > 3",
        "tokens is not null and year = 2024",
    ],
)
def test_the_rows_are_duckdbs(table: Path, condition: str) -> None:
    want = where(table, condition.replace("score >= 0.5", "score >= 0.5 and not isnan(score)"))  # NaN is the greatest number there
    assert want and sorted(read(table, filters=condition)) == want


@pytest.mark.parametrize("world_size", [1, 2])
@pytest.mark.parametrize("given", [{}, {"part_key": "meta.stars"}, {"filters": "lang = 'en'"}, {"part_seed": 3}], ids=str)
def test_parts_are_disjoint_and_all(table: Path, given: dict[str, Any], world_size: int) -> None:
    parts = {"train": 9, "val": 1}
    train, val = (read(table, parts=parts, part=part, world_size=world_size, seed=7, **given) for part in parts)
    everything = read(table, **({"filters": given["filters"]} if "filters" in given else {}))
    assert sorted(train + val) == sorted(everything) and not set(train) & set(val)
    if not given:
        assert abs(len(val) - 300) <= 3, "an exact share"
    if "part_key" in given:
        assert {i % 5 for i in train}.isdisjoint({i % 5 for i in val})


def test_a_sample(table: Path) -> None:
    half = read(table, subsample=0.5)
    assert abs(len(half) - 1500) <= 3 and len(set(half)) == len(half)
    assert set(read(table, subsample=0.5, filters="id < 1000")) == {i for i in half if i < 1000}, "before the filter"


def test_a_weight(table: Path) -> None:
    came = Counter(read(table, weight="times"))
    assert came == Counter({i: i % 3 for i in range(3000) if i % 3}), "as often as its column says"


def test_length_size_and_epochs(table: Path) -> None:
    dataset = StreamingDataset(table, batch_size=32, columns=["id"], filters="id < 1000")
    assert dataset.size == 1000 and len(dataset) == len(list(dataset)) == 32
    first, second = ids(dataset), ids(dataset)
    assert first != second and sorted(first) == sorted(second) == list(range(1000))
    rows = StreamingDataset(table, batch_size=None, columns=["id"], filters="id < 100", rank=0, world_size=2)
    assert len(list(rows)) == len(rows) == 50


@pytest.mark.parametrize("workers", [0, 2])
def test_tensors(table: Path, workers: int) -> None:
    torch = pytest.importorskip("torch")
    from shardfeed.torch import DataLoader

    with DataLoader(table, batch_size=32, columns=["id"], filters="id between 500 and 1499", seed=3, num_workers=workers) as loader:
        assert len(loader) == 32
        assert torch.cat([batch["id"] for batch in loader]).sort().values.tolist() == list(range(500, 1500))


def test_rule_columns_are_not_delivered(table: Path) -> None:
    batch = next(iter(StreamingDataset(table, batch_size=8, columns=["id"], filters="score > 0.5")))
    assert list(batch) == ["id"]


@pytest.mark.parametrize("world_size", [1, 2])
def test_resume_at_every_step(table: Path, world_size: int) -> None:
    given: dict[str, Any] = {"filters": "score > 0.8", "seed": 5, "parts": {"a": 1, "b": 1}, "part": "a"}
    whole = StreamingDataset(table, batch_size=16, columns=["id"], **given)
    batches = [(b["id"].tolist(), b.state) for b in whole]
    flat = [i for rows, _ in batches for i in rows]
    for at in range(0, len(batches) - 1, 3):
        rest: Counter[int] = Counter()
        for rank in range(world_size):
            again = StreamingDataset(table, batch_size=8, columns=["id"], rank=rank, world_size=world_size, tail="short", **given)
            again.load_state_dict(batches[at][1])
            rest.update(ids(again))
        assert rest == Counter(flat[sum(len(rows) for rows, _ in batches[: at + 1]) :])


def test_a_state_of_another_rule_is_refused(table: Path) -> None:
    dataset = StreamingDataset(table, batch_size=16, columns=["id"], filters="id < 1000")
    batches = iter(dataset)
    next(batches)
    state = dataset.state_dict()
    for other in ({"filters": "id < 1001"}, {"filters": "id < 1000", "subsample": 0.5}, {}):
        again = StreamingDataset(table, batch_size=16, columns=["id"], **other)
        again.load_state_dict(state)
        with pytest.raises(errors.StateError, match=r"(?s)rule is .* the rule is what filters, parts"):
            next(iter(again))


def test_ranks_with_other_rules_are_refused(table: Path) -> None:
    ranks = [StreamingDataset(table, batch_size=16, columns=["id"], filters=f"id < {1000 + k}", rank=k, world_size=2) for k in range(2)]
    for dataset in ranks:
        dataset._agree = "ranks of one line"
    first = iter(ranks[0])
    next(first)
    words = "filters: id < 1000 on rank 0, id < 1001 on rank 1"
    with pytest.raises(errors.RankMismatchError, match=words):
        next(iter(ranks[1]))
    with pytest.raises(errors.RankMismatchError, match=words):
        list(first)


def test_wrong_arguments_are_listed_together(table: Path) -> None:
    with pytest.raises(errors.OptionError) as e:
        StreamingDataset(
            table, batch_size=8, filters=[("id", "~", 3)], parts={"a": -1}, part=3, part_seed=-1, subsample=2, rows_new="all", weight=""
        )  # type: ignore[call-overload]
    for name in ("filters[0]", "parts['a']", "part must", "part_seed", "subsample", "rows_new", "weight"):
        assert name in str(e.value), name
    with pytest.raises(errors.OptionError) as e:
        StreamingDataset(table, batch_size=8, part="val", rows_new="keep")
    assert 'part needs parts, got "val" alone' in str(e.value) and "rows_new needs rows" in str(e.value)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"filters": "price > 3"}, r"filters .*price"),
        ({"filters": "id > 'x'"}, r"filters .*id"),
        ({"filters": "id >"}, r"filters at column 5, at the end: expected a value"),
        ({"filters": "id in @nothing.txt"}, r"nothing\.txt"),
        ({"weight": "lang"}, r"weight must be a column of integers"),
        ({"part_key": "tokens", "parts": {"a": 1}, "part": "a"}, r"part_key .*tokens"),
        ({"filters": "id < 0"}, r"filters .*id < 0"),
    ],
    ids=str,
)
def test_errors_of_the_data(table: Path, given: dict[str, Any], text: str) -> None:
    with pytest.raises((errors.OptionError, errors.DataError, errors.NotFoundError), match=text):
        StreamingDataset(table, batch_size=8, columns=["id"], **given)


def test_files_are_those_of_the_program(table: Path, tmp_path: Path) -> None:
    """The engine works in another directory."""
    (tmp_path / "drop.txt").write_text("".join(f"{i}\n" for i in range(10, 3000)))
    program = f"""
import shardfeed
for filters in ("not (id in @drop.txt)", "id not in @{tmp_path}/drop.txt"):
    dataset = shardfeed.StreamingDataset({str(table)!r}, batch_size=100, columns=["id"], shuffle=False, filters=filters)
    print([b["id"].tolist() for b in dataset])
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, env=os.environ)
    assert ran.stdout == f"{[list(range(10))]}\n" * 2, ran.stderr
