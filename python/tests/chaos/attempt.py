"""The ranks that run at the same time, from a state until the job ends or a rank fails."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import servers

from chaos import faults, leftovers
from chaos.nodes import Node
from chaos.scenario import Scenario
from chaos.stores import Store

AFTERWARDS = 20.0  # seconds that ranks have to notice that another one has failed


class Hang(Exception):
    """Ranks that make no progress."""


class TimeIsUp(Exception):
    """The driver ends before the job has."""


@dataclass(frozen=True)
class Limits:
    """How long ranks may take."""

    until: float = math.inf  # the monotonic time at which a job is given up
    stall: float = 120.0  # seconds without a line from any rank, while nothing is stopped, that count as a hang

    @property
    def grace(self) -> float:
        """The seconds in which an engine ends after its last client."""
        return self.stall / 2


NO_LIMITS = Limits()


@dataclass
class Attempt:
    """The ranks of an attempt, and what became of them."""

    scenario: Scenario
    number: int
    directory: Path
    store: Store
    environment: dict[str, str]
    nodes: Sequence[Node]
    state: Path | None
    limits: Limits = NO_LIMITS
    ranks: list[subprocess.Popen[bytes]] = field(default_factory=list)
    killed: set[int] = field(default_factory=set)  # ranks that a fault killed
    given_up: bool = False  # with all its ranks
    killed_at: set[int] = field(default_factory=set)  # nodes whose engine was killed
    met: list[str] = field(default_factory=list)  # kinds of the faults that happened
    peaks: list[int] = field(default_factory=list)  # bytes of each node's engine that were resident

    @property
    def world(self) -> int:
        return self.scenario.world(self.number)

    def node(self, rank: int) -> int:
        return self.scenario.node(rank, self.world)

    def run(self) -> bool:
        """Runs the ranks and their faults; returns whether all ranks have ended well."""
        self.peaks = [0] * len(self.nodes)
        port = servers.free_port()
        for rank in range(self.world):
            self.ranks.append(self._start(rank, port))
        try:
            with faults.Injector(self) as injector:
                return self._watch(injector)
        finally:
            for process in self.ranks:
                process.kill()
                process.wait()

    def _start(self, rank: int, port: int) -> subprocess.Popen[bytes]:
        program = Path(__file__).with_name("trainer.py")
        arguments = [str(self.directory / "scenario.json"), str(self.number), str(rank), str(self.world), str(self.directory)]
        arguments += [str(self.state)] if self.state is not None else []
        with (self.directory / f"{self.number}-{rank}.err").open("wb") as errors:
            return subprocess.Popen([sys.executable, str(program), *arguments], stderr=errors, env=self._environment(rank, port))

    def _environment(self, rank: int, port: int) -> dict[str, str]:
        """What a rank finds; where it has a process group, as torchrun would have it."""
        found = {**self.environment, **self.nodes[self.node(rank)].environment}
        if not self.scenario.group and self.scenario.loop == "own":
            return found
        found |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RANK": str(rank), "WORLD_SIZE": str(self.world)}
        local = [other for other in range(self.world) if self.scenario.loop != "own" or self.node(other) == self.node(rank)]
        found |= {"LOCAL_RANK": str(local.index(rank)), "LOCAL_WORLD_SIZE": str(len(local)), "GROUP_RANK": str(self.node(rank))}
        return {**found, "TORCHELASTIC_RUN_ID": self.environment["SHARDFEED_JOB"]} if self.world > 1 else found

    def _watch(self, injector: faults.Injector) -> bool:
        size, moved, failed = 0, time.monotonic(), 0.0
        while True:
            codes = [process.poll() for process in self.ranks]
            if all(code is not None for code in codes):
                return all(code == 0 for code in codes)
            now = time.monotonic()
            if now > self.limits.until:
                self.given_up = True
                raise TimeIsUp
            if any(code not in (None, 0) for code in codes):
                failed = failed or now
                if now - failed > AFTERWARDS:
                    return False  # as a launcher does, the others are killed
            grown = sum(path.stat().st_size for path in self.traces())
            if grown != size or injector.holding():
                size, moved = grown, now
            if now - moved > self.limits.stall:
                raise Hang(self.stacks())
            if grown:
                injector.step(now)
            for k, node in enumerate(self.nodes):
                self.peaks[k] = max(self.peaks[k], max(map(leftovers.resident, node.engines()), default=0))
            time.sleep(0.03)

    def traces(self) -> list[Path]:
        return [path for rank in range(self.world) if (path := self.trace(rank)).exists()]

    def trace(self, rank: int) -> Path:
        return self.directory / f"{self.number}-{rank}.jsonl"

    def lines(self, rank: int) -> list[dict[str, Any]]:
        """What a rank noted. A line that a kill cut short is left out."""
        text = self.trace(rank).read_text() if self.trace(rank).exists() else ""
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def engines(self) -> list[psutil.Process]:
        return [engine for node in self.nodes for engine in node.engines()]

    def stacks(self) -> str:
        """Where the ranks and the engine are. It ends the engine."""
        for process in self.ranks:
            process.send_signal(signal.SIGUSR1)
        for engine in self.engines():
            engine.send_signal(signal.SIGQUIT)
        time.sleep(3)
        return f"no progress for {self.limits.stall:g} s; stacks are in {self.directory}"

    def complaints(self) -> Iterable[str]:
        """Errors that no fault explains."""
        excused = bool(self.killed) or bool(self.killed_at)
        for rank, process in enumerate(self.ranks):
            notes = [line for line in self.lines(rank) if line["kind"] in ("error", "wrong")]
            for note in notes:
                if note["kind"] == "wrong" or not (excused and note["type"] in (*faults.EXCUSED, *self._excused())):
                    yield f"attempt {self.number}, rank {rank}: {note.get('type', 'wrong value')}: {note['text']}"
            if process.returncode == 1 and not notes:
                words = (self.directory / f"{self.number}-{rank}.err").read_text(errors="replace")[-1500:]
                yield f"attempt {self.number}, rank {rank} ended with 1: {words}"
            if process.returncode < 0 and rank not in self.killed and not self._given_up(process):
                yield f"attempt {self.number}, rank {rank} ended by signal {-process.returncode}"

    def _excused(self) -> tuple[str, ...]:
        """Errors of torch about lost ranks of a group, and of its workers about another engine."""
        of_groups = faults.OF_GROUPS if self.scenario.loop != "own" or self.scenario.group else ()
        return (*of_groups, *(("StateError",) if self.scenario.stream == "stateful" else ()))

    def _given_up(self, process: subprocess.Popen[bytes]) -> bool:
        """Whether a rank was killed because another one had failed, or the time was up."""
        return process.returncode == -signal.SIGKILL and (
            self.given_up or any(p.returncode not in (0, -signal.SIGKILL) or r in self.killed for r, p in enumerate(self.ranks))
        )


def environment(store: Store, number: int) -> dict[str, str]:
    """What the ranks of a job find in their environment on every node."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SHARDFEED_", "AWS_"))}
    return {
        **kept,
        **store.environment,
        "CHAOS_DATA": store.data,
        "SHARDFEED_BIN": os.environ["SHARDFEED_BIN"],
        "SHARDFEED_JOB": f"chaos {os.getpid()} {number}",
        "SHARDFEED_GRACE": "1s",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
