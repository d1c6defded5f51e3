"""Jobs of several ranks, each a process of its own as in training, and what they report.

Each rank runs a program of jobs/ and appends lines of JSON to its own file without buffering, so a
killed rank loses none.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

import shardfeed

JOBS = Path(__file__).parent / "jobs"
WITHIN = 400.0  # seconds that a job may take: eight ranks import torch, on two cores that others use too

FRUGAL = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}

Line = dict[str, Any]


class Forked:
    """A child of the launcher, with those methods of Popen that a job needs."""

    def __init__(self, pid: int, code: Path) -> None:
        self.pid = pid
        self._code = code
        try:
            self._end: int | None = os.pidfd_open(pid)
        except ProcessLookupError:
            self._end = None

    def wait(self, timeout: float | None = None) -> int:
        if self._end is not None:
            if not select.select([self._end], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a job", timeout or 0)
            os.close(self._end)
            self._end = None
        return int(self._code.read_text()) if self._code.exists() else -signal.SIGKILL

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None


class Launcher:
    """The process of jobs/launch.py. It imports torch and each framework once for all jobs."""

    def __init__(self) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        env = {**os.environ, **FRUGAL}
        self._process = subprocess.Popen([sys.executable, str(JOBS / "launch.py")], **pipes, text=True, env=env, start_new_session=True)

    def start(self, command: Sequence[str], ranks: int, directory: Path, output: Path, environment: Mapping[str, str]) -> Forked:
        assert self._process.stdin is not None and self._process.stdout is not None
        code = directory / "exit.txt"
        code.unlink(missing_ok=True)
        program, *arguments = command
        files = {"directory": str(directory), "output": str(output), "exit": str(code)}
        job = {"program": program, "arguments": arguments, "ranks": ranks, "environment": environment, **files}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the launcher of the jobs has ended"
        return Forked(int(answer), code)


@functools.cache
def launcher() -> Launcher:
    return Launcher()


class Job:
    """A job that runs, or has run. As a context it leaves no process behind.

    Its ranks are forked from a process that has torch imported, or with torchrun=True start as they
    do in training.
    """

    def __init__(
        self,
        program: str | Path,
        ranks: int,
        directory: Path,
        *arguments: object,
        torchrun: bool = False,
        restarts: int = 0,
        **environment: str,
    ) -> None:
        self.directory = directory
        self.ranks = ranks
        directory.mkdir(parents=True, exist_ok=True)
        self.output = directory / "output.txt"
        inherited = {k: v for k, v in os.environ.items() if k != "SHARDFEED_JOB"}
        env = {**inherited, "REPORT": str(directory), **FRUGAL, **environment}
        command = [str(JOBS / program), *map(str, arguments)]
        self.process: subprocess.Popen[bytes] | Forked
        if not torchrun:
            self.process = launcher().start(command, ranks, directory, self.output, env)
            return
        torch = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}", f"--max-restarts={restarts}"]
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                [*torch, *command], stdout=output, stderr=subprocess.STDOUT, env=env, start_new_session=True, cwd=directory
            )

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def wait(self, within: float = WITHIN) -> Job:
        """Waits for the end of a job that must succeed."""
        assert self.end(within) == 0, self.words()
        return self

    def end(self, within: float = WITHIN) -> int:
        """Waits for the end; returns the exit code."""
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the job hangs: it has not ended after {within:g} s\n{self.words()}") from None

    def until(self, kind: str, count: int = 1) -> None:
        """Waits until the ranks have reported so many lines of a kind."""
        self._until(lambda: len(self.lines(kind)) >= count, kind)

    def until_said(self, words: str, times: int = 1) -> None:
        """Waits until the job has said something so many times."""
        self._until(lambda: self.words().count(words) >= times, words)

    def _until(self, met: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + WITHIN
        while not met():
            assert self.process.poll() is None, f"the job ended early\n{self.words()}"
            assert time.monotonic() < deadline, f"no {what} within {WITHIN:g} s\n{self.words()}"
            time.sleep(0.02)

    def kill(self) -> None:
        """Kills the launcher, all ranks and their workers with SIGKILL, and leaves the engine
        alone.
        """
        with contextlib.suppress(psutil.NoSuchProcess):
            launcher = psutil.Process(self.process.pid)
            for process in [launcher, *self.family(launcher)]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        self.process.wait()

    def family(self, launcher: psutil.Process) -> list[psutil.Process]:
        return [p for p in launcher.children(recursive=True) if not is_engine(p)]

    def kill_rank(self, rank: int) -> None:
        """Kills one rank, and nothing else."""
        os.kill(self.lines("start", rank)[-1]["pid"], signal.SIGKILL)

    def lines(self, kind: str, rank: int | None = None, **having: object) -> list[Line]:
        """The reports of a kind, by rank. A line that is not complete yet is left out."""
        found = []
        for r in range(self.ranks) if rank is None else [rank]:
            path = self.directory / f"rank-{r}.jsonl"
            text = path.read_text() if path.exists() else ""
            for line in map(json.loads, text[: text.rfind("\n") + 1].splitlines()):
                if line["kind"] == kind and all(line[k] == v for k, v in having.items()):
                    found.append(line)
        return found

    def words(self) -> str:
        """The end of the output, without torchrun's summary."""
        return self.output.read_text(errors="replace").partition(" failed (exitcode")[0][-8000:]


def is_engine(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return "serve" in process.cmdline()[1:2]
    return False


def steps(lines: list[Line], world_size: int) -> list[list[list[int]]]:
    """The ids of each step, by rank. All ranks have the same steps."""
    of: Mapping[int, dict[int, list[int]]] = defaultdict(dict)
    for line in lines:
        assert line["rank"] not in of[line["step"]], f"rank {line['rank']} has step {line['step']} twice"
        of[line["step"]][line["rank"]] = line["ids"]
    for step, ranks in of.items():
        assert sorted(ranks) == list(range(world_size)), f"only the ranks {sorted(ranks)} have step {step}"
    return [[of[step][rank] for rank in range(world_size)] for step in sorted(of)]


def flat(found: list[list[list[int]]]) -> list[int]:
    return [i for step in found for ids in step for i in ids]


def assert_sequence(found: list[list[list[int]]], sequence: list[int]) -> None:
    """Asserts that steps of any world size are consecutive pieces of one sequence.

    Every step has the next rows, and each rank has its rows in their order.
    """
    place = {row: k for k, row in enumerate(sequence)}
    at = 0
    for step, ranks in enumerate(found):
        places = [[place[i] for i in ids] for ids in ranks]
        for rank, own in enumerate(places):
            assert own == sorted(own), f"rank {rank} has the rows of step {step} in another order"
        together = sorted(k for own in places for k in own)
        assert together == list(range(at, at + len(together))), f"step {step} has not the rows from {at} on"
        at += len(together)
    assert at == len(sequence), f"the steps end at row {at} of {len(sequence)}"


def epoch_order(shards: Path, batch_size: int, seed: int, world_size: int, lanes: int | None = None) -> list[int]:
    """The ids of the first epoch of a job that starts at this world size, as one process reads
    them.
    """
    of_job = {"batch_size": batch_size, "seed": seed, "world_size": world_size, "lanes": lanes}
    begun = shardfeed.StreamingDataset(shards, columns=["id"], rank=0, **of_job)
    alone = shardfeed.StreamingDataset(shards, batch_size=100, columns=["id"], seed=seed, rank=0, world_size=1)
    alone.load_state_dict(begun.state_dict())
    return [int(i) for batch in alone for i in batch["id"]]


def readers(ranks: int, arguments: Callable[[int], Sequence[object]], **environment: str) -> list[subprocess.Popen[str]]:
    """Starts ranks that only read, all at once. One that ends leaves the others running."""
    started: list[subprocess.Popen[str]] = []
    for rank in range(ranks):
        own = {"RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(ranks), **environment}
        command = [sys.executable, str(JOBS / "reads.py"), *map(str, arguments(rank))]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        started.append(subprocess.Popen(command, **pipes, text=True, env={**os.environ, **own}))
    for process in started:
        assert process.stdout is not None and "ready" in process.stdout.readline(), process.communicate()[1]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    return started
