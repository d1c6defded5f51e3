#!/usr/bin/env python3
"""run.py [--device cuda:0] [--rounds 9] [--parts copies,training] [--smoke]: batches on a GPU.

Runs where torch and the package can be imported and the engine is built (make bench-gpu does that).
Prints tables in Markdown; the records of all rounds go to --out as lines of JSON. Without a CUDA
device it prints an error and ends with 1.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ("copies", "locking", "training", "overlap")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--device", default="cuda:0")
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--parts", default=",".join(PARTS))
    options.add_argument("--out", type=pathlib.Path, default=ROOT / "bench" / "results" / f"gpu-{time.strftime('%Y-%m-%d-%H%M')}.jsonl")
    options.add_argument("--data", type=pathlib.Path, help="where the shards are made and kept; a directory of this run otherwise")
    options.add_argument("--step-ms", type=float, default=4, help="what a training step takes on the device")
    options.add_argument("--smoke", action="store_true", help="one round of little of everything: shows that it runs")
    args = options.parse_args()
    parts = args.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        options.error(f"there is no part {', '.join(sorted(unknown))}")
    device = find(args.device)
    with tempfile.TemporaryDirectory(prefix="shardfeed-bench-gpu-") as scratch:
        os.environ.setdefault("SHARDFEED_RUNTIME_DIR", os.path.join(scratch, "run"))
        os.environ.setdefault("SHARDFEED_BIN", str(ROOT / "bin" / "shardfeed"))
        measure(device, args, parts, args.data or pathlib.Path(scratch) / "data")


def find(name):
    """The device. Without one the program ends."""
    sys.path.insert(0, str(ROOT / "python" / "src"))
    import torch

    if not torch.cuda.is_available():
        why = "torch was built without CUDA" if torch.version.cuda is None else "torch finds neither driver nor device"
        sys.exit(f"no CUDA device: {why}; nothing was measured")
    device = torch.device(name)
    if device.type != "cuda" or (device.index or 0) >= torch.cuda.device_count():
        sys.exit(f"no CUDA device {name}: there are {torch.cuda.device_count()}; nothing was measured")
    torch.cuda.set_device(device)
    return device


def measure(device, args, parts, data):
    import copies
    import report
    import torch
    import training

    rounds = 1 if args.smoke else args.rounds
    print(report.machine(device), flush=True)
    run = {
        "copies": lambda: copies.copies(device, small=args.smoke),
        "locking": lambda: copies.locking(device, small=args.smoke),
        "training": lambda: training.idle(device, training.shards(data, small=args.smoke), args.step_ms),
        "overlap": lambda: training.overlap(device, training.shards(data, small=args.smoke), args.step_ms),
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with args.out.open("w") as out:
        for part in parts:
            records = []
            for n in range(rounds):
                for record in run[part]():
                    records.append({"part": part, "round": n, "device": torch.cuda.get_device_name(device), **record})
                    out.write(json.dumps(records[-1]) + "\n")
            print(report.table(part, records), flush=True)


if __name__ == "__main__":
    main()
