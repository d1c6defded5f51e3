#!/usr/bin/env python3
"""models.py [--device cuda:0] [--cases resnet50,gpt] [--out FILE] [--smoke]: trains models.

A case trains on the same batch again and again, which gives the model's ceiling, then from parquet
by shardfeed, then by torch's DataLoader as an expert writes it. It runs on 16, 8 or 4 cores. Each
figure is printed, and kept in --out, as a line of JSON; at the end come tables in Markdown, of the
figures and of the goals. All is planned for 10 minutes on an H200 with 16 cores. --smoke runs
little of everything, also with --device cpu; its figures mean nothing. Nothing is fetched. Ends
with 1 if a case was not measured; the reasons are listed.
"""

import argparse
import os
import pathlib
import sys
import time

import goals
import parts
import sets
from run import find

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

OURS = ("shardfeed",)

# what, cores -> seconds on an H200, torch's workers; cases with goals come first
CASES = {
    ("loader", 8): (40, (8,)),
    ("resnet50", 8): (60, (8,)),
    ("resnet50", 4): (70, (8,)),
    ("first", 16): (15, ()),
    ("resnet18", 16): (60, (8, 16)),
    ("resnet50", 16): (60, (8, 16)),
    ("dlrm", 16): (60, (8, 16)),
    ("gpt", 16): (60, (8, 16)),
}


def alone(other):
    """Photographs without a model on 8 cores, as a multiple of another loader."""
    return lambda records: goals.ratio(
        records.best("rows_per_second", OURS, case="loader", cores=8), records.best("rows_per_second", (other,), case="loader", cores=8)
    )


def of_ceiling(case, cores):
    return lambda records: records.best("of_ceiling", OURS, case=case, cores=cores)


GOALS = (
    goals.Goal("photographs to the device, 8 cores, of torch's DataLoader with 8 workers", 4, 6, alone("torch, 8 workers")),
    goals.Goal("the same, of nvJPEG alone", 0.8, 0.9, alone("nvJPEG alone, without crops")),
    goals.Goal("ResNet-50, 8 cores, of its ceiling", 0.98, 0.99, of_ceiling("resnet50", 8)),
    goals.Goal("ResNet-50, 4 cores, of its ceiling", 0.95, 0.99, of_ceiling("resnet50", 4)),
    goals.Goal("ResNet-18, 16 cores, of its ceiling", 0.9, 0.97, of_ceiling("resnet18", 16)),
    goals.Goal(
        "first batch of 512",
        0.6,
        0.4,
        lambda records: max((record["first_seconds"] for record in records.of(case="first")), default=None),
        unit="s",
        most=True,
    ),
)


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
    size = "small" if args.smoke else "large"
    with parts.opened(args) as out:
        groups = plan(args, len(os.sched_getaffinity(0)))
        for name in sorted({sets.of(part.name) for group in groups.values() for part in group}):
            sets.make(args.data, name, size)
        given = {"device": args.device, "data": str(args.data), "size": size, "seconds": 0.01 if args.smoke else args.seconds}
        runner = parts.Runner(HERE / "case.py", given, deadline, out)
        runner.run(groups)
        verdicts = list(goals.judged(GOALS, runner.records))
        for verdict in verdicts:
            runner.keep(verdict)
    print(f"\n{goals.figures(runner.records)}\n{goals.table(verdicts)}")
    if args.smoke:
        print("The models and the data are tiny: these figures mean nothing.")
    if runner.missing:
        sys.exit("\n".join(f"NOT MEASURED: {line}" for line in runner.missing))


def plan(args, have):
    """The parts by their cores. One process measures a group."""
    found = {}
    for (what, cores), (seconds, workers) in CASES.items():
        if what in args.cases:
            part = parts.Part(what, seconds, {"workers": workers[:1] and (2,) if args.smoke else workers})
            group = found.setdefault(min(cores, have) if args.smoke else cores, [])
            if part.name not in [other.name for other in group]:
                group.append(part)
    return found


if __name__ == "__main__":
    main()
