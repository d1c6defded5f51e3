"""The loop of a rank. A thread beside it reports its figures, also while a step waits."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.distributed as dist

from shardfeed import Image
from shardfeed.errors import ShardfeedError
from shardfeed.torch import DataLoader

EVERY = 0.25  # seconds between two reports


class Slow:
    """A collate_fn that takes its time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __call__(self, batch: Any) -> Any:
        time.sleep(self._seconds)
        return batch


class Stopwatch:
    """The time between start and stop, summed up."""

    def __init__(self) -> None:
        self.seconds, self.laps = 0.0, 0

    def __call__(self, call: Callable[[], Any]) -> Any:
        begin = time.perf_counter()
        try:
            return call()
        finally:
            self.seconds += time.perf_counter() - begin
            self.laps += 1


def train(given: dict[str, Any]) -> None:
    """Trains for some seconds and writes a line of JSON for each report."""
    options = dict(given["options"])
    if given["map"]:
        options["collate_fn"] = Slow(given["map"])
    if given["images"]:
        options["images"] = {"img": Image(given["images"])}
    if given["world"] > 1:
        dist.init_process_group("gloo", init_method=f"file://{given['meeting']}", rank=given["rank"], world_size=given["world"])
    with open(given["output"], "a", buffering=1) as output, contextlib.closing(DataLoader(given["data"], **options)) as loader:
        watch, begin, end = Stopwatch(), threading.Event(), threading.Event()
        reporter = threading.Thread(target=_report, args=(loader, watch, output, begin, end))
        reporter.start()
        try:
            _loop(loader, watch, given, begin)
        finally:
            begin.set()
            end.set()
            reporter.join()


def _loop(loader: Any, watch: Stopwatch, given: dict[str, Any], begin: threading.Event) -> None:
    """Trains, and sets begin: after the first step if a rank has workers, which import torch. This
    takes longer on a busy machine than a case may.
    """
    if not given["workers"]:
        begin.set()
    until = time.monotonic() + given["seconds"]
    while True:
        batches = iter(loader)
        while (batch := watch(partial(next, batches, None))) is not None:
            time.sleep(given["step"])
            del batch
            if _over(begin.is_set() and time.monotonic() > until):
                return
            if not begin.is_set():
                begin.set()
                until = time.monotonic() + given["seconds"]


def _over(mine: bool) -> bool:
    """Whether any rank has come to its end."""
    if not dist.is_initialized():
        return mine
    over = torch.tensor(float(mine))
    dist.all_reduce(over)
    return bool(over > 0)


def _report(loader: Any, watch: Stopwatch, output: Any, begins: threading.Event, end: threading.Event) -> None:
    begins.wait()
    begin, going = time.monotonic(), True
    while going:
        going = not end.wait(EVERY)
        stats = loader.stats()
        line = {"at": time.monotonic() - begin, "stopwatch": watch.seconds, "steps": watch.laps, "wait": stats["wait"]}
        output.write(json.dumps({**line, "verdict": _verdict(loader)}) + "\n")


def _verdict(loader: Any) -> dict[str, Any] | None:
    """The cause, its kind and the rank of a loader's verdict, if it has one."""
    with contextlib.suppress(ShardfeedError):
        found = loader.verdict() if hasattr(loader, "verdict") else None
        return found and {"cause": found.cause, "rank": found.rank, "kind": found.kind, "line": str(found)}
    return None
