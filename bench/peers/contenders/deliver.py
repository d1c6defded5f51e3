#!/usr/bin/env python3
"""deliver.py MODE MODULE TASK OUT [--touch] [--cap SECONDS] [--cap-cpu SECONDS]: one run of one
contender, in its own environment. OUT gets one JSON object.

    epoch     one epoch, or as much of it as the cap allows: rows, seconds and processor time of all processes
    epochs    three epochs in a row: the processor time of the first, and of the others
    look      the rows themselves: coverage, order, row groups mixed into a batch
    step      batches beside a training step: how long steps take, and how long they wait
    handover  processor time of this process for each batch
    fill      how much of the batches is tokens, and whether the state grows
    fresh     memory that has not been touched
    size      bytes of the batches
    copy      copies of memory, as many bytes as are asked for
    convert   makes what the contender reads

Imports are not counted; all is that comes from the making of the data set on.
"""

import argparse
import hashlib
import importlib
import json
import os
import pathlib
import re
import resource
import statistics
import sys
import time

import numpy as np
import processor
import torch
from columns import count, row_numbers, tokens, touch, weight
from task import Task

STEADY = 0.8  # of the rows, or the cap: where the steady window ends
SETTLED = 50  # batches before single batches are measured
STEPS = 300


def epoch(task, stream, args):
    clock, before = time.perf_counter, processor.seconds()
    start = clock()
    first = steady = 0.0
    rows = batches = first_rows = steady_rows = 0
    for batch in stream(task):
        n, now = tokens(batch) if task.tokens else count(batch[task.id]), clock()
        if not batches:
            first, first_rows, first_cpu = now, n, processor.seconds()
        elif not steady and (rows >= STEADY * task.rows or now > first + args.cap or _spent(first_cpu, args.cap_cpu)):
            steady, steady_rows, steady_cpu = now, rows, processor.seconds()
        if args.touch:
            touch(batch)
        rows, batches = rows + n, batches + 1
        if steady and (now > first + args.cap or _spent(first_cpu, args.cap_cpu)):
            break
    end, after = clock(), processor.seconds()
    if not steady:
        steady, steady_rows, steady_cpu = end, rows, after
    return {
        "rows": rows,
        "batches": batches,
        "whole": rows >= task.rows,
        "seconds": end - start,
        "first_seconds": first - start,
        "first_cpu_seconds": sum(first_cpu) - sum(before),
        "user_seconds": after[0] - before[0],
        "system_seconds": after[1] - before[1],
        "rows_per_cpu_second": rows / (sum(after) - sum(before)),
        "steady_rows_per_second": (steady_rows - first_rows) / (steady - first),
        "steady_rows_per_cpu_second": (steady_rows - first_rows) / max(sum(steady_cpu) - sum(first_cpu), 1e-6),
    }


def _spent(since, most):
    """Whether all processes have taken this much processor time since."""
    return most < float("inf") and sum(processor.seconds()) > sum(since) + most


EPOCHS = 3


def epochs(task, stream, args):
    data, before, rates = stream(task), sum(processor.seconds()), []
    for _ in range(EPOCHS):
        rows = sum(count(batch[task.id]) for batch in data)
        now = sum(processor.seconds())
        rates.append(rows / (now - before))
        before = now
    return {"rows_per_cpu_second": rates[0], "later_rows_per_cpu_second": statistics.harmonic_mean(rates[1:])}


def look(task, stream, args):
    parts, order, first = [], hashlib.sha256(), 0.0
    for batch in stream(task):
        first = first or time.perf_counter()
        numbers = row_numbers(batch[task.id])
        if "_row_valid" in batch:
            numbers = numbers[batch["_row_valid"].numpy()]
        order.update(numbers.tobytes())
        parts.append(numbers.astype(np.int32))
        if time.perf_counter() > first + args.cap:
            break
    pathlib.Path(f"{args.out}.read").touch()  # what follows is not the contender's memory
    numbers = np.concatenate(parts)
    middle = [p for p in parts[len(parts) // 10 : max(1, len(parts) * 8 // 10)] if len(p) == task.batch]
    mixed = [len(np.unique(p // task.group_rows)) for p in middle]
    if pathlib.Path(args.out).suffix == ".ranks":
        np.save(f"{args.out}.npy", numbers)
    return {
        "rows": len(numbers),
        "distinct": len(np.unique(numbers)),
        "batches": len(parts),
        "whole": len(numbers) >= task.rows,
        "row_groups_per_batch": float(np.mean(mixed)) if mixed else 0.0,
        "order": order.hexdigest()[:16],
    }


def step(task, stream, args):
    torch.set_num_threads(1)
    clock, steps, waits = time.perf_counter, [], []
    a, b = torch.rand(rows_of_a_step(clock, task.step), 512), torch.rand(512, 512)
    batches = iter(stream(task))
    while len(steps) < SETTLED + STEPS:
        begin = clock()
        batch = next(batches, None)
        waited = clock() - begin
        if batch is None:
            break
        touch(batch)
        begin = clock()
        a = torch.tanh(a @ b)
        steps.append(clock() - begin)
        waits.append(waited)
    steps, waits = np.array(steps[SETTLED:]), np.array(waits[SETTLED:])
    return {
        "steps": len(steps),
        "step_seconds": float(steps.mean()),
        "step_median_seconds": float(np.median(steps)),
        "wait_share": float(waits.sum() / (waits.sum() + steps.sum())),
    }


def rows_of_a_step(clock, seconds):
    """How many rows of a matrix make a step of these seconds on this machine."""
    a, b = torch.rand(512, 512), torch.rand(512, 512)
    took = []
    for _ in range(STEPS):
        begin = clock()
        a = torch.tanh(a @ b)
        took.append(clock() - begin)
    return round(512 * seconds / float(np.median(took)))


def handover(task, stream, args):
    batches, own = 0, 0.0
    for _ in stream(task):
        batches += 1
        if batches == SETTLED:
            own, all_ = _own(), sum(processor.seconds())
    own, all_ = _own() - own, sum(processor.seconds()) - all_
    return {"batches": batches, "trainer_seconds": own / (batches - SETTLED), "all_seconds": all_ / (batches - SETTLED)}


def _own():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def fill(task, stream, args):
    real = cells = batches = 0
    states = set()
    data = stream(task)
    for batch in data:
        real, cells, batches = real + tokens(batch), cells + batch["token_ids"].numel(), batches + 1
        if hasattr(data, "state_dict"):
            states.add(len(re.sub(r"\d+", "0", json.dumps(data.state_dict()))))
    return {"tokens": real, "cells": cells, "batches": batches, "state_grows": max(states) - min(states) if states else None}


def fresh(task, stream, args):
    """How long this machine takes to hand out as much memory as the shuffle buffer has."""
    start = time.perf_counter()
    np.empty(args.bytes, np.uint8)[:: resource.getpagesize()] = 1
    return {"seconds": time.perf_counter() - start}


def size(task, stream, args):
    """An epoch whose batches are weighed, and what of it came decoded from the disk."""
    rows = bytes_ = 0
    data = stream(task)
    for batch in data:
        rows, bytes_ = rows + count(batch[task.id]), bytes_ + weight(batch)
    kept = (data.stats().get("cache") or {}).get("decoded_hit_bytes", 0)
    return {"rows": rows, "bytes": bytes_, "kept_bytes": kept}


COPIED = 256 << 20  # bytes of each of the two buffers, more than the caches hold


def copy(task, stream, args):
    """One pass over memory, again and again over the same two buffers, both touched before."""
    source, target = np.ones(COPIED, np.uint8), np.ones(COPIED, np.uint8)
    passes = max(1, round(args.bytes / COPIED))
    before = processor.seconds()
    for _ in range(passes):
        np.copyto(target, source)
    user, system = (b - a for a, b in zip(before, processor.seconds()))
    copied = passes * COPIED
    return {"bytes": copied, "user_seconds": user, "system_seconds": system, "bytes_per_cpu_second": copied / (user + system)}


def convert(task, make, args):
    start, before = time.perf_counter(), processor.seconds()
    make(task)
    size = sum(512 * path.stat().st_blocks for path in pathlib.Path(task.own).rglob("*") if path.is_file())
    return {"seconds": time.perf_counter() - start, "cpu_seconds": sum(processor.seconds()) - sum(before), "bytes": size}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=("epoch", "epochs", "look", "step", "handover", "fill", "fresh", "size", "copy", "convert"))
    parser.add_argument("module")
    parser.add_argument("task", type=Task.parse)
    parser.add_argument("out")
    parser.add_argument("--touch", action="store_true")
    parser.add_argument("--bytes", type=int, default=0)
    parser.add_argument("--cap", type=float, default=float("inf"))
    parser.add_argument("--cap-cpu", type=float, default=float("inf"))
    args = parser.parse_args()
    module = importlib.import_module(args.module)
    measure = globals()[args.mode]
    result = measure(args.task, module.convert if args.mode == "convert" else module.batches, args)
    pathlib.Path(args.out).write_text(json.dumps(result))
    sys.stdout.flush()
    os._exit(0)  # the exit code of libraries is not part of a run


if __name__ == "__main__":
    main()
