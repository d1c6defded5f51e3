"""refresh="epoch": each epoch reads the snapshot that a table has when it starts."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import shutil
import socket
import subprocess
import sys
import uuid
import zipfile
from pathlib import Path
from typing import Any

import metastore
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_tables import TABLE, written

import shardfeed.torch
from shardfeed import ShardfeedError, StreamingDataset

pytestmark = pytest.mark.usefixtures("runtime")


class Growing:
    """A copy of a Delta table whose commits appear one by one."""

    table = TABLE

    def __init__(self, directory: Path, version: int):
        self.directory, self.steps = directory / "table", directory / "steps"
        self.make()
        self.version = -1
        self.grow(version)

    def make(self) -> None:
        """Make the table without metadata, and the files of each step of its growth."""
        shutil.copytree(self.table, self.directory, ignore=shutil.ignore_patterns("_delta_log"))
        for file in sorted((self.table / "_delta_log").glob("0*.json")):
            step = self.steps / file.stem
            step.mkdir(parents=True)
            for part in file.parent.glob(f"{file.stem}.*"):
                shutil.copy(part, step)
        self.log = self.directory / "_delta_log"
        self.log.mkdir()

    def grow(self, version: int) -> None:
        for step in sorted(self.steps.iterdir())[self.version + 1 : version + 1]:
            metastore.step(step, self.log)
        self.version = version

    def snapshot(self, version: int) -> str:
        """The name of the snapshot of a version."""
        return str(version)

    def version_of(self, snapshot: str) -> int:
        names = [self.snapshot(version) for version in range(len(list(self.steps.iterdir())))]
        return names.index(snapshot)

    def written(self, version: int) -> list[int]:
        """The ids that the table's writer reads."""
        return written(str(version))

    @property
    def uri(self) -> str:
        return f"delta+{self.directory}"


class GrowingIceberg(Growing):
    """An Iceberg table by Spark, with position deletes and columns that change, whose snapshots become current one by one."""

    def make(self) -> None:
        with zipfile.ZipFile(TABLE.parents[1] / "iceberg" / "v2.zip") as packed:
            packed.extractall(self.directory)
        self.log = self.directory / "metadata"
        (self.log / "version-hint.text").unlink()
        [last] = self.log.glob("v*.metadata.json")
        metadata = json.loads(last.read_text())
        last.unlink()
        self.names = [str(s["snapshot-id"]) for s in metadata["snapshots"]]
        for n, now in enumerate(metadata["snapshots"], 1):
            then = metadata | {"snapshots": metadata["snapshots"][:n], "snapshot-log": metadata["snapshot-log"][:n]}
            then |= {"current-snapshot-id": now["snapshot-id"], "current-schema-id": now["schema-id"]}
            then["refs"] = {"main": {"snapshot-id": now["snapshot-id"], "type": "branch"}}
            step = self.steps / f"{n}"
            step.mkdir(parents=True)
            (step / f"v{n}.metadata.json").write_text(json.dumps(then))

    def snapshot(self, version: int) -> str:
        return self.names[version]

    def written(self, version: int) -> list[int]:
        rows = json.loads((self.directory / "rows.json").read_text())[self.names[version]]
        return sorted(row[rows["columns"].index("id")] for row in rows["rows"])

    @property
    def uri(self) -> str:
        return f"iceberg+{self.directory}"


class InMetastore(Growing):
    """A table that a Hive metastore has."""

    def __init__(self, directory: Path, version: int):
        self.name, self.address = f"t{uuid.uuid4().hex}", metastore.address()
        super().__init__(directory, version)

    def create(self, *keys: metastore.Struct, **parameters: str) -> None:
        with contextlib.closing(metastore.Metastore(self.address)) as client:
            client.create(self.name, self.directory, list(keys), **parameters)

    def calls(self, step: Path, method: str, *arguments: str, **named: str) -> None:
        """Adds a call of the metastore to a step."""
        step.mkdir(parents=True, exist_ok=True)
        (step / metastore.CALL_OF_STEP).write_text(json.dumps([self.address, method, [self.name, *arguments], named]))

    @property
    def uri(self) -> str:
        return f"hive://{self.address}/default.{self.name}"


class HiveDelta(InMetastore):
    """The Delta table, of which the metastore has the location."""

    def make(self) -> None:
        super().make()
        self.create(**{"spark.sql.sources.provider": "delta"})


class HiveIceberg(InMetastore, GrowingIceberg):
    """The Iceberg table, of which the metastore has the newest metadata."""

    def make(self) -> None:
        GrowingIceberg.make(self)
        self.create(table_type="ICEBERG")
        for step in self.steps.iterdir():
            [file] = step.iterdir()
            self.calls(step, "change", metadata_location=f"file:{self.log}/{file.name}")


class HivePlain(InMetastore):
    """A table of parquet that gets a partition in each step."""

    def make(self) -> None:
        self.directory.mkdir()
        self.log, self.names = self.directory, {}
        self.create(metastore.column("day", "int"))
        for day in range(7):
            step = self.steps / f"{day}"
            self.calls(step, "add", str(self.directory / f"day={day}"), f"{day}")
            (step / f"day={day}").mkdir()
            pq.write_table(pa.table({"id": range(10 * day, 10 * day + 10)}), step / f"day={day}" / "part.parquet", row_group_size=4)

    def grow(self, version: int) -> None:
        super().grow(version)
        with shardfeed.torch.DataLoader(self.uri, **OPTIONS) as loader:
            next(iter(loader))
            self.names[version] = loader.state_dict()["shardfeed"]["snapshot"]

    def snapshot(self, version: int) -> str:
        return self.names[version]

    def version_of(self, snapshot: str) -> int:
        """The number of partitions that the metastore had at the time of the snapshot, but one."""
        time = datetime.datetime.fromisoformat(snapshot.rpartition("-")[0]).timestamp()
        with contextlib.closing(metastore.Metastore(self.address)) as client:
            partitions = client.call("get_partitions", "default", self.name, metastore.Number(-1, metastore.I16))
        return sum(partition[4] <= time for partition in partitions) - 1

    def written(self, version: int) -> list[int]:
        return [*range(10 * version + 10)]


TABLES = pytest.mark.parametrize("kind", [Growing, GrowingIceberg, HiveDelta, HiveIceberg, HivePlain])
OPTIONS: dict[str, Any] = {"columns": ["id"], "batch_size": 4, "shuffle": True, "seed": 3, "tail": "short", "refresh": "epoch"}


def ids(batches: Any) -> list[int]:
    return [int(i) for batch in batches for i in batch["id"]]


def alone(table: Growing, version: int, epoch: int) -> list[int]:
    """An epoch of a data set that was made with a snapshot."""
    dataset = StreamingDataset(table.uri, snapshot=table.snapshot(version), **{**OPTIONS, "refresh": None})
    dataset.set_epoch(epoch)
    return ids(dataset)


@TABLES
def test_epochs_follow_the_table(tmp_path: Path, kind: type[Growing]) -> None:
    table = kind(tmp_path, 1)
    dataset = StreamingDataset(table.uri, **OPTIONS)
    for epoch, version in enumerate([1, 1, 3, 5, 6]):
        table.grow(version)
        got = ids(dataset)
        assert sorted(got) == table.written(version) and dataset.size == len(got)
        assert got == alone(table, version, epoch)
        audit = dataset.stats()["audit"]
        assert audit["epoch"] == epoch and audit["proved"], audit


@TABLES
@pytest.mark.parametrize("grows", [False, True])
def test_resume_reads_the_snapshot_of_its_epoch(tmp_path: Path, grows: bool, kind: type[Growing]) -> None:
    table = kind(tmp_path, 1)
    loader = shardfeed.torch.DataLoader(table.uri, **OPTIONS)
    assert sorted(ids(loader)) == table.written(1)
    table.grow(3)
    batches = iter(loader)
    begin = [next(batches) for _ in range(2)]
    state = json.loads(json.dumps(loader.state_dict()))
    assert state["shardfeed"]["snapshot"] == table.snapshot(3) and state["shardfeed"]["epoch"] == 1
    if grows:
        table.grow(5)
    again = shardfeed.torch.DataLoader(table.uri, **OPTIONS)
    again.load_state_dict(state)
    rest = ids(again)
    assert ids(begin) + rest == alone(table, 3, 1)
    ended = again.state_dict()
    assert ids(again) == alone(table, table.version, 2)
    after = shardfeed.torch.DataLoader(table.uri, **OPTIONS)
    after.load_state_dict(ended)
    assert ids(after) == alone(table, table.version, 2)


def test_an_epoch_that_is_set_and_one_that_was_left(tmp_path: Path) -> None:
    table = Growing(tmp_path, 1)
    dataset = StreamingDataset(table.uri, **OPTIONS)
    next(iter(dataset))
    table.grow(3)
    assert ids(dataset) == alone(table, 3, 1)
    table.grow(5)
    dataset.set_epoch(7)
    assert ids(dataset) == alone(table, 5, 7)
    assert ids(dataset.map(lambda batch: batch)) == alone(table, 5, 0)


def test_a_state_brings_its_seed(tmp_path: Path) -> None:
    table = Growing(tmp_path, 1)
    dataset = StreamingDataset(table.uri, **OPTIONS)
    ids(dataset)
    state = dataset.state_dict()
    table.grow(3)
    other = StreamingDataset(table.uri, **{**OPTIONS, "seed": 99})
    with pytest.warns(shardfeed.ShardfeedWarning, match="seed=3, which wins"):
        other.load_state_dict(state)
    assert ids(other) == alone(table, 3, 1)


def test_filters_parts_and_workers(tmp_path: Path) -> None:
    table = Growing(tmp_path, 1)
    for name, options in {"filters": {"filters": "id > 3"}, "parts": {"parts": {"a": 1, "b": 1}, "part": "a", "part_key": "id"}}.items():
        copy = Growing(tmp_path / name, 1)
        dataset = StreamingDataset(copy.uri, **OPTIONS, **options)
        for version in (1, 5):
            copy.grow(version)
            other = StreamingDataset(copy.uri, snapshot=version, **{**OPTIONS, "refresh": None}, **options)
            assert sorted(ids(dataset)) == sorted(ids(other))
    loader = shardfeed.torch.DataLoader(table.uri, num_workers=1, **OPTIONS)
    for epoch, version in enumerate([1, 5]):
        table.grow(version)
        assert ids(loader) == alone(table, version, epoch)


def test_packing(tmp_path: Path) -> None:
    """Blocks of each epoch are of its snapshot, as a data set of that snapshot packs them."""
    table = tmp_path / "table"
    (table / "_delta_log").mkdir(parents=True)
    schema = {
        "type": "struct",
        "fields": [
            {"name": "ids", "type": {"type": "array", "elementType": "integer", "containsNull": True}, "nullable": True, "metadata": {}}
        ],
    }
    start = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {
            "metaData": {
                "id": "t",
                "format": {"provider": "parquet"},
                "schemaString": json.dumps(schema),
                "partitionColumns": [],
                "configuration": {},
            }
        },
    ]

    def commit(version: int, *lists: list[int]) -> None:
        file = table / f"{version}.parquet"
        pq.write_table(pa.table({"ids": pa.array(lists, pa.list_(pa.int32()))}), file)
        add = {"path": file.name, "partitionValues": {}, "size": file.stat().st_size, "modificationTime": 0, "dataChange": True}
        lines = [*(start if version == 0 else []), {"add": add}]
        (table / "_delta_log" / f"{version:020}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))

    packed: dict[str, Any] = {**OPTIONS, "columns": None, "batch_size": 1, "pack": shardfeed.Pack({"ids": 8}, eos=0)}
    commit(0, *([n] * (n % 5 + 1) for n in range(1, 30)))
    dataset = StreamingDataset(f"delta+{table}", **packed)
    seen: list[set[int]] = []
    for epoch in range(3):
        if epoch == 1:
            commit(1, *([n] * 3 for n in range(100, 120)))
        got = [batch["ids"].tolist() for batch in dataset]
        other = StreamingDataset(f"delta+{table}", snapshot=min(epoch, 1), **{**packed, "refresh": None})
        other.set_epoch(epoch)
        assert got == [batch["ids"].tolist() for batch in other]
        seen.append({token for block in got for row in block for token in row} - {0})
    assert seen == [set(range(1, 30)), *[set(range(1, 30)) | set(range(100, 120))] * 2]


def job(world: int, table: Growing, reports: Path, *more: object, machines: bool = False) -> None:
    """Runs the ranks of a job on this machine. With machines each has an engine of its own, as on machines of their own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world)}
    program = [
        sys.executable,
        str(Path(__file__).parent / "jobs" / "grows.py"),
        *map(str, (table.uri, table.steps, table.log, reports, *more)),
    ]
    ranks = []
    for k in range(world):
        own = {"LOCAL_RANK": str(k)}
        if machines:
            own = {"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1", "SHARDFEED_RUNTIME_DIR": f"{os.environ['SHARDFEED_RUNTIME_DIR']}-{k}"}
        ranks.append(subprocess.Popen(program, env={**env, "RANK": str(k), **own}))
    try:
        assert [rank.wait(180) for rank in ranks] == [0] * world
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()


@TABLES
@pytest.mark.parametrize("machines", [False, True])
def test_ranks_of_a_growing_table(tmp_path: Path, kind: type[Growing], machines: bool) -> None:
    """Three ranks stop in the second epoch, and two go on: each row of each snapshot comes once."""
    table, reports = kind(tmp_path, 1), tmp_path / "reports"
    reports.mkdir()
    job(3, table, reports, "--epochs", 0, 2, "--stop", 1, machines=machines)
    job(2, table, reports, "--epochs", 1, 4, machines=machines)
    rows: dict[int, list[int]] = {}
    snapshots: dict[int, set[str]] = {}
    for file in reports.glob("[23]-*"):
        for line in map(json.loads, file.read_text().splitlines()):
            rows.setdefault(line["epoch"], []).extend(line["ids"])
            snapshots.setdefault(line["epoch"], set()).add(line["snapshot"])
    assert sorted(rows) == [0, 1, 2, 3] and all(len(found) == 1 for found in snapshots.values()), snapshots
    order = [table.version_of(*snapshots[epoch]) for epoch in range(4)]
    assert order[0] < order[1] < order[2], order
    for epoch in range(4):
        assert sorted(rows[epoch]) == table.written(order[epoch]), epoch


def test_a_snapshot_of_a_plain_hive_table_that_is_lost(tmp_path: Path) -> None:
    """A file that joins an older partition makes the snapshots before it unreadable, and the next epoch reads it."""
    table = HivePlain(tmp_path, 1)
    loader = shardfeed.torch.DataLoader(table.uri, **OPTIONS)
    batches = iter(loader)
    next(batches)
    state = loader.state_dict()
    rest = ids(batches)
    assert rest
    pq.write_table(pa.table({"id": [1000]}), table.directory / "day=0" / "more.parquet")
    again = shardfeed.torch.DataLoader(table.uri, **OPTIONS)
    with pytest.raises(ShardfeedError, match=f"snapshot {state['shardfeed']['snapshot']} cannot be read any more"):
        again.load_state_dict(state)
    assert sorted(ids(loader)) == [*range(20), 1000]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"uri": str(TABLE.parent / "rs" / "lang=en")}, "needs the address of a table"),
        ({"tail": "carry"}, "tail"),
        ({"parts": {"a": 1, "b": 1}, "part": "a"}, "give part_key"),
        ({"epoch_size": 8}, "epoch_size"),
        ({"plan": "run.plan"}, "plan"),
        ({"refresh": "day"}, "refresh must be"),
    ],
)
def test_refused(changes: dict[str, Any], text: str) -> None:
    with pytest.raises(ShardfeedError, match=text):
        StreamingDataset(**{"uri": f"delta+{TABLE}", **OPTIONS, **changes})
