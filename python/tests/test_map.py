"""MapDataset: rows by number."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pickle
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import tables
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from servers import Storage, hdfs, s3  # noqa: F401 - fixtures

from shardfeed import MapDataset, ShardfeedWarning, errors, samplers
from shardfeed._engine import _connection

pytestmark = pytest.mark.usefixtures("job")


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)
@given(table=tables.tables(max_rows=30), row_group=st.integers(1, 20), data=st.data())
def test_rows_are_those_of_take(table: pa.Table, row_group: int, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Any rows of any types, with nulls, are what pyarrow's take returns."""
    path = tmp_path_factory.mktemp("map") / "t.parquet"
    pq.write_table(table, path, row_group_size=row_group)
    dataset = MapDataset(path)
    assert len(dataset) == table.num_rows
    for _ in range(3):
        rows = data.draw(st.lists(st.integers(-table.num_rows, table.num_rows - 1), max_size=40)) if table.num_rows else []
        want = table.take(pa.array([r % table.num_rows for r in rows], pa.int64())) if table.num_rows else table
        assert dataset[rows].to_pylist() == want.to_pylist()


def test_indices(shards: Path) -> None:
    dataset = MapDataset(shards)
    assert len(dataset) == 4000

    def ids(index: Any) -> list[int]:
        return dataset[index]["id"].tolist()

    assert dataset[7]["id"] == 7 and dataset[-1]["id"] == 3999 and dataset[np.int64(3)]["text"] == "row 3"
    assert dataset[7]["tokens"].tolist() == [7, 8]
    assert ids([3, 1, 3, -4000]) == [3, 1, 3, 0]
    assert ids(slice(998, 1003)) == [998, 999, 1000, 1001, 1002] and ids(slice(10, 0, -4)) == [10, 6, 2]
    assert ids(np.array([5, -1], np.int32)) == [5, 3999] and ids([]) == []
    mask = np.zeros(4000, bool)
    mask[[9, 2000]] = True
    assert ids(mask) == [9, 2000]
    assert [row["id"] for row in dataset][::500] == list(range(0, 4000, 500))
    batch = dataset[[4, 2]]
    assert batch.row_valid.all() and batch.epoch == -1 and repr(batch).startswith("Batch(2 rows of id: int64")
    with pytest.raises(ValueError, match="rows by number have no place in an epoch"):
        batch.state  # noqa: B018
    assert pickle.loads(pickle.dumps(batch))["id"].tolist() == [4, 2]


@pytest.mark.parametrize("index", [4000, -4001, [1, 4000], np.array([-4001]), "id", 1.5, None, [[1]], np.array([True])])
def test_wrong_indices(shards: Path, index: Any) -> None:
    with pytest.raises(IndexError):
        MapDataset(shards)[index]


def test_index_error_names_the_row(shards: Path) -> None:
    with pytest.raises(IndexError, match=r"^row 4000 is out of range for a data set of 4000 rows$"):
        MapDataset(shards)[4000]


def test_getitems(shards: Path) -> None:
    rows = MapDataset(shards).__getitems__([8, 6])
    assert len(rows) == 2 and rows.batch["id"].tolist() == [8, 6]
    assert [row["text"] for row in rows] == ["row 8", "row 6"] and rows[-1]["id"] == 6


def test_locate(shards: Path) -> None:
    dataset = MapDataset(shards)
    place = dataset.locate(2600)
    assert place == (str(shards / "part-2.parquet"), 2, 100)
    assert dataset.locate(-1).row == 249
    with pytest.raises(IndexError):
        dataset.locate(4000)
    assert dataset[0]["id"] == 0


def test_columns_null_and_pad(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([1, None, 3], pa.int64()), "t": pa.array([[1], [], None], pa.list_(pa.int32())), "s": ["a", "b", "c"]})
    pq.write_table(table, tmp_path / "t.parquet")
    dataset = MapDataset(tmp_path, columns=["x", "t"], null={"x": -1}, pad={"t": 9}, max_length=2)
    batch = dataset[[1, 0]]
    assert list(batch) == ["x", "t", "t_lengths"] and batch["x"].tolist() == [-1, 1]
    assert batch["t"].tolist() == [[9], [1]] and batch["t_lengths"].tolist() == [0, 1]


def test_vocabulary_and_unknown(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": ["b", "new", "a", None]}), tmp_path / "t.parquet")
    (tmp_path.parent / "words.json").write_text('["a", "b"]')
    dataset = MapDataset(tmp_path, vocabulary={"t": tmp_path.parent / "words.json"}, unknown=2, null={"t": -100})
    assert dataset[[3, 2, 1, 0]]["t"].tolist() == [-100, 0, 2, 1]


def test_null_warning_comes_once(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": pa.array([1, None, 3], pa.int64())}), tmp_path / "t.parquet")
    dataset = MapDataset(tmp_path)
    with pytest.warns(ShardfeedWarning, match="column 'x' holds nulls"):
        dataset[[0, 1]]["x"]
    dataset[[1, 2]]["x"]


def test_threads(shards: Path) -> None:
    dataset, wrong = MapDataset(shards), []

    def read(seed: int) -> None:
        generator = np.random.default_rng(seed)
        for _ in range(30):
            rows = generator.integers(0, 4000, 20)
            if dataset[rows]["id"].tolist() != rows.tolist():
                wrong.append(seed)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_batches_that_are_kept(shards: Path) -> None:
    """More batches than the ring has slots may be held."""
    dataset = MapDataset(shards, slots=3)
    held = [dataset[[i, i + 1]] for i in range(20)]
    assert [batch["id"].tolist() for batch in held] == [[i, i + 1] for i in range(20)]


def _read(dataset: MapDataset, queue: Any) -> None:
    queue.put((os.getpid(), dataset[[5, 4]]["id"].tolist()))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(shards: Path, method: str) -> None:
    dataset = MapDataset(shards)
    assert dataset[1]["id"] == 1
    context = multiprocessing.get_context(method)
    queue = context.SimpleQueue()
    process = context.Process(target=_read, args=(dataset, queue))
    process.start()
    pid, ids = queue.get()
    process.join(60)
    assert pid != os.getpid() and ids == [5, 4] and process.exitcode == 0
    assert dataset[2]["id"] == 2, "the parent goes on"


def test_copies(shards: Path) -> None:
    copy = pickle.loads(pickle.dumps(MapDataset(shards, columns=["id"])))
    assert copy[[3]]["id"].tolist() == [3] and list(copy.schema) == ["id"]


def test_memory(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 2**60, 1 << 19)
    pq.write_table(pa.table({"x": noise}), tmp_path / "t.parquet", row_group_size=1 << 16, use_dictionary=False)  # 8 units of 512 KiB
    with pytest.warns(ShardfeedWarning, match=r"memory has room for .* of the .* MiB .*StreamingDataset"):
        dataset = MapDataset(tmp_path, memory="3MiB", slots=2, collate_workers=1)
    assert "of it in memory" in repr(dataset)
    for rows in ([0], [1 << 18, (1 << 19) - 1], list(range(0, 1 << 16, 100))):
        assert dataset[rows]["x"].tolist() == noise[rows].tolist()
    with pytest.raises(errors.MemoryLimitError, match=r"512 rows lie in \d+ units of .*ask for fewer rows at once, raise memory"):
        dataset[list(range(0, 1 << 19, 1 << 10))]
    assert dataset[[7]]["x"].tolist() == [noise[7]], "after the error"
    with pytest.raises(errors.MemoryLimitError, match="raise memory to"):
        MapDataset(tmp_path, memory="300KiB")
    assert "all in memory" in repr(MapDataset(tmp_path))


def test_wrong_arguments(shards: Path) -> None:
    with pytest.raises(errors.OptionError, match="2 arguments are wrong"):
        MapDataset(shards, memory="many", slots=1)
    with pytest.raises(TypeError, match="MapDataset has no argument 'batch_size'"):
        MapDataset(shards, batch_size=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="takes only uri by position"):
        MapDataset(shards, ["id"])  # type: ignore[misc]
    with pytest.raises(errors.SchemaError, match="idd"):
        MapDataset(shards, columns=["idd"])


def test_shards_that_change(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1, 2]}), path)
    dataset = MapDataset(path)
    assert dataset[0]["x"] == 1
    copy = pickle.dumps(dataset)
    del dataset
    pq.write_table(pa.table({"x": [1, 2, 3]}), path)
    deadline = time.monotonic() + 30
    with pytest.raises(errors.DataError, match="changed since it was listed"):
        while time.monotonic() < deadline:  # until the engine has closed the data set, it stays as it was listed
            assert pickle.loads(copy)[0]["x"] == 1
            gc.collect()
            time.sleep(0.02)


def test_interrupt_closes_the_connection(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an interrupt no answer is taken for that of a later request."""
    dataset = MapDataset(shards)
    receive = _connection.Connection._receive

    def interrupted(*args: Any) -> int:
        monkeypatch.setattr(_connection.Connection, "_receive", receive)
        raise KeyboardInterrupt

    monkeypatch.setattr(_connection.Connection, "_receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dataset[[1, 2]]
    assert dataset[[8]]["id"].tolist() == [8]


@pytest.mark.parametrize(
    "rules", [{"filters": [("label", "in", [1, 4])]}, {"filters": "len(tokens) >= 3 and x < 1500"}, {"subsample": 0.1}]
)
def test_numbers_are_those_of_the_rows_that_are_kept(shards: Path, rules: dict[str, Any]) -> None:
    from shardfeed import StreamingDataset

    kept = np.concatenate([b["id"] for b in StreamingDataset(shards, batch_size=500, shuffle=False, columns=["id"], **rules)]).tolist()
    dataset = MapDataset(shards, row_ids=True, **rules)
    assert len(dataset) == len(kept) < 4000
    generator = np.random.default_rng(1)
    for rows in (generator.integers(0, len(kept), 40) for _ in range(5)):
        batch = dataset[rows]
        assert batch["id"].tolist() == batch["_row"].tolist() == [kept[r] for r in rows]
    place = dataset.locate(-1)
    assert (place.path[-9], place.row_group * 250 + place.row) == (str(kept[-1] // 1000), kept[-1] % 1000)


def test_parts_share_no_row(shards: Path) -> None:
    one, two = (MapDataset(shards, parts={"train": 3, "val": 1}, part=part) for part in ("train", "val"))
    assert (len(one), len(two)) == (3000, 1000)
    assert sorted(one[:]["id"].tolist() + two[:]["id"].tolist()) == list(range(4000))


SAMPLERS: dict[str, Any] = {
    "sequential": lambda seed: samplers.SequentialSampler(9),
    "random": lambda seed: samplers.RandomSampler(50, seed=seed),
    "replacement": lambda seed: samplers.RandomSampler(50, replacement=True, num_samples=70, seed=seed),
    "more": lambda seed: samplers.RandomSampler(5, num_samples=12, seed=seed),
    "subset": lambda seed: samplers.SubsetRandomSampler(range(100, 130), seed=seed),
    "weighted": lambda seed: samplers.WeightedRandomSampler([1, 2, 0, 4], 60, seed=seed),
    "once": lambda seed: samplers.WeightedRandomSampler([1, 2, 0, 4], 3, replacement=False, seed=seed),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers_depend_on_seed_and_epoch(name: str) -> None:
    one, two = SAMPLERS[name](1), SAMPLERS[name](1)
    two.set_epoch(3)
    first, other = list(one), list(two)
    assert len(one) == len(first) == len(other) and all(type(row) is int for row in first)
    one.set_epoch(3)
    assert list(one) == other
    if name not in ("sequential", "once"):
        assert first != other != list(SAMPLERS[name](2))


def test_samplers_have_their_rows() -> None:
    assert list(samplers.SequentialSampler(3)) == [0, 1, 2]
    assert sorted(samplers.RandomSampler(50)) == list(range(50)) and list(samplers.RandomSampler(0)) == []
    assert sorted(samplers.RandomSampler(5, num_samples=10)) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert sorted(samplers.SubsetRandomSampler([7, 3, 5])) == [3, 5, 7]
    assert sorted(samplers.WeightedRandomSampler([1, 2, 0, 4], 3, replacement=False)) == [0, 1, 3]
    counts = np.bincount(list(samplers.WeightedRandomSampler([1, 2, 0, 5], 8000)), minlength=4)
    assert counts[2] == 0 and np.abs(counts - [1000, 2000, 0, 5000]).max() < 200


def test_samplers_refuse() -> None:
    for weights, count, replacement in ([[1, -1], 1, True], [[0.0], 1, True], [[1], 0, True], [[1, 0], 2, False], [[np.nan], 1, True]):
        with pytest.raises(errors.OptionError):
            samplers.WeightedRandomSampler(weights, count, replacement)


@pytest.mark.parametrize("store", ["s3", "hdfs"])
@pytest.mark.parametrize("cache", [True, False])
def test_rows_on_servers(
    shards: Path, store: str, cache: bool, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rows by the same numbers as on a disk, also under a filter."""
    server: Storage = request.getfixturevalue(store)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    uri = server.put(shards)
    wanted = [3999, 0, 1250, 1250, -2]
    options = {"columns": ["id", "tokens"], "cache": cache, "cache_dir": tmp_path}
    rows, local = MapDataset(uri, **options), MapDataset(shards, columns=["id", "tokens"])
    assert rows[wanted]["id"].tolist() == [3999, 0, 1250, 1250, 3998]
    assert rows[8]["tokens"].tolist() == local[8]["tokens"].tolist() == [8, 9, 10]
    place = rows.locate(1251)
    assert (place.path, place.row_group, place.row) == (f"{uri}/part-1.parquet", 1, 1)
    kept = MapDataset(uri, filters="label = 3", **options)
    assert kept[:5]["id"].tolist() == [3, 10, 17, 24, 31]
    assert len(kept) == len([i for i in range(4000) if i % 7 == 3])
