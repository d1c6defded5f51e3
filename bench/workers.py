"""What num_workers costs: our loader with K workers against torch's DataLoader with K workers over
our data set.

    make bench-workers DATA=DIRECTORY WORKERS="--workers 2 --rounds 5"

The function returns its batch as it is, or three tensors of its own. It prints rows per second of
each, in turn, the ratio, and the trainer's processor time per batch.
"""

import argparse
import statistics
import time

import torch
from shardfeed.torch import DataLoader, StreamingDataset
from torch.utils.data import DataLoader as TorchLoader


def same(batch):
    return batch


def three(batch):
    """Three tensors that are not the engine's."""
    rows = batch.rows
    return {"a": torch.ones(rows), "b": torch.ones(rows, 4), "c": torch.ones(rows, dtype=torch.int64)}


def opened(given, function):
    return StreamingDataset(given.directory, batch_size=given.batch_size, cache=False).map(function)


def ours(given, function):
    return DataLoader(opened(given, function), num_workers=given.workers)


def torchs(given, function):
    return TorchLoader(opened(given, function), batch_size=None, num_workers=given.workers)


def run(loader, most, *, own):
    """Rows per second, and the processor time of this process per batch, after ten batches."""
    batches, rows, count = iter(loader), 0, 0
    for _ in range(10):
        next(batches)
    began, used = time.perf_counter(), time.process_time()
    for batch in batches:
        rows += len(next(iter(batch.values())))
        count += 1
        if count == most:
            break
    took, cpu = time.perf_counter() - began, time.process_time() - used
    del batches
    if own:
        loader.close()
    return rows / took, cpu / count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=400)
    parser.add_argument("--batch-size", type=int, default=256)
    given = parser.parse_args()
    for name, function in (("as it is", same), ("three tensors", three)):
        ratios = []
        for _ in range(given.rounds):
            (fast, cpu), (slow, torch_cpu) = (
                run(ours(given, function), given.batches, own=True),
                run(torchs(given, function), given.batches, own=False),
            )
            ratios.append(fast / slow)
            print(f"{name}: {fast:,.0f} rows/s, {cpu * 1e6:.0f} us a batch", end="; ")
            print(f"torch's {slow:,.0f} rows/s, {torch_cpu * 1e6:.0f} us; {ratios[-1]:.2f}x")
        print(f"{name}: median {statistics.median(ratios):.2f}x")


if __name__ == "__main__":
    main()
