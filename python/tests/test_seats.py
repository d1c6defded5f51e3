"""Two nodes with caches of their own, under torchrun's agents, read from a real S3 server.

They change places, and one is replaced.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ranks import FRUGAL, JOBS, WITHIN, Job, assert_sequence, epoch_order, steps
from servers import S3, free_port, s3

__all__ = ["s3"]

pytestmark = pytest.mark.timeout(600)

SHARDS, ROWS, BYTES = 24, 100, 2000  # rows of a shard, bytes of a row
BATCH, SEED, LANES = 16, 7, 8
RANKS = 2  # of a node


class Node(NamedTuple):
    """A node's home and its address. torchrun numbers ranks by the order of addresses."""

    home: Path
    address: str


class Nodes(Job):
    """A job of an agent on each node. It ends when all have ended."""

    def __init__(self, directory: Path, uri: str, nodes: list[Node], environment: dict[str, str]):
        self.directory, self.output, self.ranks = directory, directory / "output.txt", RANKS * len(nodes)
        directory.mkdir()
        port = free_port()
        self.agents = [self._agent(k, len(nodes), node, port, uri, environment) for k, node in enumerate(nodes)]
        self.process = self.agents[0]

    def _agent(self, number: int, nodes: int, node: Node, port: int, uri: str, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        places = {"HOME": str(node.home), "XDG_CACHE_HOME": str(node.home / "cache"), "SHARDFEED_RUNTIME_DIR": str(node.home / "run")}
        env = {**os.environ, **FRUGAL, **environment, **places, "REPORT": str(self.directory)}
        env.pop("SHARDFEED_JOB", None)
        options = [f"--nnodes={nodes}", f"--nproc-per-node={RANKS}", "--monitor-interval=0.2", f"--local-addr={node.address}"]
        options += ["--rdzv-backend=c10d", "--rdzv-id=nodes", f"--rdzv-endpoint=127.0.0.1:{port}"]
        options += [f"--rdzv-conf=is_host={int(number == 0)},timeout=120"]
        command = [sys.executable, "-m", "torch.distributed.run", *options, str(JOBS / "apart.py"), uri, "unused"]
        with self.output.open("ab") as output:
            return subprocess.Popen(
                [*command, f"--batch-size={BATCH}", f"--seed={SEED}"],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=env,
                start_new_session=True,
                cwd=self.directory,
            )

    def kill(self) -> None:
        for agent in self.agents:
            self.process = agent
            super().kill()

    def wait(self, within: float = WITHIN) -> Nodes:
        for agent in self.agents:
            self.process = agent
            super().wait(within)
        return self

    def fetched(self) -> list[int]:
        """Bytes of row groups that each node fetched, in the order of its ranks."""
        return [self.lines("fetched", rank)[0]["cache"]["miss_bytes"] for rank in range(0, self.ranks, RANKS)]

    def reads(self) -> list[int]:
        """Requests for bytes of shards that each node sent."""
        return [self.lines("fetched", rank)[0]["storage"]["reads"] for rank in range(0, self.ranks, RANKS)]

    def seats(self) -> list[dict[str, int] | None]:
        """The figures of seats on each rank."""
        return [line["seats"] for line in self.lines("fetched")]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards whose rows take two kilobytes each."""
    directory = tmp_path_factory.mktemp("places")
    noise = np.random.default_rng(3)
    for k in range(SHARDS):
        ids = range(k * ROWS, (k + 1) * ROWS)
        columns = {"id": pa.array(ids, pa.int64()), "payload": pa.array([noise.bytes(BYTES) for _ in ids])}
        pq.write_table(pa.table(columns), directory / f"part-{k:02}.parquet", compression="none", use_dictionary=False)
    return directory


def test_nodes_read_what_their_caches_hold(s3: S3, runtime: Path, table: Path, hosts: Path) -> None:
    """Their ranks change places. Without seats everything would be fetched again."""
    uri, homes = s3.put(table), [hosts / name for name in "abc"]

    def run(name: str, *nodes: Node) -> Nodes:
        with Nodes(hosts / name, uri, list(nodes), s3.environment) as job:
            return job.wait()

    first = run("first", Node(homes[0], "127.0.0.2"), Node(homes[1], "127.0.0.3"))
    assert first.seats() == [None] * 4
    everything = sum(first.fetched())
    assert everything >= SHARDS * ROWS * BYTES

    changed = run("changed", Node(homes[1], "127.0.0.3"), Node(homes[0], "127.0.0.4"))
    assert changed.seats() == [{"nodes": 2, "lanes": LANES, "held": LANES, "read": LANES}] * 4
    assert changed.fetched() == [0, 0] and changed.reads() == [0, 0]

    replaced = run("replaced", Node(homes[1], "127.0.0.3"), Node(homes[2], "127.0.0.5"))
    assert replaced.seats() == [{"nodes": 2, "lanes": LANES, "held": LANES // 2, "read": LANES // 2}] * 4
    assert replaced.fetched()[0] == 0
    assert 0.95 / 2 * everything <= replaced.fetched()[1] <= 1.05 / 2 * everything

    order = epoch_order(table, BATCH, SEED, 2 * RANKS, lanes=LANES)
    assert len(order) == SHARDS * ROWS
    for job in (first, changed, replaced):
        assert_sequence(steps(job.lines("step"), job.ranks), order)
    assert changed.lines("step", 0) != first.lines("step", 0)
