"""Ids and seeds of rows: what they are, and that they do not depend on ranks, batches or workers."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shardfeed
from shardfeed import StreamingDataset

ROWS = 97


@pytest.fixture
def table(tmp_path: Path, runtime: Path) -> Path:
    """Two folders of shards, whose ids count in the order of the addresses' shards."""
    root, at = tmp_path, 0
    for folder, sizes in (("a", (30, 17)), ("b", (50,))):
        (root / folder).mkdir()
        for n, rows in enumerate(sizes):
            pq.write_table(pa.table({"id": range(at, at + rows)}), root / folder / f"{n}.parquet", row_group_size=20)
            at += rows
    return root


def columns(dataset: StreamingDataset, *names: str) -> dict[int, tuple[int, ...]]:
    """The values of columns by id, over one epoch; rows of padding repeat others."""
    found: dict[int, tuple[int, ...]] = {}
    for batch in dataset:
        for ident, *values in zip(batch["id"].tolist(), *(batch[name].tolist() for name in names)):
            assert found.setdefault(ident, tuple(values)) == tuple(values)
    return found


def test_row_ids(table: Path) -> None:
    dataset = StreamingDataset([table / "b", table / "a"], batch_size=8, row_ids=True)
    assert list(dataset.schema) == ["id", "_row", "source"]
    assert [str(field) for field in dataset.schema.values()] == ["int64", "int64", "int32"]
    assert columns(dataset, "_row", "source") == {n: (n, int(n < 47)) for n in range(ROWS)}


def test_locate(table: Path) -> None:
    dataset = StreamingDataset([table / "a", table / "b"], batch_size=8)
    assert dataset.locate(0) == (str(table / "a/0.parquet"), 0, 0)
    assert dataset.locate(29) == (str(table / "a/0.parquet"), 1, 9)
    place = dataset.locate(ROWS - 1)
    assert (place.path, place.row_group, place.row) == (str(table / "b/0.parquet"), 2, 9)
    for wrong in (-1, 1.5, "0", True, None):
        with pytest.raises(ValueError, match="locate needs the number of a row, a whole number from 0 on, got"):
            dataset.locate(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"row must be 0 to {ROWS - 1}, got {ROWS}"):
        dataset.locate(ROWS)


def test_locate_during_an_iteration(table: Path) -> None:
    dataset = StreamingDataset([table / "a", table / "b"], batch_size=8, row_ids=True)
    for batch in dataset:
        row = int(batch["_row"][0])
        place = dataset.locate(row)
        group = pq.ParquetFile(place.path).read_row_group(place.row_group)
        assert group["id"][place.row].as_py() == batch["id"][0]


def test_seeds_are_of_rows(table: Path) -> None:
    want = columns(StreamingDataset([table / "a", table / "b"], batch_size=8, seeds=True, seed=5), "_seed")
    assert len({seed for (seed,) in want.values()}) == ROWS
    for world, batch_size, workers in ((2, 8, 1), (4, 5, 2), (1, 3, 3)):
        got: dict[int, tuple[int, ...]] = {}
        for rank in range(world):
            dataset = StreamingDataset(
                [table / "a", table / "b"],
                batch_size=batch_size,
                seeds=True,
                seed=5,
                rank=rank,
                world_size=world,
                collate_workers=workers,
                with_row_valid=True,
            )
            assert list(dataset.schema) == ["id", "_seed"]
            got |= columns(dataset, "_seed")
        assert got == want


def test_seeds_differ_by_epoch_and_seed(table: Path) -> None:
    dataset = StreamingDataset([table / "a", table / "b"], batch_size=8, seeds=True, seed=5)
    first, second = columns(dataset, "_seed"), columns(dataset, "_seed")
    dataset.set_epoch(1)
    other = columns(StreamingDataset([table / "a", table / "b"], batch_size=8, seeds=True, seed=6), "_seed")
    assert columns(dataset, "_seed") == second
    assert not {*first.values()} & {*second.values()} and not {*first.values()} & {*other.values()}


def test_rows_have_ids_too(table: Path) -> None:
    rows = StreamingDataset([table / "a", table / "b"], batch_size=None, shuffle=False, row_ids=True, seeds=True)
    assert [(row["id"], row["_row"]) for row in rows] == [(n, n) for n in range(ROWS)]


def test_names_that_the_data_has(tmp_path: Path, runtime: Path) -> None:
    pq.write_table(pa.table({"id": [1], "source": ["web"], "_seed": [1]}), tmp_path / "t.parquet")
    with pytest.raises(shardfeed.errors.SchemaError, match=r'column "source".*row ids add a column of this name'):
        StreamingDataset(tmp_path, batch_size=1, row_ids=True)
    with pytest.raises(ValueError, match='seeds adds the column "_seed", and the data has one: leave it out of columns'):
        StreamingDataset(tmp_path, batch_size=1, seeds=True, columns=["id", "_seed"])
    assert [list(batch) for batch in StreamingDataset(tmp_path, batch_size=1, columns=["id", "source"], seeds=True)] == [
        ["id", "source", "_seed"]
    ]
    assert [batch["source"].tolist() for batch in StreamingDataset(tmp_path, batch_size=1, columns=["id"], row_ids=True)] == [[0]]


def test_wrong_arguments(table: Path) -> None:
    with pytest.raises(ValueError, match="row_ids") as caught:
        StreamingDataset(table, batch_size=1, row_ids="yes", seeds=1)  # type: ignore[arg-type]
    assert "seeds" in str(caught.value)


def test_vocabulary_of_a_file(tmp_path: Path, runtime: Path, engine_binary: Path) -> None:
    pq.write_table(pa.table({"label": ["b", "a", None, "b"]}), tmp_path / "t.parquet")
    words = tmp_path.parent / "words.json"
    subprocess.run([engine_binary, "vocab", tmp_path, "--column", "label", "--save", words], check=True)
    assert json.loads(words.read_text()) == ["a", "b"]
    dataset = StreamingDataset(tmp_path, batch_size=4, shuffle=False, vocabulary={"label": words}, null={"label": -1})
    assert [batch["label"].tolist() for batch in dataset] == [[1, 0, -1, 1]]
    for wrong, text in (("nowhere.json", "got 'nowhere.json': .*No such file"), (__file__, "must be a list of words")):
        with pytest.raises(ValueError, match=text):
            StreamingDataset(tmp_path, batch_size=4, vocabulary={"label": wrong})
    words.write_text("3")
    with pytest.raises(ValueError, match="must be a JSON list of words, got 3"):
        StreamingDataset(tmp_path, batch_size=4, vocabulary={"label": str(words)})


def vocabulary(engine_binary: Path, where: Path, column: str, *flags: str) -> dict[str, Any]:
    ran = subprocess.run([engine_binary, "vocab", where, "--column", column, "--json", *flags], check=True, capture_output=True)
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


WORDS = [f"word {i:05d}" for i in range(5000)]
STRUCTS = [{"t": "a"}, None, {"t": None}, {"t": "b"}]
TABLES: dict[str, tuple[pa.Table, str, dict[str, Any]]] = {
    "coded": (pa.table({"t": ["b", "a", None, "b"] * 100}), "t", {}),
    "plain": (pa.table({"t": ["b", "a", None, "b"] * 100}), "t", {"use_dictionary": False}),
    "coded in part": (pa.table({"t": WORDS}), "t", {"dictionary_pagesize_limit": 1000, "write_batch_size": 100}),
    "nulls alone": (pa.table({"t": pa.array([None, None], pa.string())}), "t", {}),
    "no statistics": (pa.table({"t": ["b", "a", None]}), "t", {"write_statistics": False}),
    "required": (pa.table([["b", "a"]], pa.schema([pa.field("t", pa.string(), nullable=False)])), "t", {}),
    "member of a struct": (pa.table({"s": STRUCTS}), "s.t", {}),
    "two row groups": (pa.table({"t": ["b", "a", "d", "c"]}), "t", {"row_group_size": 2}),
}


@pytest.mark.parametrize("case", TABLES)
def test_vocabulary_of_dictionaries(tmp_path: Path, engine_binary: Path, case: str) -> None:
    """Dictionaries tell what the rows tell."""
    table, column, how = TABLES[case]
    pq.write_table(table, tmp_path / "t.parquet", **how)
    got, counted = (vocabulary(engine_binary, tmp_path, column, *flags) for flags in ([], ["--min-count", "1"]))
    values = [row for row in table.flatten().columns[0].to_pylist() if row is not None]
    assert got["words"] == sorted(set(values)) == sorted(counted["words"])
    assert (got["rows"], got["nulls"]) == (counted["rows"], counted["nulls"]) == (len(table), len(table) - len(values))


def test_vocabulary_of_unused_words(tmp_path: Path, engine_binary: Path) -> None:
    """Words of a dictionary that no row has are listed, unless words are counted."""
    kept = pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 0], pa.int32()), ["b", "unused", "a"])
    pq.write_table(pa.table({"t": kept}), tmp_path / "t.parquet")
    assert vocabulary(engine_binary, tmp_path, "t")["words"] == ["a", "b", "unused"]
    assert vocabulary(engine_binary, tmp_path, "t", "--min-count", "1")["words"] == ["b", "a"]


def test_vocabulary_of_directories(tmp_path: Path, engine_binary: Path) -> None:
    for name in ("lang=en", "lang=de", "lang=__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"id": [1, 2]}), tmp_path / name / "t.parquet")
    got = vocabulary(engine_binary, tmp_path, "lang")
    assert got == {"column": "lang", "rows": 6, "nulls": 2, "words": ["de", "en"], "counts": []}


def test_rules_leave_ids_and_seeds(table: Path) -> None:
    """A row has its number and its seed whatever rows a rule leaves out, or how often it comes."""
    uri = [table / "a", table / "b"]
    want = columns(StreamingDataset(uri, batch_size=8, row_ids=True, seeds=True, seed=5), "_row", "source", "_seed")
    for rule in ({"filters": "id >= 20 and id < 90"}, {"parts": {"train": 3, "val": 1}, "part": "train"}, {"weight": "id"}):
        dataset = StreamingDataset(uri, batch_size=8, row_ids=True, seeds=True, seed=5, **rule)
        got = columns(dataset, "_row", "source", "_seed")
        assert 60 < len(got) < ROWS and got.items() <= want.items()
    kept = StreamingDataset(uri, batch_size=8, filters="id >= 90")
    assert kept.locate(0) == (str(table / "a/0.parquet"), 0, 0)  # numbers count all rows
    assert kept.locate(ROWS - 1).row == 9
