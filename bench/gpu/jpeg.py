#!/usr/bin/env python3
"""jpeg.py [--device cuda:0] [--parts pixels,loaders] [--out FILE] [--smoke]: JPEGs on a GPU.

Measures image_device="cuda" and "auto" beside "cpu": differences of pixels, loaders without a
model, ResNets on 16, 8 and 4 cores, the first batch, and the steps of a training beside decoding.
Each figure is a line of JSON, printed and kept in --out. All is planned for 12 minutes on an H200
with 16 cores. --smoke runs little of everything; its figures mean nothing. Ends with 1 if a part
was not measured.
"""

import argparse
import json
import os
import pathlib
import sys
import time

import sets
from models import opened, started
from run import find

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# cores -> parts; parts with goals come first, in case the time runs out
PLAN = {8: ("pixels", "loaders", "resnet50"), 4: ("resnet50",), 16: ("held_up", "first", "resnet18", "resnet50")}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--device", default="cuda:0")
    options.add_argument("--parts", default=",".join(dict.fromkeys(part for parts in PLAN.values() for part in parts)))
    options.add_argument("--out", type=pathlib.Path, default=ROOT / "bench" / "results" / f"jpeg-{time.strftime('%Y-%m-%d-%H%M')}.jsonl")
    options.add_argument("--data", type=pathlib.Path, help="where the photographs are made and kept; a directory of this run otherwise")
    options.add_argument("--seconds", type=float, default=6, help="how long each loader is measured")
    options.add_argument("--minutes", type=float, default=12, help="when parts that are still running are stopped")
    options.add_argument("--smoke", action="store_true", help="little of everything, on the cores there are: shows that it runs")
    args = options.parse_args()
    find(args.device)
    deadline = time.monotonic() + 60 * args.minutes
    with opened(args) as out:
        missing = measure(args, deadline, out)
    if missing:
        sys.exit("\n".join(f"NOT MEASURED: {line}" for line in missing))


def measure(args, deadline, out):
    """Runs the parts, a process for each number of cores. Returns a line for each that failed."""
    cores = sorted(os.sched_getaffinity(0))
    size, wanted, missing = "small" if args.smoke else "large", args.parts.split(","), []
    sets.make(args.data, sets.of("resnet50"), size)
    plan = {len(cores): tuple(dict.fromkeys(part for parts in PLAN.values() for part in parts))} if args.smoke else PLAN
    for count, parts in plan.items():
        parts = [part for part in parts if part in wanted]
        if parts and count > len(cores):
            missing.append(f"{', '.join(parts)} on {count} cores: there are {len(cores)}")
        elif parts:
            given = {"device": args.device, "data": str(args.data), "size": size, "parts": parts}
            given["seconds"] = 0.01 if args.smoke else args.seconds
            with started([sys.executable, str(HERE / "jpeg_parts.py"), json.dumps(given)], cores[:count], deadline) as process:
                for line in process.stdout:
                    print(line, end="", flush=True)
                    out.write(line)
                if process.wait():
                    why = "the time was over" if time.monotonic() >= deadline else f"exit {process.returncode}"
                    missing.append(f"some of {', '.join(parts)} on {count} cores: {why}")
    return missing


if __name__ == "__main__":
    main()
