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

import os
import pathlib
import sys
import time

import goals
import parts
import photo_goals
import sets
from parts import Part
from run import find

HERE = pathlib.Path(__file__).resolve().parent

# cores -> parts, with the seconds that they take on an H200; parts with goals come first
PLAN = {
    8: (Part("pixels", 15), Part("loaders", 90), Part("resnet50", 70)),
    4: (Part("resnet50", 80),),
    16: (Part("first", 60), Part("resnet18", 60), Part("held_up", 90), Part("resnet50", 60)),
}

DEVICE = ("cuda", "half", "auto")  # loaders that decode on the device


def processors(records):
    """The processors' time for an image with "cuda", as a part of it with "cpu"."""
    cuda, cpu = (records.best("processor_ms_a_row", (loader,), part="loaders", cores=8) for loader in ("cuda", "cpu"))
    return goals.ratio(cuda, cpu)


def steps(records):
    """Steps of a training beside the decoding, of those without a loader."""
    beside, without = (records.best("steps_per_second", (loader,), part="held_up") for loader in ("cuda", "no loader"))
    return goals.ratio(beside, without)


GOALS = (
    *photo_goals.of("part", "loaders", DEVICE, ("cuda",)),
    goals.Goal("time of processors for an image, of image_device='cpu'", 0.2, 0.1, processors, most=True),
    goals.Goal("ResNet-50's steps beside image_device='cuda', 16 cores, of those without a loader", 0.98, 0.99, steps),
)


def main():
    names = list(dict.fromkeys(part.name for group in PLAN.values() for part in group))
    parser = parts.options(__doc__, "jpeg", "parts", names, "4 GB", minutes=9)
    args = parser.parse_args()
    wanted = parts.chosen(parser, args, "parts", names)
    find(args.device)
    deadline = time.monotonic() + 60 * args.minutes
    with parts.opened(args) as out:
        given = parts.given(args)
        sets.make(args.data, "photos", given["size"])
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
