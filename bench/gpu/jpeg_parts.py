#!/usr/bin/env python3
"""jpeg_parts.py JSON: the parts of jpeg.py, on the cores it runs on; see parts.work."""

import contextlib
import ctypes
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from unittest import mock

import case
import numpy as np
import pace
import parts
import tasks
import torch
from shardfeed import Image
from shardfeed.torch import DataLoader
from shardfeed.torch._epoch import Local
from shardfeed.torch._jpeg import _backends, _decoder, _libraries, _nvjpeg

WAYS = {
    "cpu": {},
    "cuda": {"image_device": "cuda"},
    "half": {"image_device": "cuda", "image_cpu_share": 0.5},
    "auto": {"image_device": "auto"},
}


class Photos(tasks.Photos):
    """Photographs, with more arguments of the loader."""

    def loader(self, gap=2.0, **more):
        image = Image.imagenet_train(size=self.side, dtype="uint8", mean=None, std=None, reducing_gap=gap)
        return DataLoader(str(self.directory), columns=["jpeg", "label"], images={"jpeg": image}, **self.given, **more)

    def model(self):
        """The model's step; a small one needs no libraries of networks, as on a fake device."""
        return (lambda batch: batch["jpeg"].float().sub_(1)) if self.small else super().model()


def pixels(task, _seconds):
    """How far pixels are from the processors', in the same crops at full size."""
    counts, batches = np.zeros(256, np.int64), 2 if task.small else 8
    with task.loader(None) as ours, task.loader(None, image_device="cuda") as theirs:
        for a, b in itertools.islice(zip(ours, theirs), batches):
            far = (a["jpeg"].int() - b["jpeg"].int()).abs().flatten().cpu()
            counts += np.bincount(far.numpy(), minlength=256)
    shares = np.cumsum(counts) / counts.sum()
    within = {f"within_{n}": float(shares[n]) for n in (0, 1, 2, 4, 8, 16)}
    yield {**within, "most": int(np.flatnonzero(counts).max()), "mean": float((counts * np.arange(256)).sum() / counts.sum())}


def loaders(task, seconds):
    """Loaders without a model, and nvJPEG without a loader."""
    for name, way in WAYS.items():
        yield {"loader": name, **timed(task, way, case.touch, seconds)}
    with again():
        yield {"loader": "cuda, the same batch again and again", **timed(task, WAYS["cuda"], case.touch, seconds)}
    workers = 2 if task.small else 8
    found = pace.measure(task.rival(workers), case.touch, task.device, seconds, workers * task.prefetch)
    yield {"loader": f"torch, {workers} workers", **case.rows(task, found)}
    with contextlib.suppress(ImportError):  # of torchvision
        found = pace.measure(case.nvjpeg(task), case.touch, task.device, seconds)
        yield {"loader": "nvJPEG alone, without crops", **case.rows(task, found)}


def again():
    """Every batch of the engine is its first one: what is left is the trainer's work."""
    take, kept = Local.__next__, []

    def following(source):
        if not kept:
            kept.append(take(source))
        return kept[0]

    return mock.patch.multiple(Local, __next__=following, ready=lambda source: True)


def timed(task, way, step, seconds):
    with task.loader(**way) as loader:
        batches = case.endless(loader)
        ahead = 40 if "auto" in way.values() else 2 * len(os.sched_getaffinity(0)) + 4
        found = case.rows(task, pace.measure(batches, step, task.device, seconds, 2 if task.small else ahead))
        balance = loader._images._balance
        batches.close()
    share = {} if balance is None else {"share": balance.share}
    return {**found, **share, "processor_ms_a_row": 1e3 * found["cores_busy"] / found["rows_per_second"]}


def trained(task, seconds):
    """A model's ceiling, and what it reaches."""
    step = task.model()
    ceiling = case.rows(task, pace.measure(itertools.repeat(task.kept()), step, task.device, seconds))
    yield {"loader": "the same batch", **ceiling}
    for name, way in WAYS.items():
        found = timed(task, way, step, seconds)
        yield {"loader": name, **found, "of_ceiling": found["rows_per_second"] / ceiling["rows_per_second"]}


def first(task, _seconds):
    """The time to the first batch, each in a process of its own. The first one with "cuda" compiles
    the kernels, which are kept for the others.
    """
    with tempfile.TemporaryDirectory() as kept:
        env = {**os.environ, "SHARDFEED_CACHE_DIR": kept}
        for name, way in {"cpu": "cpu", "cuda, first start on a machine": "cuda", "cuda": "cuda", "auto": "auto"}.items():
            given = {"device": str(task.device), "data": str(task.data), "size": task.size, "seconds": 0, "until": time.time() + 60}
            given["parts"] = [{"name": "one", "seconds": 0, "arguments": {"way": way}}]
            done = subprocess.run([sys.executable, __file__, json.dumps(given)], stdout=subprocess.PIPE, text=True, env=env, timeout=60)
            records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            for record in records:
                if record.get("over"):
                    raise RuntimeError(f"{name}: {record['over']}")
                if "first_seconds" in record:
                    yield {"loader": name, "open_seconds": record["open_seconds"], "first_seconds": record["first_seconds"]}


def one(task, way):
    task.kept()  # the device is ready then
    begin = time.perf_counter()
    with task.loader(**WAYS[way]) as loader:
        opened, batches = time.perf_counter(), iter(loader)
        next(batches)
        pace.synchronize(task.device)
        yield {"open_seconds": opened - begin, "first_seconds": time.perf_counter() - opened}
        batches.close()


def held_up(task, seconds):
    """What decoding does to the steps of a training: variants that separate the possible causes.

    launch is how long the host takes to start a step, device how long the device takes for it. If
    launches wait for a lock of the interpreter or the driver, or for cudaMalloc, launch grows; if
    decoding takes the device's processors, device grows.
    """
    step, steps = task.model(), 6 if task.small else max(30, int(10 * seconds))
    variants = {
        "no loader": (None, contextlib.nullcontext),
        "cpu": ({}, contextlib.nullcontext),
        "cuda": (WAYS["cuda"], contextlib.nullcontext),
        "cuda, calls hold the interpreter's lock": (WAYS["cuda"], holding),
        "cuda, memory of cudaMalloc": (WAYS["cuda"], mallocs),
        "cuda, no hardware": (WAYS["cuda"], no_hardware),
        "cuda, no interpolation of colors": (WAYS["cuda"], lambda: mock.patch.object(_nvjpeg, "_SMOOTH", 0)),
        "cuda, small parts": (WAYS["cuda"], lambda: mock.patch.object(_decoder, "_PLANES", 32 << 20)),
        "cuda, training on a stream of high priority": (WAYS["cuda"], lambda: urgent(task.device)),
    }
    for name, (way, variant) in variants.items():
        with variant():
            if way is None:
                yield {"loader": name, **distribution(itertools.repeat(task.kept()), step, steps)}
                continue
            with task.loader(**way) as loader:
                yield {"loader": name, **distribution(case.endless(loader), step, steps)}


def distribution(batches, step, steps):
    launches, marks = [], []
    for n in range(steps + 3):
        batch = next(batches)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin = time.perf_counter()
        start.record()
        step(batch)
        end.record()
        launches.append(1e3 * (time.perf_counter() - begin))
        marks.append((start, end))
        if n >= 2:
            marks[n - 2][1].synchronize()
    torch.cuda.synchronize()
    device = [start.elapsed_time(end) for start, end in marks]
    wall = marks[3][0].elapsed_time(marks[-1][1])
    found = {"steps_per_second": 1e3 * steps / max(wall, 1e-9)}
    for what, values in (("launch", launches[3:]), ("device", device[3:])):
        found |= {f"{what}_ms_p{p}": float(np.percentile(values, p)) for p in (50, 90, 99, 100)}
    return found


@contextlib.contextmanager
def holding():
    """Calls of nvJPEG that do not release the interpreter's lock."""
    library = ctypes.PyDLL(_libraries.nvjpeg()._name)
    with mock.patch.object(_libraries, "nvjpeg", lambda: library):
        yield


def mallocs():
    """nvJPEG's own memory."""

    def create(library, backend, _device, _pinned, flags, handle):
        return library._calls.nvjpegCreateEx(backend, None, None, flags, handle)

    return mock.patch.object(_nvjpeg.Library, "_create", create)


def no_hardware():
    return mock.patch.object(_backends, "HARDWARE", _nvjpeg.KERNELS)


@contextlib.contextmanager
def urgent(device):
    with torch.cuda.stream(torch.cuda.Stream(device, priority=-1)):
        yield


PARTS = {"pixels": pixels, "loaders": loaders, "resnet50": trained, "resnet18": trained, "first": first, "held_up": held_up}


def measure(given, part):
    name, device = part["name"], torch.device(given["device"])
    of = case.about(device, given["size"])
    task = Photos("resnet18" if name == "resnet18" else "resnet50", given["size"], pathlib.Path(given["data"]), device)
    for record in one(task, part["arguments"]["way"]) if name == "one" else PARTS[name](task, given["seconds"]):
        yield {"part": name, **record, **of}
    torch.cuda.empty_cache()


if __name__ == "__main__":
    parts.work(measure)
