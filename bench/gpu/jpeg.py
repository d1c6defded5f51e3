#!/usr/bin/env python3
"""jpeg.py [--device cuda:0] [--parts pixels,loaders] [--out FILE] [--smoke]: JPEGs on a GPU.

Measures image_device="cuda" and "auto" beside "cpu": differences of pixels, loaders without a
model, ResNets on 16, 8 and 4 cores, the first batch, and the steps of a training beside decoding.
Each figure is a line of JSON, printed and kept in --out at once; at the end come tables in
Markdown, of the figures, the steps and the goals. All is planned for 9 minutes on an H200 with 16
cores, so that it fits a command of 10; what is left then is listed with the reason, as is a part
that fails. Nothing is fetched. --smoke runs little of everything; its figures mean nothing. Ends
with 1 if a part was not measured.
"""

import argparse
import os
import pathlib
import sys
import time

import goals
import parts
import sets
from parts import Part
from run import find

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# cores -> parts, with the seconds that they take on an H200; parts with goals come first
PLAN = {
    8: (Part("pixels", 15), Part("loaders", 90), Part("resnet50", 70)),
    4: (Part("resnet50", 80),),
    16: (Part("first", 60), Part("resnet18", 60), Part("held_up", 90), Part("resnet50", 60)),
}

DEVICE = ("cuda", "half", "auto")  # loaders that decode on the device


def alone(other):
    """Photographs without a model on 8 cores, as a multiple of another loader."""
    on_8 = {"part": "loaders", "cores": 8}
    return lambda records: goals.ratio(records.best("rows_per_second", DEVICE, **on_8), records.best("rows_per_second", (other,), **on_8))


def of_ceiling(part, cores):
    return lambda records: records.best("of_ceiling", DEVICE, part=part, cores=cores)


def processors(records):
    """The processors' time for an image with "cuda", as a part of it with "cpu"."""
    cuda, cpu = (records.best("processor_ms_a_row", (loader,), part="loaders", cores=8) for loader in ("cuda", "cpu"))
    return goals.ratio(cuda, cpu)


def first(records):
    """The slowest first batch, after kernels were compiled once."""
    return records.best("first_seconds", ("cuda",), part="first")


def steps(records):
    """Steps of a training beside the decoding, of those without a loader."""
    beside, without = (records.best("steps_per_second", (loader,), part="held_up") for loader in ("cuda", "no loader"))
    return goals.ratio(beside, without)


GOALS = (
    goals.Goal("photographs to the device, 8 cores, of torch's DataLoader with 8 workers", 4, 6, alone("torch, 8 workers")),
    goals.Goal("the same, of nvJPEG alone on the same bytes", 0.8, 0.9, alone("nvJPEG alone, without crops")),
    goals.Goal("ResNet-50, bf16, batch 512, 8 cores, of its ceiling", 0.98, 0.99, of_ceiling("resnet50", 8)),
    goals.Goal("ResNet-50, 4 cores, of its ceiling", 0.95, 0.99, of_ceiling("resnet50", 4)),
    goals.Goal("ResNet-18, 16 cores, of its ceiling", 0.9, 0.97, of_ceiling("resnet18", 16)),
    goals.Goal("time of processors for an image, of image_device='cpu'", 0.2, 0.1, processors, most=True),
    goals.Goal("first batch of 512, uint8, image_device='cuda'", 0.6, 0.4, first, unit="s", most=True),
    goals.Goal("ResNet-50's steps beside image_device='cuda', 16 cores, of those without a loader", 0.98, 0.99, steps),
)


def main():
    names = list(dict.fromkeys(part.name for group in PLAN.values() for part in group))
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--device", default="cuda:0")
    options.add_argument("--parts", default=",".join(names))
    options.add_argument("--out", type=pathlib.Path, default=ROOT / "bench" / "results" / f"jpeg-{time.strftime('%Y-%m-%d-%H%M')}.jsonl")
    options.add_argument(
        "--data", type=pathlib.Path, help="where the photographs are made and kept; a directory of this run otherwise, 4 GB"
    )
    options.add_argument("--seconds", type=float, default=6, help="how long each loader is measured")
    options.add_argument("--minutes", type=float, default=9, help="when a part that is still running is stopped")
    options.add_argument("--smoke", action="store_true", help="little of everything, on the cores there are: shows that it runs")
    args = options.parse_args()
    wanted = args.parts.split(",")
    if unknown := set(wanted) - set(names):
        options.error(f"there is no part {', '.join(sorted(unknown))}")
    find(args.device)
    deadline = time.monotonic() + 60 * args.minutes
    size = "small" if args.smoke else "large"
    with parts.opened(args) as out:
        sets.make(args.data, "photos", size)
        given = {"device": args.device, "data": str(args.data), "size": size, "seconds": 0.01 if args.smoke else args.seconds}
        runner = parts.Runner(HERE / "jpeg_parts.py", given, deadline, out)
        runner.run(plan(wanted, args.smoke))
        verdicts = list(goals.judged(GOALS, runner.records))
        for verdict in verdicts:
            runner.keep(verdict)
    print("\n" + goals.figures(runner.records, "part"))
    if found := [record for record in runner.records if record.get("part") == "held_up"]:
        print(goals.steps(found))
    print(goals.table(verdicts))
    if args.smoke:
        print("There are few photographs, and the model is none: these figures mean nothing.")
    if runner.missing:
        sys.exit("\n".join(f"NOT MEASURED: {line}" for line in runner.missing))


def plan(wanted, smoke):
    """The parts by their cores."""
    found = {cores: [part for part in group if part.name in wanted] for cores, group in PLAN.items()}
    if not smoke:
        return found
    once = {part.name: part for group in found.values() for part in group}
    return {len(os.sched_getaffinity(0)): list(once.values())}


if __name__ == "__main__":
    main()
