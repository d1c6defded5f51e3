#!/usr/bin/env python3
"""case.py JSON: the cases of models.py, on the cores it runs on; see parts.work.

A case is a task, "loader" (photographs without a model) or "first" (the first batch).
"""

import itertools
import os
import pathlib
import time

import pace
import parts
import pyarrow.parquet as pq
import rivals
import tasks
import torch


def measure(given, part):
    what, device = part["name"], torch.device(given["device"])
    task = tasks.TASKS.get(what, tasks.Photos)(what, given["size"], pathlib.Path(given["data"]), device)
    for record in CASES.get(what, train)(task, part["arguments"]["workers"], given["seconds"]):
        yield {"case": what, **record, **about(device, given["size"])}


def about(device, size):
    """What figures depend on."""
    name = "cpu"
    if device.type == "cuda":
        torch.cuda.set_device(device)
        name = torch.cuda.get_device_name(device)
    cores = len(os.sched_getaffinity(0))
    return {"cores": cores, "size": size, "decoder": rivals.DECODER, "device": name, "torch": torch.__version__}


def train(task, workers, seconds):
    """The model's ceiling, and what it reaches with each loader."""
    step = task.model()
    ceiling = rows(task, pace.measure(itertools.repeat(task.kept()), step, task.device, seconds))
    yield {"loader": "the same batch", **ceiling}
    for record in with_loaders(task, workers, step, seconds):
        yield {**record, "of_ceiling": record["rows_per_second"] / ceiling["rows_per_second"]}


def with_loaders(task, workers, step, seconds):
    with task.ours() as loader:
        batches = endless(loader)
        ahead = 2 * len(os.sched_getaffinity(0)) + 4  # no ring has more slots by default
        yield {"loader": "shardfeed", **rows(task, pace.measure(batches, step, task.device, seconds, ahead))}
        batches.close()
    for count in workers:
        batches = task.rival(count)
        ahead = count * task.prefetch
        yield {"loader": f"torch, {count} workers", **rows(task, pace.measure(batches, step, task.device, seconds, ahead))}
        del batches


def endless(loader):
    while True:
        yield from loader


def rows(task, found):
    return {"batch": task.batch, "rows_per_second": task.batch * found["batches_per_second"], **found}


def loaders(task, workers, seconds):
    """Photographs to the device, without a model, and nvJPEG without a loader."""
    for record in with_loaders(task, workers, touch, seconds):
        yield {**record, "processor_ms_a_row": 1e3 * record["cores_busy"] / record["rows_per_second"]}
    if task.device.type == "cuda" and rivals.DECODER == "torchvision":
        found = pace.measure(nvjpeg(task), touch, task.device, seconds)
        yield {"loader": "nvJPEG alone, without crops", **rows(task, found)}


def touch(batch):
    batch["jpeg"][:1].sum()


def nvjpeg(task):
    """Decodes the same bytes again and again, whole images."""
    from torchvision.io import ImageReadMode, decode_jpeg

    column = pq.read_table(sorted(task.directory.glob("*.parquet"))[0], columns=["jpeg"])["jpeg"]
    jpegs = [torch.frombuffer(bytearray(jpeg.as_buffer()), dtype=torch.uint8) for jpeg in column[: task.batch]]
    while True:
        yield {"jpeg": decode_jpeg(jpegs, mode=ImageReadMode.RGB, device=task.device)[0]}


def first(task, workers, seconds):
    """The time to open a loader, and from next to a batch on the device; three loaders in turn."""
    task.kept()  # the device is ready then
    for _ in range(3):
        begin = time.perf_counter()
        with task.ours() as loader:
            opened = time.perf_counter()
            batches = iter(loader)
            next(batches)
            pace.synchronize(task.device)
            found = {"open_seconds": opened - begin, "first_seconds": time.perf_counter() - opened}
            batches.close()
        yield {"loader": "shardfeed", "batch": task.batch, **found}


CASES = {"loader": loaders, "first": first}

if __name__ == "__main__":
    parts.work(measure)
