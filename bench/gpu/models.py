#!/usr/bin/env python3
"""models.py [--device cuda:0] [--cases resnet50,gpt] [--out FILE] [--smoke]: trains models.

A case trains on the same batch again and again, which gives the model's ceiling, then from parquet
by shardfeed, then by torch's DataLoader as an expert writes it. It runs on 16, 8 or 4 cores. Each
figure is printed, and kept in --out, as a line of JSON; at the end comes a table in Markdown. All
is planned for 10 minutes on an H200 with 16 cores. --smoke runs little of everything, also with
--device cpu; its figures mean nothing. Ends with 1 if a case was not measured.
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

import sets
from goals import table
from run import find

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# what, cores -> torch's workers; cases with goals come first, in case the time runs out
CASES = {
    ("loader", 8): (8,),
    ("resnet50", 8): (8,),
    ("resnet50", 4): (8,),
    ("first", 16): (),
    ("resnet18", 16): (8, 16),
    ("resnet50", 16): (8, 16),
    ("dlrm", 16): (8, 16),
    ("gpt", 16): (8, 16),
}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--device", default="cuda:0")
    options.add_argument("--cases", default=",".join(dict.fromkeys(what for what, _ in CASES)))
    options.add_argument("--out", type=pathlib.Path, default=ROOT / "bench" / "results" / f"models-{time.strftime('%Y-%m-%d-%H%M')}.jsonl")
    options.add_argument("--data", type=pathlib.Path, help="where the sets are made and kept; a directory of this run otherwise, 8 GB")
    options.add_argument("--seconds", type=float, default=6, help="how long each loader is measured")
    options.add_argument("--minutes", type=float, default=10, help="when cases that are still running are stopped")
    options.add_argument("--smoke", action="store_true", help="little of everything, on the cores there are: shows that it runs")
    args = options.parse_args()
    args.cases = args.cases.split(",")
    if unknown := set(args.cases) - {what for what, _ in CASES}:
        options.error(f"there is no case {', '.join(sorted(unknown))}")
    if args.device != "cpu":
        find(args.device)
    deadline = time.monotonic() + 60 * args.minutes
    with opened(args) as out:
        records, missing = measure(args, deadline, out)
    print("\n" + table(records))
    if args.smoke:
        print("The models and the data are tiny: these figures mean nothing.")
    if missing:
        sys.exit("\n".join(f"NOT MEASURED: {line}" for line in missing))


def measure(args, deadline, out):
    """Runs the cases. Returns their records, and a line for each that was not measured."""
    cores = sorted(os.sched_getaffinity(0))
    records, missing = [], []
    size = "small" if args.smoke else "large"
    by_cores = groups(args, len(cores))
    for count in [count for count in by_cores if count > len(cores)]:
        missing.append(f"{names(by_cores.pop(count))} on {count} cores: there are {len(cores)}")
    for name in sorted({sets.of(what) for cases in by_cores.values() for what, _ in cases}):
        sets.make(args.data, name, size)
    for count, cases in by_cores.items():
        given = {"device": args.device, "data": str(args.data), "size": size, "cases": cases}
        given["seconds"] = 0.01 if args.smoke else args.seconds
        command = [sys.executable, str(HERE / "case.py"), json.dumps(given)]
        with started(command, cores[:count], deadline) as case:
            for line in case.stdout:
                print(line, end="", flush=True)
                out.write(line)
                records.append(json.loads(line))
            if case.wait():
                why = "the time was over" if time.monotonic() >= deadline else f"exit {case.returncode}"
                missing.append(f"some of {names(cases)} on {count} cores: {why}")
    return records, missing


def groups(args, have):
    """Groups cases by their cores. One process measures a group."""
    found = {}
    for (what, cores), workers in CASES.items():
        if what in args.cases:
            case = (what, workers[:1] and (2,) if args.smoke else workers)
            group = found.setdefault(min(cores, have) if args.smoke else cores, [])
            if case not in group:
                group.append(case)
    return found


def names(cases):
    return ", ".join(what for what, _ in cases)


@contextlib.contextmanager
def opened(args):
    """The file of --out, while processes find the engine and the package, and --data has a directory."""
    with tempfile.TemporaryDirectory(prefix="shardfeed-bench-gpu-") as scratch:
        os.environ.setdefault("SHARDFEED_RUNTIME_DIR", os.path.join(scratch, "run"))
        os.environ.setdefault("SHARDFEED_BIN", str(ROOT / "bin" / "shardfeed"))
        os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python" / "src"), os.environ.get("PYTHONPATH", "")])
        args.data = args.data or pathlib.Path(scratch) / "data"
        args.out.parent.mkdir(parents=True, exist_ok=True)
        with args.out.open("w") as out:
            yield out


@contextlib.contextmanager
def started(command, cores, deadline):
    """A process on these cores, which is stopped at the deadline with its children."""
    pinned = {"preexec_fn": lambda: os.sched_setaffinity(0, cores), "start_new_session": True}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **pinned)
    timer = threading.Timer(max(0, deadline - time.monotonic()), os.killpg, (process.pid, signal.SIGKILL))
    timer.start()
    try:
        yield process
    finally:
        timer.cancel()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


if __name__ == "__main__":
    main()
