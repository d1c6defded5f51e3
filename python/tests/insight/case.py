"""Runs a case: its stores and disks, its ranks, and what they report."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import fakecuda
import servers

from insight import disk, judge, tables
from insight.faults import VERDICTS, Case
from insight.link import Limits, Link
from insight.volume import Volume

STEP = 0.002  # seconds that a step takes where the trainer is not slow
SECONDS = 10.0  # in which a fault must be named
STARTS = 120.0  # seconds that a rank may take besides: a machine may be busy
BATCH = tables.BATCH * tables.PLAIN  # bytes
ON_THEIR_WAY = 6  # batches of the table small, about, for which there is memory
COLUMNS = 3  # copies to the device of a batch: the column id; offsets and bytes of x


class Hosts:
    """The processes that ranks are forked from, with CUDA's fake runtime or without it."""

    def __init__(self) -> None:
        self._processes: dict[bool, subprocess.Popen[str]] = {}
        self._ends: dict[str, queue.Queue[int]] = {}
        self._lock, self._count = threading.Lock(), 0

    def run(self, fake: bool, given: Mapping[str, Any], environment: Mapping[str, str]) -> queue.Queue[int]:
        """Starts a rank; its exit status comes in the queue."""
        with self._lock:
            if fake not in self._processes:
                self._processes[fake] = self._start(fake)
            self._count += 1
            number, ends = str(self._count), queue.Queue[int]()
            self._ends[number] = ends
            to = self._processes[fake].stdin
            assert to is not None
            to.write(json.dumps({**given, "id": number, "environment": dict(environment)}) + "\n")
            to.flush()
        return ends

    def _start(self, fake: bool) -> subprocess.Popen[str]:
        path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        if fake:  # before torch's own runtime
            environment["LD_PRELOAD"] = str(fakecuda.library())
        command = [sys.executable, "-m", "insight.host"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        threading.Thread(target=self._read, args=(process,), daemon=True).start()
        return process

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            number, status = line.split()
            self._ends.pop(number).put(int(status))
        process.stdout.close()

    def close(self) -> None:
        for process in self._processes.values():
            assert process.stdin is not None
            process.stdin.close()
            process.kill()
            process.wait()


@dataclass(frozen=True)
class Sources:
    """What all cases read."""

    data: Path
    store: servers.S3  # with the tables plain and small
    volume: Volume | None = None  # None: there are no slow disks below caches
    far: str = ""  # the address of a store whose answers are late


@dataclass(frozen=True)
class Found:
    case: Case
    named: judge.Named | None
    after: float | None  # seconds; None: the fault was not named
    wrong: tuple[str, ...]  # sums
    verdicts: tuple[str, ...] = ()  # that are wrong
    figures: tuple[float, float] = (0.0, 0.0)  # as judge.figures

    def __str__(self) -> str:
        verdict = "wrong" if self.after is None else f"{self.after:.1f} s"
        return f"{self.case.number:4} {self.case!s:58} {self.case.cause:8} {self.named!s:28} {verdict}"


def run(case: Case, sources: Sources, root: Path, hosts: Hosts, seconds: float = SECONDS) -> Found:
    root.mkdir()
    with contextlib.ExitStack() as stack:
        for fault in case.faults:
            if fault.kind == "small memory":  # ranks of a node read the same store
                far = stack.enter_context(contextlib.closing(Link(sources.store.address, Limits(latency=ON_THEIR_WAY * fault.size))))
                sources = replace(sources, far=far.address)
        ends = [_start(case, rank, sources, root, hosts, seconds, stack) for rank in range(case.world)]
        statuses = [_status(end, seconds + STARTS) for end in ends]
    for rank, status in enumerate(statuses):
        if status:
            return Found(case, None, None, (f"rank {rank} ended with {status}: {(root / f'{rank}.log').read_text()[-1000:]}",))
    reports = [[json.loads(line) for line in (root / f"{rank}.json").read_text().splitlines()] for rank in range(case.world)]
    since = judge.after(case, reports, SECONDS)
    if set(case.kinds[:1]) & set(VERDICTS) and judge.verdicts(case, reports, SECONDS):
        since = None
    found = Found(
        case,
        judge.named(reports, SECONDS),
        since,
        tuple(judge.sums(reports)),
        tuple(judge.verdicts(case, reports, SECONDS)),
        judge.figures(reports),
    )
    if since is not None:
        shutil.rmtree(root, ignore_errors=True)
    return found


def _status(end: queue.Queue[int], seconds: float) -> int | str:
    try:
        return end.get(timeout=seconds)
    except queue.Empty:
        return "no status in time"


def _start(
    case: Case, rank: int, sources: Sources, root: Path, hosts: Hosts, seconds: float, stack: contextlib.ExitStack
) -> queue.Queue[int]:
    """Starts a rank. Where one rank is slow, each has a node of its own."""
    node = root / f"node{rank if case.slow is not None else 0}"
    node.mkdir(exist_ok=True)
    faults = {fault.kind: fault.size for fault in case.faults} if case.slow in (None, rank) else {}
    rank_of = {"RANK": rank, "WORLD_SIZE": case.world, "LOCAL_RANK": 0 if case.slow is not None else rank}
    rank_of["LOCAL_WORLD_SIZE"] = 1 if case.slow is not None else case.world
    environment = {
        **os.environ,
        **{name: str(value) for name, value in rank_of.items()},
        "SHARDFEED_RUNTIME_DIR": str(node / "run"),
        "SHARDFEED_CACHE_DIR": str(node / "cache"),
        "SHARDFEED_JOB": f"insight {os.getpid()} {case.number}",
        "OMP_NUM_THREADS": "1",
    }
    place, options, extra = _source(case, faults, sources, node, stack)
    environment.update(extra)
    if "slow copy" in case.kinds:
        options["device"] = "cuda:0"
        environment["FAKECUDART_COPY_US"] = str(int(1e6 * faults.get("slow copy", 0.0) / COLUMNS))
    if "slow map in a thread" in faults:
        options["threads"] = 1
    if "slow map in a worker" in faults:
        options["num_workers"] = 1
    given = {
        "data": place,
        "options": options,
        "map": max((size for kind, size in faults.items() if kind.startswith("slow map")), default=0.0),
        "images": 64 if "slow collate" in case.kinds else 0,
        "workers": "slow map in a worker" in case.kinds,
        "step": faults.get("slow trainer", STEP),
        "rank": rank,
        "world": case.world,
        "meeting": str(root / "meeting"),
        "output": str(root / f"{rank}.json"),
        "log": str(root / f"{rank}.log"),
        "seconds": seconds,
    }
    return hosts.run("slow copy" in case.kinds, given, environment)


def _source(
    case: Case, faults: Mapping[str, float], sources: Sources, node: Path, stack: contextlib.ExitStack
) -> tuple[str, dict[str, Any], dict[str, str]]:
    """Where the data is, the options to read it, and the environment."""
    data, store = sources.data, sources.store
    options: dict[str, Any] = {
        "batch_size": tables.BATCH,
        "memory": "16MiB",
        "cache": False,
        "shuffle": bool(case.number % 2),
        "seed": case.number,
    }
    if options["shuffle"]:
        options["shuffle_buffer"] = 512
    if "decode-bound" in case.kinds:
        return str(data / ("dense" if "decode-bound" in faults else "plain")), {**options, "memory": None}, {}
    if "slow collate" in case.kinds:
        return str(data / "images"), {**options, "collate_workers": 1, "memory": None}, {}
    if "slow disk" in faults:
        return disk.mounted(data / "plain", node / "disk", BATCH / faults["slow disk"], stack), options, {}
    if "slow disk of the cache" in case.kinds:
        assert sources.volume is not None
        rate = BATCH / faults["slow disk of the cache"] if faults else 0.0
        directory = sources.volume.mounted(node, rate, stack)
        options |= {"cache": True, "cache_limit": "1GiB"}
        return f"s3://{servers.BUCKET}/plain", options, {**store.environment, "SHARDFEED_CACHE_DIR": str(directory)}
    if "small memory" in faults:
        options |= {"shuffle": True, "shuffle_buffer": 512}
        return f"s3://{servers.BUCKET}/small", options, {**store.environment, "AWS_ENDPOINT_URL": sources.far}
    if not {"slow store", "throttling", "small cache", "cold cache"} & set(case.kinds):
        return str(data / "plain"), options, {}
    size = max(faults.get(kind, 0.0) for kind in ("slow store", "small cache", "cold cache"))
    limits = Limits(rate=BATCH / size if size else 0.0, requests=1 / faults["throttling"] if "throttling" in faults else 0.0)
    if "small cache" in case.kinds or "cold cache" in case.kinds:
        options["cache"] = True
        options["cache_limit"] = "4MiB" if "small cache" in case.kinds else "1GiB"
    link = stack.enter_context(contextlib.closing(Link(store.address, limits)))
    return f"s3://{servers.BUCKET}/plain", options, {**store.environment, "AWS_ENDPOINT_URL": link.address}
