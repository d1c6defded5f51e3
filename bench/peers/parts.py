"""The parts of the comparison. Each yields records: one run of one contender on one set."""

import concurrent.futures
import contextlib
import dataclasses
import json
import pathlib
import sys
import tempfile
from functools import partial

import entries
import numpy as np
from cage import Cage
from place import Failed, surroundings

RANKS = (1, 2, 3, 8)
WORKERS = (0, 2, 4)


@dataclasses.dataclass(frozen=True)
class Wish:
    """What of the comparison is wanted."""

    sets: tuple
    contenders: tuple
    rounds: int
    cap: float

    def entries(self, data, among=entries.ALL):
        return [c for c in among if data.base in c.sets and c in self.contenders]


def record(part, number, run, contender, data, *arguments, **options):
    """The figures of a run, or why they are missing."""
    out = {"part": part, "set": data.name, "contender": contender.name, "round": number}
    try:
        return out | run(contender, data, *arguments, **options)
    except Failed as e:
        print(f"bench: {part}, {data.name}, {contender.name}: {e}", file=sys.stderr)
        return out | {"error": str(e)}


def conversions(place, wish):
    for data in wish.sets:
        for contender in wish.entries(data):
            if contender.converts:
                yield record("conversion", 0, place.converted, contender, data)


def speed(place, wish):
    """Epochs whose every byte the consumer reads, all contenders in turn."""
    yield from _epochs(place, wish, "speed", entries.ALL, "--touch")


def untouched(place, wish):
    """The same without reading the bytes, of the two that the first row compares."""
    yield from _epochs(place, wish, "untouched", (entries.OURS, entries.HARD))


def defaults(place, wish):
    """Epochs with the default shuffle buffer and with the one of a tenth of the rows, in turn, untouched."""
    for data in wish.sets:
        for number in range(wish.rounds):
            for contender in wish.entries(data, (entries.OURS, entries.OURS_DEFAULT, entries.HARD)):
                place.warm(contender, data)
                mode = ("epoch", "--cap", wish.cap) if contender == entries.HARD else ("epochs",)
                yield record("defaults", number, place.run, contender, data, *mode)


LEAST_COPIED = 4 << 30  # bytes, so that a copy takes long enough to be measured


def later(place, wish):
    """An epoch after the first: against the hard rival, formats of others and a copy."""
    for data in wish.sets:
        rivals = wish.entries(data, entries.LATER)
        made = [record("conversion", 0, place.converted, c, data) for c in rivals if c.converts]
        yield from made
        failed = {run["contender"] for run in made if "error" in run}
        rivals = [c for c in rivals if c.name not in failed]
        if entries.KEPT not in rivals:
            continue
        size = record("size", 0, partial(_weighed, place), entries.KEPT, data)
        yield size
        if "error" in size:
            continue
        for number in range(wish.rounds):
            for contender in rivals:
                yield record("later", number, partial(_later, place, wish, size), contender, data)


def _weighed(place, contender, data):
    """The bytes of an epoch of ours, which must come from the tier."""
    run = place.run(contender, data, "size")
    if not run["kept_bytes"]:
        raise Failed(f"no batch came from what is kept decoded; remove {place.stamp(contender, data)} to keep it again")
    return run


def _later(place, wish, size, contender, data):
    """A run of a round. Ours reports its bytes too."""
    if contender == entries.COPY:
        return place.run(contender, data, "copy", "--bytes", max(size["bytes"], LEAST_COPIED))
    place.warm(contender, data)
    run = place.run(contender, data, "epoch", "--cap", wish.cap)
    if contender == entries.KEPT:
        run["bytes_per_cpu_second"] = run["rows_per_cpu_second"] * size["bytes"] / size["rows"]
    return run


def _epochs(place, wish, part, among, *arguments):
    for data in wish.sets:
        for number in range(wish.rounds):
            for contender in wish.entries(data, among):
                place.warm(contender, data)
                yield record(part, number, place.run, contender, data, "epoch", "--cap", wish.cap, *arguments)


def fresh(place, wish):
    """What the first touch of a buffer's memory costs on this machine."""
    for data in wish.sets:
        for number in range(wish.rounds):
            yield record("fresh", number, place.run, entries.ALONE, data, "fresh", "--bytes", data.buffer * data.row_bytes)


def look(place, wish):
    """One run each that looks at the rows, with the memory sampled: mixing, coverage, order."""
    for data in wish.sets:
        for contender in wish.entries(data):
            place.warm(contender, data)
            yield record("look", 0, place.run, contender, data, "look", "--cap", 2 * wish.cap, sampled=True)
        if data.mixing and entries.OURS in wish.contenders:
            task = {**data.mixing, "buffer": int(data.mixing["buffer"] * place.scale)}
            yield record("mixing", 0, place.run, entries.OURS, data, "look", sampled=True, task=task)


def beside(place, wish):
    """Batches beside a training step of one core."""
    for data in wish.sets:
        for number in range(wish.rounds):
            for contender in entries.BESIDE:
                if contender in (*wish.contenders, entries.ALONE, entries.MEMCPY):
                    yield record("step", number, place.run, contender, data, "step")


# The 40 numbers of tabular, which become one matrix.
STACKED = {"id": "x", "columns": ("id", *(f"c{i:02d}" for i in range(39))), "matrix": True}


def stacked(place, wish):
    """Epochs of one matrix in place of forty columns, and the same beside a training step."""
    for data in wish.sets:
        if data.name != "tabular":
            continue
        for number in range(wish.rounds):
            for contender in wish.entries(data, (entries.OURS, entries.HARD)):
                place.warm(contender, data)
                yield record("stacked", number, place.run, contender, data, "epoch", "--cap", wish.cap, "--touch", task=STACKED)
            if entries.OURS in wish.contenders:
                yield record("stacked step", number, place.run, entries.OURS, data, "step", task=STACKED)


# What is handed over: three tensors of tokens, 1.5 MB of images.
HANDED = {"tokens": ("doc_id", "token_ids"), "shop": ("img_jpg",)}


def handover(place, wish):
    for data in wish.sets:
        if data.name not in HANDED:
            continue
        for number in range(wish.rounds):
            for contender in (entries.OURS, entries.WORKER):
                task = {"columns": HANDED[data.name]}
                yield record("handover", number, place.run, contender, data, "handover", task=task)


def coverage(place, wish):
    """Only ours: every row once, and the same order, for numbers of workers and of ranks, and in a second process."""
    for data in wish.sets if entries.OURS in wish.contenders else ():
        for workers in (0, *WORKERS):
            contender = dataclasses.replace(entries.OURS, name=f"shardfeed, {workers} workers", workers=workers)
            task = {"columns": (data.id,)}
            yield record("coverage", 0, place.run, contender, data, "look", task=task)
        for ranks in RANKS:
            contender = dataclasses.replace(entries.OURS, name=f"shardfeed, {ranks} ranks")
            yield record("coverage", 0, partial(_ranks, place, ranks), contender, data)


def _ranks(place, ranks, contender, data):
    """All ranks of a job at once, in one cage, with one engine."""
    python = place.python(contender)
    with tempfile.TemporaryDirectory(prefix="sfbench-") as directory, Cage() as cage, contextlib.ExitStack() as stack:
        processes = []
        for rank in range(ranks):
            out = pathlib.Path(directory, f"{rank}.ranks")
            task = {"columns": (data.id,), "rank": rank, "world_size": ranks}
            command = place.command(python, "look", contender, data, out, (), task)
            log = stack.enter_context(open(f"{directory}/{rank}.log", "w+"))
            environment = surroundings(directory, {"SHARDFEED_JOB": "ranks", "LOCAL_WORLD_SIZE": str(ranks)})
            processes.append((out, log, cage.start(command, environment, stdout=log, stderr=log)))
        with concurrent.futures.ThreadPoolExecutor(ranks) as pool:
            list(pool.map(lambda each: each[2].wait(timeout=180), processes))
        rows, batches = [], set()
        for out, log, process in processes:
            if process.returncode != 0:
                log.seek(0)
                raise Failed(f"exit {process.returncode}: {log.read()[-600:]}")
            rows.append(np.load(f"{out}.npy"))
            batches.add(json.loads(out.read_text())["batches"])
        rows = np.concatenate(rows)
        return {
            "rows": len(rows),
            "distinct": len(np.unique(rows)),
            "whole": len(rows) >= place.files(data) * data.file_rows,
            "equal_steps": len(batches) == 1,
        }


ALL = {
    "conversions": conversions,
    "speed": speed,
    "untouched": untouched,
    "defaults": defaults,
    "later": later,
    "fresh": fresh,
    "look": look,
    "step": beside,
    "stacked": stacked,
    "handover": handover,
    "coverage": coverage,
}
