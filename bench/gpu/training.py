"""A training loop: how long the device is idle, with our loader and with torch's."""

import random
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from shardfeed.torch import DataLoader
from torch.utils.data import IterableDataset, get_worker_info

PIXELS = (3, 64, 64)
BATCH = 256
WARM = 64  # steps before the measurement, at most a quarter of all: they use up what loaders make ahead
MIXED = 4  # row groups that the rival mixes


def shards(directory, small):
    """Pictures of raw pixels and labels, written by pyarrow; made once."""
    files, rows = (2, 2048) if small else (8, 16_384)
    done = directory / f"{files}x{rows}"
    if not done.exists():
        directory = directory / "unfinished"
        directory.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(7)
        width = int(np.prod(PIXELS))
        for k in range(files):
            pixels = pa.array(rng.integers(0, 255, rows * width, np.uint8))
            labels = pa.array(rng.integers(0, 1000, rows))
            table = pa.table({"pixels": pa.FixedSizeListArray.from_arrays(pixels, width), "label": labels})
            pq.write_table(table, directory / f"part-{k}.parquet", row_group_size=512, compression="none", use_dictionary=False)
        directory.rename(done)
    return done


def transform(batch):
    """What both loaders do to a batch on the host."""
    return {"pixels": batch["pixels"].view(-1, *PIXELS), "label": batch["label"]}


class Rows(IterableDataset):
    """The rival's workers share the row groups, read theirs in random order and mix a few."""

    def __init__(self, directory):
        self.files = sorted(directory.glob("*.parquet"))

    def __iter__(self):
        worker = get_worker_info()
        files = [pq.ParquetFile(path, memory_map=True) for path in self.files]
        groups = [(file, k) for file in files for k in range(file.num_row_groups)][worker.id :: worker.num_workers]
        random.shuffle(groups)
        for at in range(0, len(groups), MIXED):
            table = pa.concat_tables([file.read_row_group(k) for file, k in groups[at : at + MIXED]]).combine_chunks()
            order = np.random.permutation(len(table))
            pixels = table["pixels"].combine_chunks().flatten().to_numpy().reshape(len(table), -1)
            labels = table["label"].to_numpy()
            for lo in range(0, len(table), BATCH):
                rows = order[lo : lo + BATCH]
                yield transform({"pixels": torch.from_numpy(pixels[rows]), "label": torch.from_numpy(labels[rows])})


def ours(device, directory):
    loader = DataLoader(str(directory), batch_size=BATCH, device=device, collate_fn=transform, cache=False)
    return iter(loader)


def rival(workers, expert):
    """torch's DataLoader as most programs use it, or as an expert does."""

    def batches(device, directory):
        more = {"in_order": False, "prefetch_factor": 4} if expert else {}
        loader = torch.utils.data.DataLoader(Rows(directory), batch_size=None, num_workers=workers, pin_memory=True, **more)
        if expert:
            return on_a_stream(loader, device)
        return ({name: column.to(device, non_blocking=True) for name, column in batch.items()} for batch in loader)

    return batches


def on_a_stream(loader, device):
    """Copies each batch while the one before is in use."""
    stream, last = torch.cuda.Stream(device), None
    for batch in loader:
        with torch.cuda.stream(stream):
            copied = {name: column.to(device, non_blocking=True) for name, column in batch.items()}
            arrived = stream.record_event()
        if last is not None:
            yield handed(*last)
        last = copied, arrived
        del batch, copied
    if last is not None:
        yield handed(*last)


def handed(batch, arrived):
    """The batch for the current stream, which waits until it has arrived."""
    stream = torch.cuda.current_stream()
    stream.wait_event(arrived)
    for column in batch.values():
        column.record_stream(stream)
    return batch


LOADERS = {
    "shardfeed": ours,
    "torch DataLoader(num_workers=2, pin_memory=True)": rival(2, expert=False),
    "torch DataLoader(num_workers=8, in_order=False), copies on a stream": rival(8, expert=True),
    "torch DataLoader(num_workers=16, in_order=False), copies on a stream": rival(16, expert=True),
}


class Step:
    """Kernels over a batch that take about so long on the device: arithmetic on pixels and numbers."""

    def __init__(self, device, milliseconds):
        self.weights = torch.rand(1 << 24, device=device)
        self.times = 1
        batch = {"pixels": torch.zeros(BATCH, *PIXELS, dtype=torch.uint8, device=device), "label": torch.zeros(BATCH, device=device)}
        for _ in range(3):
            self(batch)
        took = min(self.timed(batch) for _ in range(5))
        self.times = max(1, round(milliseconds / max(took, 1e-3)))
        self.took = min(self.timed(batch) for _ in range(5))  # milliseconds

    def __call__(self, batch):
        pixels = batch["pixels"].float().mul_(1 / 255)
        for _ in range(self.times):
            self.weights.mul_(0.999).add_(0.001)
        return pixels

    def timed(self, batch):
        start, end = timer(), timer()
        start.record()
        self(batch)
        end.record()
        end.synchronize()
        return start.elapsed_time(end)


def timer():
    return torch.cuda.Event(enable_timing=True)


def loop(batches, step):
    """Runs an epoch. Returns the steps, and the milliseconds of the device and the host."""
    events, marks = [], []
    for batch in batches:
        start, end = timer(), timer()
        start.record()  # the stream has waited for the batch by then
        step(batch)
        end.record()
        events.append((start, end))
        if len(events) <= WARM:
            end.synchronize()
            marks.append(time.perf_counter())
        del batch
    events[-1][1].synchronize()
    warm = warm_of(len(events))
    wall = 1e3 * (time.perf_counter() - marks[warm - 1])
    measured = events[warm:]
    busy = sum(start.elapsed_time(end) for start, end in measured)
    return {
        "steps": len(measured),
        "warm": warm,
        "busy_ms": busy,
        "span_ms": events[warm - 1][1].elapsed_time(measured[-1][1]),
        "wall_ms": wall,
    }


def warm_of(steps):
    return max(1, min(WARM, steps // 4))


def idle(device, directory, milliseconds):
    """The share of the time in which the device computes nothing, by each loader in turn."""
    step = Step(device, milliseconds)
    for name, loader in LOADERS.items():
        result = loop(loader(device, directory), step)
        yield {"what": name, "step_ms": step.took, "idle": max(0.0, 1 - result["busy_ms"] / result["span_ms"]), **result}


def overlap(device, directory, milliseconds):
    """Measures steps, batches, and both together: the time that the longer one does not hide."""
    step = Step(device, milliseconds)
    kept = {"pixels": torch.zeros(BATCH, *PIXELS, dtype=torch.uint8, device=device)}
    both = loop(ours(device, directory), step)
    batches = loop(ours(device, directory), lambda batch: None)
    steps = loop((kept for _ in range(both["steps"] + both["warm"])), step)
    longer = max(batches["wall_ms"], steps["wall_ms"])
    yield {"what": "both", **both, "beyond": both["wall_ms"] / longer - 1}
    yield {"what": "batches alone", **batches}
    yield {"what": "steps alone", **steps}
