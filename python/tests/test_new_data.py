"""Tables that grow between a state and its resume."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from servers import Storage, hdfs, s3  # noqa: F401 - fixtures

from shardfeed import MapDataset, Source, StreamingDataset
from shardfeed.errors import OptionError, StateError
from shardfeed.torch import DataLoader

pytestmark = pytest.mark.usefixtures("runtime")


def write_day(table: Path, day: str, first: int, rows: int = 200) -> None:
    directory = table / f"dt={day}"
    directory.mkdir(parents=True, exist_ok=True)
    text = [f"text {i}" for i in range(first, first + rows)]
    pq.write_table(
        pa.table({"id": pa.array(range(first, first + rows), pa.int64()), "text": text}),
        directory / f"part-{first}.parquet",
        row_group_size=30,
    )


@pytest.fixture
def table(tmp_path: Path) -> Path:
    for i, day in enumerate(("2026-11-24", "2026-11-26")):
        write_day(tmp_path / "t", day, 200 * i)
    return tmp_path / "t"


def grow(table: Path) -> None:
    """New shards between the ones that are there, behind them, and one without rows."""
    write_day(table, "2026-11-25", 1_000)
    write_day(table, "2026-11-26", 2_000, 0)
    write_day(table, "2026-11-26", 30, 0)
    write_day(table, "2026-11-27", 3_000)


FILTERS = [
    {"filters": "dt <= '2026-11-26' and dt != '2026-11-25'"},
    {"filters": "id < 1000"},
    {"filters": "id < 1000", "parts": {"a": 4, "b": 1}, "part": "a", "part_key": "id"},
    {"filters": "id < 1000", "shuffle": False},
    {"filters": "id < 1000", "seeds": True},
    {"filters": "id < 1000 and text like 'text %'"},
]


def sequence(table: Path, given: dict, world: int, *, state=None, steps: int | None = None, g: int = 24):
    """The ids (and seeds) of each global step, sorted, and the state after it."""
    loaders = [
        DataLoader(table, batch_size=g // world, columns=["id"], seed=3, drop_last=True, rank=r, world_size=world, **given)
        for r in range(world)
    ]
    iterators = []
    for loader in loaders:
        if state is not None:
            loader.load_state_dict(state)
        iterators.append(iter(loader))
    out: list = []
    while steps is None or len(out) < steps:
        batches = [next(it, None) for it in iterators]
        if batches[0] is None:
            break
        names = ["id", *(["_seed"] if given.get("seeds") else [])]
        out.append(sorted(zip(*(torch.cat([b[name] for b in batches]).tolist() for name in names), strict=True)))
    after = loaders[0].state_dict()
    for loader in loaders:
        loader.close()
    return out, after


@pytest.mark.parametrize("given", FILTERS, ids=str)
def test_a_new_day_that_the_filter_excludes(table: Path, given: dict) -> None:
    want, _ = sequence(table, given, 2)
    got, state = sequence(table, given, 2, steps=4)
    grow(table)
    more, _ = sequence(table, given, 3, state=state)
    assert got + more == want


OTHER_COLUMNS = {
    "types": {"id": ["9000"], "text": [1.5]},
    "none of them": {"more": [1]},
    "wider types": {"id": [9_000.0], "text": [b"x"], "more": [1]},
}


@pytest.mark.parametrize("day", ["2026-11-20", "2026-11-27"])
@pytest.mark.parametrize("missing", ["error", "null"])
@pytest.mark.parametrize("columns", OTHER_COLUMNS.values(), ids=OTHER_COLUMNS)
def test_an_excluded_day_of_other_columns(table: Path, columns: dict, missing: str, day: str) -> None:
    given = {"filters": "dt in ('2026-11-24', '2026-11-26') and id < 1000 and text > ''", "missing": missing}
    want, _ = sequence(table, given, 2)
    loader = DataLoader(table, batch_size=8, **given)
    schema = loader.dataset.schema
    got, state = sequence(table, given, 2, steps=4)
    (table / f"dt={day}").mkdir()
    pq.write_table(pa.table(columns), table / f"dt={day}" / "p.parquet")
    more, _ = sequence(table, given, 3, state=state)
    assert got + more == want
    assert DataLoader(table, batch_size=8, **given).dataset.schema == schema
    rows = MapDataset(table, **given)
    assert sorted(rows[list(range(400))]["id"].tolist()) == list(range(400))
    mixed = StreamingDataset(batch_size=8, sources={"a": Source(table, filters=given["filters"])}, missing=missing)
    assert sorted(i for batch in mixed for i in batch["id"].tolist()) == list(range(400))


@pytest.mark.parametrize("given", [*FILTERS[:2], {}], ids=str)
@pytest.mark.parametrize("storage", ["s3", "hdfs"])
def test_new_days_on_servers(
    table: Path, tmp_path: Path, storage: str, given: dict, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    server: Storage = request.getfixturevalue(storage)
    for variable, value in server.environment.items():
        monkeypatch.setenv(variable, value)
    table = table.rename(tmp_path / f"days-{storage}-{len(str(given))}")
    uri = server.put(table)
    want, _ = sequence(uri, given, 2)
    got, state = sequence(uri, given, 2, steps=4)
    manifest = MapDataset(uri).manifest()
    new = tmp_path / "new" / table.name
    grow(new)
    server.put(new)
    if not given:
        with pytest.raises(StateError, match=r"added dt=2026-11-25/part-1000\.parquet"):
            sequence(uri, given, 1, state=state)
        given = {"manifest": manifest}
    shutil.rmtree(new)
    (new / "dt=2026-11-29").mkdir(parents=True)
    pq.write_table(pa.table({"id": pa.array([9_000], pa.int32())}), new / "dt=2026-11-29" / "p.parquet")
    server.put(new)
    more, _ = sequence(uri, given, 3, state=state)
    assert got + more == want


def test_ranks_that_list_before_and_after_agree(table: Path) -> None:
    """The second rank opens when the new day is there."""
    given = {"batch_size": 10, "columns": ["id"], "filters": "id < 1000", "world_size": 2}
    first = StreamingDataset(table, rank=0, **given)
    steps = first.schema, len(first), first.state_dict()
    grow(table)
    second = StreamingDataset(table, rank=1, **given)
    assert (second.schema, len(second), second.state_dict()) == steps


def saved(manifest: dict, how: str, path: Path):
    if how == "file":
        path.write_text(json.dumps(manifest))
        return path
    kept = io.BytesIO()
    torch.save(manifest, kept)
    kept.seek(0)
    return torch.load(kept)  # as a checkpoint is loaded, without classes


@pytest.mark.parametrize("how", ["file", "checkpoint"])
def test_a_saved_list(table: Path, tmp_path: Path, how: str) -> None:
    want, _ = sequence(table, {}, 2)
    got, state = sequence(table, {}, 2, steps=4)
    loader = DataLoader(table, batch_size=8)
    manifest = saved(loader.manifest(), how, tmp_path / "m")
    loader.close()
    grow(table)
    more, _ = sequence(table, {"manifest": manifest}, 1, state=state)
    assert got + more == want
    rows = MapDataset(table, manifest=manifest)
    assert len(rows) == 400 and len(rows.manifest()["sources"][0]["manifest"]["shards"]) == 2


def test_a_list_of_a_table_that_moved(table: Path, tmp_path: Path) -> None:
    manifest = MapDataset(table).manifest()
    shutil.copytree(table, tmp_path / "copy", copy_function=shutil.copyfile)
    grow(tmp_path / "copy")
    assert len(MapDataset(tmp_path / "copy", manifest=manifest)) == 400


def test_a_list_of_sources(table: Path, tmp_path: Path) -> None:
    shutil.copytree(table, tmp_path / "u")
    given = {"sources": {"a": Source(table, weight=2), "b": Source(tmp_path / "u")}, "batch_size": 10, "columns": ["id"]}
    loader = DataLoader(**given)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    state, manifest = loader.state_dict(), loader.manifest()
    want = [b["id"].tolist() for b in batches]
    grow(table)
    loader = DataLoader(**given)
    loader.load_state_dict(state)
    with pytest.raises(StateError, match=r'source "a" had 400 rows then, 800 rows now') as e:
        next(iter(loader))
    for text in ('source "a": added dt=2026-11-25/part-1000.parquet', "give the list of then as manifest", "plan", "day={"):
        assert text in str(e.value)
    assert 'source "b"' not in str(e.value)
    loader = DataLoader(**given, manifest=manifest)
    loader.load_state_dict(state)
    assert [b["id"].tolist() for b in loader] == want
    with pytest.raises(OptionError, match=r"manifest is of the sources \[\"a\" \"b\"\], and there are none"):
        DataLoader(table, batch_size=10, manifest=manifest)
    with pytest.raises(OptionError, match=r"manifest is of one data set, and sources are several"):
        DataLoader(**given, manifest=MapDataset(table).manifest())


@pytest.mark.parametrize(
    ("manifest", "text"),
    [
        (5, "manifest must be a path, got 5"),
        ({}, "manifest must be a path, or the dict that manifest"),
        ({"v": 2, "sources": [{5}]}, "manifest must be the dict"),
        ({"v": 1, "sources": []}, "not a saved manifest of this version"),
    ],
    ids=repr,
)
def test_what_is_no_list(table: Path, manifest: object, text: str) -> None:
    with pytest.raises(OptionError, match=text):
        DataLoader(table, batch_size=10, manifest=manifest)


def test_a_list_that_was_edited(table: Path) -> None:
    manifest = MapDataset(table).manifest()
    manifest["sources"][0]["manifest"]["shards"].pop()
    with pytest.raises(OptionError, match="edited or cut short"):
        DataLoader(table, batch_size=10, manifest=manifest)


def test_a_list_whose_shards_changed(table: Path) -> None:
    manifest = MapDataset(table).manifest()
    (table / "dt=2026-11-26" / "part-200.parquet").unlink()
    write_day(table, "2026-11-24", 0, 20)
    with pytest.raises(StateError, match=r"changed dt=2026-11-24/part-0.parquet: .* removed dt=2026-11-26/part-200.parquet"):
        DataLoader(table, batch_size=10, manifest=manifest)


def test_a_list_with_epoch_size(table: Path) -> None:
    given = {"batch_size": 10, "columns": ["id"], "epoch_size": 300}
    loader = DataLoader(table, **given)
    batches = iter(loader)
    next(batches)
    state, manifest = loader.state_dict(), loader.manifest()
    want = [b["id"].tolist() for b in batches]
    grow(table)
    loader = DataLoader(table, **given)
    loader.load_state_dict(state)
    with pytest.raises(StateError, match="taken over: 400 rows then, 800 rows now; added dt=2026-11-25"):
        next(iter(loader))
    for one in (manifest, MapDataset(table, manifest=manifest).manifest()):
        loader = DataLoader(table, **given, manifest=one)
        loader.load_state_dict(state)
        assert [b["id"].tolist() for b in loader] == want
