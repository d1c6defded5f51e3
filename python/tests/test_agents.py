"""torchrun's agents, each with a home and a runtime directory of its own, as on machines of their
own: ranks fail, a machine is lost.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from ranks import FRUGAL, JOBS, Job, Line, assert_sequence, epoch_order, flat, steps
from servers import free_port

pytestmark = pytest.mark.timeout(600)

ROWS = 4000
BATCH = 16
RANKS = 2  # of an agent


class Agents(Job):
    """A job of two agents that meet on the loopback. It ends when both have ended."""

    program = "elastic.py"

    def __init__(self, directory: Path, shards: Path, *, apart: bool = True, pause: float = 0.05, stays: bool = False):
        self.directory, self.ranks, self.output = directory, 2 * RANKS, directory / "output.txt"
        directory.mkdir(parents=True, exist_ok=True)
        port = free_port()
        arguments = [shards, directory / "checkpoint", "--pause", pause, *(["--stays"] if stays else [])]
        self.agents = [self._agent(n, port, apart, arguments) for n in range(2)]
        self.process = self.agents[0]

    def _agent(self, number: int, port: int, apart: bool, arguments: list[object]) -> subprocess.Popen[bytes]:
        env = {**os.environ, **FRUGAL, "REPORT": str(self.directory), "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
        env.pop("SHARDFEED_JOB", None)
        if apart:
            home = self.directory / f"host-{number}"
            env |= {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "SHARDFEED_RUNTIME_DIR": str(home / "run")}
        options = ["--nnodes=1:2", f"--nproc-per-node={RANKS}", "--max-restarts=3", "--monitor-interval=0.2", "--local-addr=127.0.0.1"]
        meeting = f"is_host={int(number == 0)},last_call_timeout={2 if number else 5},timeout=120"
        options += ["--rdzv-backend=c10d", "--rdzv-id=agents", f"--rdzv-endpoint=127.0.0.1:{port}", f"--rdzv-conf={meeting}"]
        command = [sys.executable, "-m", "torch.distributed.run", *options, str(JOBS / self.program), "--batch-size", str(BATCH)]
        with self.output.open("ab") as output:
            pipes = {"stdout": output, "stderr": subprocess.STDOUT}
            return subprocess.Popen([*command, *map(str, arguments)], **pipes, env=env, start_new_session=True, cwd=self.directory)

    def lose(self, number: int) -> None:
        """Kills an agent and all below it, as a machine's end does."""
        self.process, kept = self.agents[number], self.process
        Job.kill(self)
        self.process = kept

    def kill(self) -> None:
        for number in range(2):
            self.lose(number)

    def life(self, kind: str, number: int) -> list[Line]:
        """The reports of a kind in the number-th life of the job."""
        lives = list(dict.fromkeys(line["life"] for line in self.lines("begins", 0)))
        return self.lines(kind, life=lives[number])


def test_a_rank_is_killed(runtime: Path, shards: Path, hosts: Path) -> None:
    """The agents count its restart apart: 1 where it was, 0 on the other machine. No rank waits for that."""
    with Agents(hosts, shards, stays=True) as agents:
        agents.until("step", 10 * agents.ranks)
        agents.kill_rank(3)
        agents.wait(240)
        counts = {line["attempt"] for line in agents.life("begins", 1)}
        assert counts == {"0", "1"}
        each_row_once(agents, shards, [4, 4])
        assert len({line["engine"] for line in agents.life("reads", 1)}) == 2


def test_a_machine_is_lost(runtime: Path, shards: Path, hosts: Path) -> None:
    with Agents(hosts, shards) as agents:
        agents.until("step", 10 * agents.ranks)
        agents.lose(1)
        agents.wait(240)
        each_row_once(agents, shards, [4, 2])


def test_two_agents_of_a_machine_have_one_engine(runtime: Path, shards: Path, hosts: Path) -> None:
    with Agents(hosts, shards, apart=False, pause=0.01) as job:
        job.wait(240)
        assert len(job.lines("reads")) == 4
        assert len({line["engine"] for line in job.lines("reads")}) == 1


def each_row_once(job: Agents, shards: Path, worlds: list[int]) -> None:
    """The first life up to its last checkpoint and the second one have every row, in order."""
    assert [sorted({line["world"] for line in job.life("begins", life)}) for life in range(2)] == [[world] for world in worlds]
    (checkpoint,) = {line["step"] for line in job.life("begins", 1)}
    assert checkpoint >= 5
    kept = steps([line for line in job.life("step", 0) if line["step"] < checkpoint], worlds[0])
    rest = steps(job.life("step", 1), worlds[1])
    assert sorted(flat(kept) + flat(rest)) == list(range(ROWS))
    assert_sequence(kept + rest, epoch_order(shards, BATCH, 7, worlds[0]))
