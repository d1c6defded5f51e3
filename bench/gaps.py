#!/usr/bin/env python3
"""gaps.py [ADDRESS] [--step-ms 300] [--epochs 3] [--device cpu]: how a training loop waits.

A loop takes photographs, decoded and cropped to 224, and computes for as long as a step takes: on
the host it sleeps, on a device it runs kernels. A gap is the time between two batches. The first
gap of a run, and of a run that resumes in the middle of the second epoch, counts apart. The program
ends with 1 if another gap, at the ends of epochs too, is longer than three times the median.
Without an address it makes photographs below bench/data.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
MOST = 3  # times the median


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("address", nargs="?")
    options.add_argument("--column", default="img_jpg")
    options.add_argument("--batch-size", type=int, default=64)
    options.add_argument("--step-ms", type=float, default=300)
    options.add_argument("--epochs", type=int, default=3)
    options.add_argument("--device", default="cpu")
    options.add_argument("--options", type=json.loads, default={}, help="further options of the loader, as in '{\"collate_workers\": 16}'")
    args = options.parse_args()
    sys.path.insert(0, str(ROOT / "python" / "src"))
    os.environ.setdefault("SHARDFEED_BIN", str(ROOT / "bin" / "shardfeed"))
    address = args.address or photographs()
    failed = False
    for what, gaps in runs(args, address):
        first, rest = gaps[0], sorted(gaps[1:])
        median = statistics.median(rest)
        late = [f"{gap:.0f}" for gap in rest if gap > MOST * median]
        failed = failed or bool(late)
        tail = rest[int(0.99 * len(rest))]
        print(f"{what}: {len(gaps)} batches; first {first:.0f} ms; median {median:.0f}, 99 % {tail:.0f}, longest {rest[-1]:.0f} ms")
        print(f"  above {MOST} x the median: {', '.join(late) or 'none'}", flush=True)
    sys.exit(failed)


def photographs():
    import gen

    gen.make("photos", gen.default_directory(), 0.5, os.cpu_count())
    return str(gen.default_directory() / "photos")


def runs(args, address):
    loader = open_loader(args, address)
    step = steps_of(args)
    gaps, state, middle = [], None, len(loader) + len(loader) // 2
    clock = time.perf_counter()
    for _ in range(args.epochs):
        for batch in loader:
            step(batch)
            clock = note(gaps, clock, args)
            if len(gaps) == middle:
                state = loader.state_dict()
            del batch
    yield "start", gaps
    loader.close()
    if state is None:
        return
    loader, gaps = open_loader(args, address), []
    loader.load_state_dict(state)
    clock = time.perf_counter()
    for _ in range(args.epochs - 1):
        for batch in loader:
            step(batch)
            clock = note(gaps, clock, args)
            del batch
    yield "resume", gaps
    loader.close()


def note(gaps, clock, args):
    now = time.perf_counter()
    gaps.append(1e3 * (now - clock))
    return now


def open_loader(args, address):
    from shardfeed import Image
    from shardfeed.torch import DataLoader

    images = {args.column: Image.imagenet_train(dtype="uint8", mean=None, std=None)}
    given = {"columns": [args.column, "label"], "seed": 1, "cache": False, "drop_last": True, "device": args.device, **args.options}
    return DataLoader(address, batch_size=args.batch_size, images=images, **given)


def steps_of(args):
    """A step, which leaves at most one step in flight on a device."""
    if args.device == "cpu":
        return lambda batch: time.sleep(args.step_ms / 1e3)
    import torch

    weights = torch.rand(1 << 24, device=args.device)
    flying = []

    def kernels(times):
        for _ in range(times):
            weights.mul_(0.999).add_(0.001)
        event = torch.cuda.Event()
        event.record()
        return event

    kernels(100).synchronize()
    begin = time.perf_counter()
    kernels(1000).synchronize()
    times = max(1, round(1000 * args.step_ms / 1e3 / (time.perf_counter() - begin)))

    def step(batch):
        flying.append(kernels(times))
        if len(flying) > 1:
            flying.pop(0).synchronize()

    return step


if __name__ == "__main__":
    main()
