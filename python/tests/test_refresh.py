"""refresh="epoch": each epoch reads the snapshot that a table has when it starts."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_tables import TABLE, written

import shardfeed.torch
from shardfeed import ShardfeedError, StreamingDataset

pytestmark = pytest.mark.usefixtures("runtime")


class Growing:
    """A copy of a table whose commits appear one by one."""

    def __init__(self, directory: Path, version: int):
        self.directory = directory / "table"
        shutil.copytree(TABLE, self.directory, ignore=shutil.ignore_patterns("_delta_log"))
        (self.directory / "_delta_log").mkdir()
        self.version = -1
        self.grow(version)

    def grow(self, version: int) -> None:
        for n in range(self.version + 1, version + 1):
            for file in (TABLE / "_delta_log").glob(f"{n:020}.*"):
                shutil.copy(file, self.directory / "_delta_log")
        self.version = version

    @property
    def uri(self) -> str:
        return f"delta+{self.directory}"


OPTIONS: dict[str, Any] = {"columns": ["id"], "batch_size": 4, "shuffle": True, "seed": 3, "tail": "short", "refresh": "epoch"}


def ids(batches: Any) -> list[int]:
    return [int(i) for batch in batches for i in batch["id"]]


def alone(table: Growing, version: int, epoch: int) -> list[int]:
    """An epoch of a data set that was made with a snapshot."""
    dataset = StreamingDataset(table.uri, snapshot=version, **{**OPTIONS, "refresh": None})
    dataset.set_epoch(epoch)
    return ids(dataset)


def test_epochs_follow_the_table(tmp_path: Path) -> None:
    table = Growing(tmp_path, 1)
    dataset = StreamingDataset(table.uri, **OPTIONS)
    for epoch, version in enumerate([1, 1, 3, 5, 7]):
        table.grow(version)
        got = ids(dataset)
        assert sorted(got) == written(str(version)) and dataset.size == len(got)
        assert got == alone(table, version, epoch)
        audit = dataset.stats()["audit"]
        assert audit["epoch"] == epoch and audit["proved"], audit


@pytest.mark.parametrize("grows", [False, True])
def test_resume_reads_the_snapshot_of_its_epoch(tmp_path: Path, grows: bool) -> None:
    table = Growing(tmp_path, 1)
    loader = shardfeed.torch.DataLoader(table.uri, **OPTIONS)
    assert sorted(ids(loader)) == written("1")
    table.grow(3)
    batches = iter(loader)
    begin = [next(batches) for _ in range(2)]
    state = json.loads(json.dumps(loader.state_dict()))
    assert state["shardfeed"]["snapshot"] == "3" and state["shardfeed"]["epoch"] == 1
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


def test_filters_packing_threads_and_workers(tmp_path: Path) -> None:
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


def job(world: int, table: Growing, reports: Path, *more: object) -> None:
    """Runs the ranks of a job on this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    env = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(world), "LOCAL_WORLD_SIZE": str(world)}
    program = [sys.executable, str(Path(__file__).parent / "jobs" / "grows.py"), *map(str, (table.directory, TABLE, reports, *more))]
    ranks = [subprocess.Popen(program, env={**env, "RANK": str(k), "LOCAL_RANK": str(k)}) for k in range(world)]
    try:
        assert [rank.wait(180) for rank in ranks] == [0] * world
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()


def test_ranks_of_a_growing_table(tmp_path: Path) -> None:
    """Three ranks stop in the second epoch, and two go on: each row of each snapshot comes once."""
    table, reports = Growing(tmp_path, 1), tmp_path / "reports"
    reports.mkdir()
    job(3, table, reports, "--epochs", 0, 2, "--stop", 1)
    job(2, table, reports, "--epochs", 1, 4)
    rows: dict[int, list[int]] = {}
    snapshots: dict[int, set[str]] = {}
    for file in reports.glob("[23]-*"):
        for line in map(json.loads, file.read_text().splitlines()):
            rows.setdefault(line["epoch"], []).extend(line["ids"])
            snapshots.setdefault(line["epoch"], set()).add(line["snapshot"])
    assert sorted(rows) == [0, 1, 2, 3] and all(len(found) == 1 for found in snapshots.values()), snapshots
    order = [int(*snapshots[epoch]) for epoch in range(4)]
    assert order[0] < order[1] < order[2], order
    for epoch in range(4):
        assert sorted(rows[epoch]) == written(str(order[epoch])), epoch


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
