"""The nodes of a job list the shards and read their footers once.

torchrun's agents stand for nodes, each with a home, a cache and engines of its own; S3 is a real
server that notes what it was asked for.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ranks import assert_sequence, epoch_order, flat, steps
from servers import S3, s3, scratch  # noqa: F401 - a fixture
from test_agents import BATCH, RANKS, Agents

pytestmark = pytest.mark.timeout(600)

NODES = 2
SHARDS = 24


class Opens(Agents):
    program = "opens.py"

    def __init__(self, directory: Path, uri: str, **options: Any):
        self._options = options
        super().__init__(directory, uri)  # type: ignore[arg-type]

    def _agent(self, number: int, port: int, apart: bool, arguments: list[object]) -> subprocess.Popen[bytes]:
        return super()._agent(number, port, apart, [arguments[0], "--options", json.dumps(self._options)])

    def go(self) -> None:
        (self.directory / "go").touch()

    def left(self) -> list[str]:
        """The inventories beside the engines' sockets."""
        return [path.name for path in self.directory.glob("host-*/run/*.inventory")]


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards of 40 rows, 20 in a row group. id counts the rows."""
    directory = tmp_path_factory.mktemp("small")
    for k in range(SHARDS):
        table = pa.table({"id": pa.array(range(40 * k, 40 * (k + 1)), pa.int64())})
        pq.write_table(table, directory / f"part-{k:02}.parquet", row_group_size=20)
    return directory


@pytest.fixture
def bucket(s3: S3, small: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of the shards in the server, which the environment names."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    yield s3.put(small)


@pytest.fixture
def hosts() -> Iterator[Path]:
    """The directory of a job, whose path leaves room for those of sockets."""
    with scratch("hosts") as directory:
        yield directory


def asked(s3: S3, before: int) -> Counter[str]:
    """How often each was asked for: LIST, or HEAD or GET of shards and of plans."""
    names = {"ListObjectsV2": "LIST", "HeadObject": "HEAD", "GetObject": "GET"}
    kinds = Counter[str]()
    for request, key in s3.requests(before):
        name = names.get(request, request)
        kinds[name if name == "LIST" else f"{name} {'plan' if key.endswith('.plan') else 'shard'}"] += 1
    return kinds


def opened(job: Opens, s3: S3, before: int) -> Counter[str]:
    """What the ranks have asked the server for when all have opened the data set."""
    job._until(lambda: len(job.lines("opened") + job.lines("failed")) == job.ranks, "opened")
    assert job.lines("failed") == []
    found = asked(s3, before)
    job.go()
    job.wait(240)
    return found


def each_row_once(job: Opens, small: Path) -> None:
    read = steps(job.lines("step"), job.ranks)
    assert sorted(flat(read)) == list(range(40 * SHARDS))
    assert_sequence(read, epoch_order(small, BATCH, 7, job.ranks))


def test_a_job_lists_and_reads_footers_once(runtime: Path, s3: S3, bucket: str, small: Path, hosts: Path) -> None:
    before = len(s3.requests())
    with Opens(hosts, bucket) as job:
        found = opened(job, s3, before)
        assert found["LIST"] == 1, found
        assert SHARDS <= found["GET shard"] <= SHARDS + 4 * NODES, found
        each_row_once(job, small)
        assert len({line["engine"] for line in job.lines("reads")}) == NODES


def test_each_node_for_itself(runtime: Path, s3: S3, bucket: str, small: Path, hosts: Path) -> None:
    before = len(s3.requests())
    with Opens(hosts, bucket, opening="each") as job:
        found = opened(job, s3, before)
        assert (found["LIST"], found["GET shard"]) == (NODES, NODES * SHARDS), found
        each_row_once(job, small)
