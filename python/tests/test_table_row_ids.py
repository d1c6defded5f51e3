"""The column _row_id of tables: the ids that the writer reads, however the rows are read."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from test_refresh import Growing
from test_tables import TABLE

from shardfeed import MapDataset, Pack, ShardfeedError, Source, StreamingDataset

pytestmark = pytest.mark.usefixtures("runtime")

TRACKED = TABLE.with_name("tracked")
COLUMNS = ["id", "_row_id"]
OPTIONS: dict[str, Any] = {"columns": COLUMNS, "batch_size": 7, "shuffle": True, "tail": "short"}


def of_rows(written: Mapping[str, Any]) -> dict[int, int | None]:
    """Return the row ids of a snapshot by its writer, by id."""
    at, row_id = (written["columns"].index(name) for name in COLUMNS)
    return {row[at]: row[row_id] for row in written["rows"]}


def written(version: str) -> dict[int, int | None]:
    return of_rows(json.loads(TRACKED.with_suffix(".json").read_text())[version])


def read(batches: Iterable[Mapping[str, Any]]) -> dict[int, int]:
    return {int(i): int(n) for batch in batches for i, n in zip(batch["id"], batch["_row_id"], strict=True)}


def test_streams_and_rows_by_number() -> None:
    want = written("10")
    assert read(StreamingDataset(f"delta+{TRACKED}", **OPTIONS)) == want
    rows = MapDataset(f"delta+{TRACKED}", columns=COLUMNS)
    assert read({k: [v] for k, v in rows[i].items()} for i in range(len(rows))) == want
    assert "_row_id" not in next(iter(StreamingDataset(f"delta+{TRACKED}", columns=["id", "n"], batch_size=7)))


@pytest.mark.parametrize("version", ["5", "10"])  # some files of the first have the ids of some rows
@pytest.mark.parametrize(
    ("filters", "keep"),
    [
        ("_row_id >= 40", lambda n: n >= 40),
        ("_row_id in (5, 41, 61, 5000)", lambda n: n in (5, 41, 61)),
        ("_row_id between 10 and 12 or _row_id = 60", lambda n: 10 <= n <= 12 or n == 60),
        ("not (_row_id in (3, 41))", lambda n: n not in (3, 41)),
        ("_row_id is not null", lambda n: True),
    ],
)
def test_filters(version: str, filters: str, keep: Any) -> None:
    want = {i: n for i, n in written(version).items() if keep(n)}
    rows = MapDataset(f"delta+{TRACKED}", snapshot=version, columns=COLUMNS, filters=filters)
    assert read({k: [v] for k, v in rows[i].items()} for i in range(len(rows))) == want
    assert want and read(StreamingDataset(f"delta+{TRACKED}", snapshot=version, filters=filters, **OPTIONS)) == want


def test_iceberg(tmp_path: Path) -> None:
    with zipfile.ZipFile(TABLE.parents[1] / "iceberg" / "tracked.zip") as packed:
        packed.extractall(tmp_path)
    want = of_rows(json.loads((tmp_path / "rows.json").read_text())[""])
    assert None not in want.values()
    assert read(StreamingDataset(f"iceberg+{tmp_path}", **OPTIONS)) == want
    some = StreamingDataset(f"iceberg+{tmp_path}", filters="_row_id < 20", **OPTIONS)
    assert read(some) == {i: n for i, n in want.items() if n is not None and n < 20}


def test_splits_stay() -> None:
    """A part by the hash of the ids has the same rows at each version."""
    split: dict[str, Any] = {"parts": {"train": 3, "test": 1}, "part_key": "_row_id"}
    versions = ["5", "8", "10"]
    common = set.intersection(*(set(written(version).values()) for version in versions))
    for part in ("train", "test"):
        datasets = [StreamingDataset(f"delta+{TRACKED}", snapshot=version, part=part, **split, **OPTIONS) for version in versions]
        first, *others = [common.intersection(read(dataset).values()) for dataset in datasets]
        assert first and others == [first, first]


def test_packs_have_a_list_of_ids() -> None:
    """The documents of a block have their ids, and the tokens of the rows with these ids."""
    alphabet = {letter: n for n, letter in enumerate(tokenizers.pre_tokenizers.ByteLevel.alphabet())}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(alphabet, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    plain = MapDataset(f"delta+{TRACKED}", columns=["body", *COLUMNS])
    texts = {int(row["_row_id"]): row["body"] for row in (plain[i] for i in range(len(plain)))}
    dataset = StreamingDataset(
        f"delta+{TRACKED}",
        columns=["body", "_row_id"],
        batch_size=2,
        shuffle=True,
        tail="short",
        tokenize={"body": tokenizer},
        pack=Pack({"body": 40}, strategy="bfd", with_columns=["doc_ids", "position_ids"]),
    )
    got = {}
    for batch in dataset:
        for tokens, documents, ids in zip(batch["body"], batch["doc_ids"], batch["_row_id"], strict=True):
            for k, n in enumerate(ids):
                got[int(n)] = [int(token) for token, document in zip(tokens, documents, strict=True) if document == k]
    assert got == {n: tokenizer.encode(text).ids for n, text in texts.items()}


def test_mixtures() -> None:
    """Sources that track rows have their ids; with missing, others have nulls."""
    tracked = Source(f"delta+{TRACKED}", snapshot="10", repeat=1)
    other = Source(f"delta+{TABLE}", repeat=1)
    options = {**OPTIONS, "missing": "null", "null": {"_row_id": -1}}
    batches = StreamingDataset(sources={"tracked": tracked, "other": other}, row_ids=True, **options)
    ids: dict[int, list[tuple[int, int]]] = {0: [], 1: []}
    for batch in batches:
        for source, i, n in zip(batch["source"], batch["id"], batch["_row_id"], strict=True):
            ids[int(source)].append((int(i), int(n)))
    assert dict(ids[0]) == written("10")
    assert ids[1] and {n for _, n in ids[1]} == {-1}
    with pytest.raises(ShardfeedError, match="does not track rows"):
        StreamingDataset(sources={"tracked": tracked, "other": other}, **OPTIONS)


def test_filters_of_sources() -> None:
    tracked = Source(f"delta+{TRACKED}", snapshot="5", repeat=1, filters="_row_id < 30 or _row_id = 61 or _row_id >= 72")
    dataset = StreamingDataset(
        sources={"other": Source(f"delta+{TABLE}", repeat=1), "tracked": tracked},
        row_ids=True,
        missing="null",
        null={"_row_id": -1},
        **OPTIONS,
    )
    got = {int(n) for batch in dataset for n in batch["_row_id"]} - {-1}
    assert got == {n for n in written("5").values() if n is not None and (n < 30 or n == 61 or n >= 72)}


class GrowingTracked(Growing):
    """The table with row ids."""

    table = TRACKED


def test_each_epoch_has_the_ids_of_its_snapshot(tmp_path: Path) -> None:
    table = GrowingTracked(tmp_path, 1)
    dataset = StreamingDataset(table.uri, refresh="epoch", **OPTIONS)
    for version in (1, 3, 5, 8, 10):
        table.grow(version)
        assert read(dataset) == written(str(version))


def test_a_matrix() -> None:
    dataset = StreamingDataset(f"delta+{TRACKED}", columns=["_row_id", "n"], batch_size=5, stack={"x": ["_row_id", "n"]}, tail="short")
    got = [int(row[1]) for batch in dataset for row in batch["x"]]
    assert sorted(got) == sorted(n for n in written("10").values() if n is not None)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("_row_id", r"does not track rows in snapshot 7.*SET TBLPROPERTIES \('delta.enableRowTracking' = 'true'\)"),
        ("_metadata.row_id", "Spark's name of the row ids .they are in the column _row_id"),
        ("_row_commit_version", "_row_commit_version, the commit that changed a row last, cannot be read"),
    ],
)
def test_names_that_a_table_lacks(name: str, said: str) -> None:
    with pytest.raises(ShardfeedError, match=said):
        StreamingDataset(f"delta+{TABLE}", columns=["id", name], batch_size=7)
    with pytest.raises(ShardfeedError, match=said):
        StreamingDataset(f"delta+{TABLE}", columns=["id"], filters=f"{name} = 3", batch_size=7)
