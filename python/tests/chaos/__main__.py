"""python -m chaos: jobs under faults, and what they showed."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import math
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TypeVar

import pytest

from chaos import job, nodes, stores, tables
from chaos.attempt import Limits
from chaos.scenario import LOOPS, STORES, STREAMS, Means, draw

S = TypeVar("S", bound=str)


def main() -> int:
    given = arguments()
    if given.make_data:
        tables.make(given.make_data)
        return 0
    limits = Limits(time.monotonic() + given.seconds, given.stall)
    os.environ["SHARDFEED_BIN"] = str(Path(given.program).absolute())
    root = Path(tempfile.mkdtemp(prefix="chaos-"))
    os.environ.update({"SHARDFEED_RUNTIME_DIR": str(root / "run"), "XDG_CACHE_HOME": str(root / "home"), "SHARDFEED_GRACE": "1s"})
    os.environ["SHARDFEED_JOB"] = f"chaos {os.getpid()}"
    local = given.data.absolute() if given.data else root / "data"
    if not given.data:
        tables.make(local)
    numbers = [given.job] if given.job is not None else range(given.first, given.first + given.jobs)
    loops = installed(given.loop, {"lightning": "lightning", "trainer": "transformers"})
    streams = installed(given.stream, {"stateful": "torchdata"})
    disks, tracer = nodes.has_disks(root / "disk"), nodes.has_tracer()
    if not disks:
        print("chaos: no disks are filled or lost: this process may not mount one", file=sys.stderr)
    if not tracer:
        print("chaos: no disk has errors: strace is not installed", file=sys.stderr)
    verdicts = []
    with contextlib.ExitStack() as stack:
        shared, found = servers(stack, local, root, tuple(name for name in given.store if name not in given.without))

        def run(number: int) -> job.Verdict | None:
            if time.monotonic() > limits.until:
                return None
            scenario = draw(number, Means(found, streams, loops, disks, tracer))
            directory = root / f"job-{number}"
            with contextlib.ExitStack() as own:
                store = shared.get(scenario.store) or own.enter_context(contextlib.closing(stores.S3(local, root / f"s3-{number}")))
                return job.run(scenario, store, local, directory, limits)

        with ThreadPoolExecutor(given.at_once) as pool:
            for done in as_completed([pool.submit(run, number) for number in numbers]):
                if (verdict := done.result()) is None:
                    continue
                report(verdict, root)
                verdicts.append(verdict)
                if given.results:
                    with given.results.open("a") as file:
                        file.write(json.dumps(vars(verdict), default=lambda it: it.as_dict()) + "\n")
    return summary(verdicts, root)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="chaos", description="Whole jobs under faults; every row is checked against the order.")
    parser.add_argument("program", help="the engine, such as bin/shardfeed")
    parser.add_argument("--jobs", type=int, default=30, help="how many (default %(default)s)")
    parser.add_argument("--first", type=int, default=1, help="the number of the first (default %(default)s)")
    parser.add_argument("--job", type=int, help="run this job alone")
    parser.add_argument("--at-once", type=int, default=2, help="how many run at the same time (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=math.inf, help="end after so many; jobs that run then are given up")
    parser.add_argument("--stall", type=float, default=120, help="seconds without progress that count as a hang (default %(default)g)")
    parser.add_argument("--store", nargs="+", choices=STORES, default=STORES, help="where the data is (default all)")
    parser.add_argument("--without", nargs="+", choices=STORES, default=(), help="stores that no job uses")
    parser.add_argument("--stream", nargs="+", choices=STREAMS, default=STREAMS, help="what is read (default all)")
    parser.add_argument("--loop", nargs="+", choices=LOOPS, default=LOOPS, help="what reads (default all)")
    parser.add_argument("--results", type=Path, help="append a line of JSON for each job to this file")
    parser.add_argument("--make-data", type=Path, help="write the tables to this directory, and run no job")
    parser.add_argument("--data", type=Path, help="the tables that --make-data wrote, where pyarrow and Pillow are absent")
    return parser.parse_args()


def installed(wanted: Sequence[S], packages: Mapping[str, str]) -> tuple[S, ...]:
    """The loops or streams whose packages are installed."""
    missing = [name for name in wanted if name in packages and importlib.util.find_spec(packages[name]) is None]
    for name in missing:
        print(f"chaos: no {name} jobs: {packages[name]} is not installed", file=sys.stderr)
    return tuple(name for name in wanted if name not in missing)


def servers(
    stack: contextlib.ExitStack, local: Path, root: Path, wanted: tuple[str, ...]
) -> tuple[dict[str, stores.Store], tuple[str, ...]]:
    """The stores that all jobs share, and the names of all that are installed."""
    shared: dict[str, stores.Store] = {"local": stores.Local(local)}
    found = []
    for name in wanted:
        try:
            if name == "hdfs":
                (root / "hdfs").mkdir()
                shared[name] = stack.enter_context(stores.hdfs(local, root / "hdfs"))
            if name == "s3":
                stores.program("versitygw")
            found.append(name)
        except pytest.skip.Exception as missing:
            print(f"chaos: no jobs on {name}: {missing}", file=sys.stderr)
    return shared, tuple(found)


def report(verdict: job.Verdict, root: Path) -> None:
    scenario = verdict.scenario
    how = "FAILED" if verdict.complaints else "given up" if verdict.unfinished else "ok"
    print(
        f"job {scenario.number}: {scenario.describe()}: {verdict.attempts} attempts, {verdict.rows:,} rows, {verdict.seconds:.0f} s: {how}"
    )
    for complaint in verdict.complaints[:6]:
        print(f"    {complaint}")
    if verdict.complaints:
        print(f"    {root / f'job-{scenario.number}'}; again: --job {scenario.number}")
    else:
        job.clear(root / f"job-{scenario.number}")
    sys.stdout.flush()


def summary(verdicts: list[job.Verdict], root: Path) -> int:
    happened = Counter(fault for verdict in verdicts for fault in verdict.faults)
    for kind, count in sorted(happened.items()):
        print(f"{count:6} x {kind}")
    failed = [verdict.scenario.number for verdict in verdicts if verdict.complaints]
    given_up = sum(verdict.unfinished for verdict in verdicts)
    rows = sum(verdict.rows for verdict in verdicts)
    peak = max((verdict.peak for verdict in verdicts), default=0)
    print(f"{len(verdicts)} jobs, {happened.total()} faults, {rows:,} rows, at most {peak:.0%} of the memory that is allowed")
    if given_up:
        print(f"{given_up} of them had not ended when the time was up")
    print(f"{len(failed)} failed{': ' if failed else ''}{', '.join(map(str, failed))}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
