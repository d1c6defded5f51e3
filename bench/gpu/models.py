#!/usr/bin/env python3
"""models.py [--device cuda:0] [--cases resnet50,gpt] [--out FILE] [--smoke]: trains models.

A case trains on the same batch again and again, which gives the model's ceiling, then from parquet
by shardfeed, then by torch's DataLoader as an expert writes it. It runs on 16, 8 or 4 cores. Each
figure is printed, and kept in --out, as a line of JSON; at the end come tables in Markdown, of the
figures and of the goals. All is planned for 10 minutes on an H200 with 16 cores. --smoke runs
little of everything, also with --device cpu; its figures mean nothing. Nothing is fetched. Ends
with 1 if a case was not measured; the reasons are listed.
"""

import os
import pathlib
import sys
import time

import goals
import parts
import photo_goals
import sets
from run import find

HERE = pathlib.Path(__file__).resolve().parent

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


GOALS = photo_goals.of("case", "loader", OURS, OURS)


def main():
    names = list(dict.fromkeys(what for what, _ in CASES))
    parser = parts.options(__doc__, "models", "cases", names, "8 GB", minutes=10)
    args = parser.parse_args()
    args.cases = parts.chosen(parser, args, "cases", names)
    if args.device != "cpu":
        find(args.device)
    deadline = time.monotonic() + 60 * args.minutes
    with parts.opened(args) as out:
        groups = plan(args, len(os.sched_getaffinity(0)))
        given = parts.given(args)
        for name in sorted({sets.of(part.name) for group in groups.values() for part in group}):
            sets.make(args.data, name, given["size"])
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
