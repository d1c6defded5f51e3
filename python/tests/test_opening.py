"""The nodes of a job list the shards and read their footers once.

torchrun's agents stand for nodes, each with a home, a cache and engines of its own; S3 is a real
server that notes what it was asked for.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import test_agents
from conftest import engines, wait_for_engines
from ranks import assert_sequence, epoch_order, flat, steps
from servers import S3, s3  # noqa: F401 - a fixture
from test_agents import BATCH, RANKS, Agents

pytestmark = pytest.mark.timeout(600)

NODES = 2
TABLE = Path(__file__).parents[2] / "testdata" / "tables" / "delta" / "rs"
SHARDS = 24
LISTS = 2  # of an opening: the shards, and the marks of tables around them


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
def bucket(s3: S3, small: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:  # noqa: F811
    """The address of the shards in the server, which the environment names."""
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    yield s3.put(small)


def asked(s3: S3, before: int) -> Counter[str]:  # noqa: F811
    """How often each was asked for: LIST, or HEAD or GET of shards and of plans."""
    names = {"ListObjectsV2": "LIST", "HeadObject": "HEAD", "GetObject": "GET"}
    kinds = Counter[str]()
    for request, key in s3.requests(before):
        name = names.get(request, request)
        kinds[name if name == "LIST" else f"{name} {'plan' if key.endswith('.plan') else 'shard'}"] += 1
    return kinds


def opened(job: Opens, s3: S3, before: int) -> Counter[str]:  # noqa: F811
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


def test_a_job_lists_and_reads_footers_once(runtime: Path, s3: S3, bucket: str, small: Path, hosts: Path) -> None:  # noqa: F811
    before = len(s3.requests())
    with Opens(hosts, bucket) as job:
        found = opened(job, s3, before)
        assert found["LIST"] == LISTS, found
        assert SHARDS <= found["GET shard"] <= SHARDS + 4 * NODES, found
        each_row_once(job, small)
        assert wait_for_engines(hosts) == [] and job.left() == []
        assert len({line["engine"] for line in job.lines("reads")}) == NODES


@pytest.mark.parametrize(("opening", "times"), [("first", 1), ("each", NODES)])
def test_a_job_reads_the_log_of_a_table_once(runtime: Path, s3: S3, bucket: str, hosts: Path, opening: str, times: int) -> None:  # noqa: F811
    """All nodes have the snapshot that rank 0 found, and the rows that live in it."""
    written = json.loads(TABLE.with_suffix(".json").read_text())
    latest = written[max(written, key=int)]
    uri = s3.put(TABLE)
    before = len(s3.requests())
    with Opens(hosts, f"delta+{uri}", opening=opening) as job:
        opened(job, s3, before)
        log = Counter(
            key for request, key in s3.requests(before) if request == "GetObject" and "_delta_log" in key and key.endswith(".json")
        )
        assert log and set(log.values()) == {times}, log
        read = flat(steps(job.lines("step"), job.ranks))
        assert sorted(read) == sorted(row[latest["columns"].index("id")] for row in latest["rows"])


def test_each_node_for_itself(runtime: Path, s3: S3, bucket: str, small: Path, hosts: Path) -> None:  # noqa: F811
    before = len(s3.requests())
    with Opens(hosts, bucket, opening="each") as job:
        found = opened(job, s3, before)
        assert (found["LIST"], found["GET shard"]) == (NODES * LISTS, NODES * SHARDS), found
        each_row_once(job, small)


def test_a_saved_plan_in_the_bucket(runtime: Path, engine_binary: Path, s3: S3, bucket: str, small: Path, hosts: Path) -> None:  # noqa: F811
    """The plan is looked at and read by each node, and nothing else is."""
    (hosts / "plans").mkdir()
    order = ["--shuffle", "--seed", "7", "--world-size", str(NODES * RANKS), "--save", str(hosts / "plans" / "run.plan")]
    subprocess.run([engine_binary, "plan", bucket, *order], check=True, capture_output=True)
    plan = f"{s3.put(hosts / 'plans')}/run.plan"
    before = len(s3.requests())
    with Opens(hosts, bucket, plan=plan) as job:
        found = opened(job, s3, before)
        assert found == {"HEAD plan": NODES, "GET plan": NODES}
        each_row_once(job, small)


def test_a_restarted_job(runtime: Path, s3: S3, bucket: str, shards: Path, hosts: Path) -> None:  # noqa: F811
    """Agents count restarts apart, which makes no difference. The new ranks list again, once."""
    before = len(s3.requests())
    with Agents(hosts, s3.put(shards)) as job:  # type: ignore[arg-type]
        job.until("step", 10 * job.ranks)
        job.kill_rank(3)
        job.wait(240)
        test_agents.each_row_once(job, shards, [4, 4])
    assert asked(s3, before)["LIST"] == 2 * LISTS  # a life


def test_what_a_killed_job_leaves(runtime: Path, s3: S3, bucket: str, small: Path, hosts: Path) -> None:  # noqa: F811
    with Opens(hosts, bucket) as job:
        job.until("opened", job.ranks)
        for engine in engines(hosts):
            engine.kill()
        job.kill()
        assert len(job.left()) == NODES - 1
    for report in hosts.glob("rank-*.jsonl"):
        report.unlink()
    before = len(s3.requests())
    with Opens(hosts, bucket) as job:
        assert opened(job, s3, before)["LIST"] == LISTS
        each_row_once(job, small)
        assert wait_for_engines(hosts) == [] and len(job.left()) == NODES - 1  # those of the job before


def test_every_rank_hears_that_addresses_differ(runtime: Path, s3: S3, bucket: str, hosts: Path) -> None:  # noqa: F811
    other = {"uri": f"{bucket}/*.parquet"}
    with Opens(hosts, bucket, **{"2": other, "3": other}) as job:
        job.go()
        job.wait(240)
        failed = {line["rank"]: line for line in job.lines("failed")}
        assert sorted(failed) == [0, 1, 2, 3]
        for rank, line in failed.items():
            assert line["error"] == "RankMismatchError"
            assert f"the first node opened {bucket}, and this one opens {bucket}/*.parquet: give all ranks" in line["text"]
            assert ("could not begin: the first node" in line["text"]) == (rank < 2)


def test_every_rank_has_the_error_of_rank_0(runtime: Path, s3: S3, bucket: str, hosts: Path) -> None:  # noqa: F811
    before = len(s3.requests())
    with Opens(hosts, f"{bucket}-gone") as job:
        job.wait(240)
        failed = job.lines("failed")
        assert len(failed) == 4
        assert {(line["error"], line["text"]) for line in failed} == {("NotFoundError", failed[0]["text"])}
        assert f"{bucket}-gone" in failed[0]["text"]
    assert asked(s3, before)["LIST"] <= 2  # also of the name without a slash
