"""The jobs of the CUDA tests.

Each runs in a child of this process, which imports torch and does not use CUDA.

A line of JSON on standard input gives a job, its arguments, environment and output file. The
answers are the process id and the exit status.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import logging
import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from shardfeed import Image
from shardfeed._engine import _channel
from shardfeed.torch import DataLoader, StreamingDataset, _device, _image_device, _pin
from shardfeed.torch._batch import each

DEVICE = "cuda:0"
BATCHES = 32  # of an epoch of the shards of conftest


def late(microseconds: int) -> None:
    """Makes the copies that begin from now on so late, on the fake."""
    os.environ["FAKECUDART_COPY_US"] = str(microseconds)


def opened(shards: str, **given: Any) -> DataLoader:
    return DataLoader(shards, **({"batch_size": 128, "cache": False, "seed": 3, "device": DEVICE} | given))


def values(batch: Any) -> Any:
    """A batch as lists, its columns on the host."""
    return {name: each(column, torch.Tensor.cpu).tolist() for name, column in batch.items()}


def wanted(shards: str, epochs: int = 1, **given: Any) -> list[Any]:
    """What the epochs are, without a device."""
    dataset = StreamingDataset(shards, **({"batch_size": 128, "cache": False, "seed": 3} | given))
    return [values(batch) for _ in range(epochs) for batch in dataset]


def same(found: list[Any], expected: list[Any]) -> bool:
    return len(found) == len(expected) and all(f == e for f, e in zip(found, expected))


def copied_out() -> Callable[[], int]:
    """Counts the batches that are copied out of their ring."""
    count, private = 0, _channel.private

    def counting(*arguments: Any) -> Any:
        nonlocal count
        count += 1
        return private(*arguments)

    _channel.private = counting
    return lambda: count


def warnings() -> list[str]:
    """What the package will have said."""
    said: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("shardfeed").addHandler(handler)
    return said


def rings(loader: DataLoader) -> list[Any]:
    return list(loader._route._pins._rings.items())


def whole(shards: str, given: dict[str, Any], epochs: int = 1, of: dict[str, Any] = {}) -> dict[str, Any]:  # noqa: B006
    """Epochs from end to end, each batch kept on the device until the end."""
    out = copied_out()
    expected = wanted(shards, epochs, **of)
    loader = opened(shards, **given)
    batches = [batch for _ in range(epochs) for batch in loader]
    pinned = [
        bool(locked) and all(torch.from_numpy(ring.bytes[at - ring.address :][:4096]).is_pinned() for at in locked)
        for ring, locked in rings(loader)
    ]
    on = {str(batch["id"].device) for batch in batches}
    return {"same": same(list(map(values, batches)), expected), "pinned": pinned, "on": sorted(on), "copied_out": out()}


def images(shards: str) -> dict[str, Any]:
    """Tensors of images, on the device."""
    given = {"batch_size": 8, "images": {"img": Image(24, crop="random_resized", dtype="float16")}, "image_decoder": "go"}
    return whole(shards, given, 2, given)


class Seen(TorchDispatchMode):
    """Bytes that torch writes on the host. Views do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, operation: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        result = operation(*arguments, **(keywords or {}))
        if isinstance(result, torch.Tensor) and result.device.type == "cpu" and not operation.is_view:
            self.bytes += result.numel() * result.element_size()
        return result


def written(shards: str, given: dict[str, Any]) -> int:
    """The bytes that torch writes on the host in an epoch."""
    with Seen() as seen:
        for batch in opened(shards, **given):
            del batch
    return seen.bytes


def many(shards: str) -> dict[str, Any]:
    """Ten thousand batches: what grows after the two thousandth."""
    loader = opened(shards, batch_size=4, columns=["id", "x"])
    process, events = psutil.Process(), ctypes.CDLL(None).fakecudart_events
    batches, before = 0, (0, 0, 0)
    for _ in range(10):
        for batch in loader:
            batches += 1
            del batch
        gc.collect()
        now = process.memory_info().rss, process.num_fds(), events()
        before = now if batches == 2000 else before
    return {"batches": batches, "memory": now[0] - before[0], "files": now[1] - before[1], "events": now[2] - before[2]}


def given_back_at_once(shards: str) -> dict[str, Any]:
    """A planted fault: what a copy reads is not kept."""

    class Forgetful(_device.Streams):
        def copy(self, batch: Any) -> Any:
            result = super().copy(batch)
            batch.clear()
            return result

    _image_device.Streams = Forgetful
    return whole(shards, {"slots": 4})


def late_training(shards: str, record: bool, prefetch: int = 2, cycles: int = 1) -> bool:
    """The training reads batches late, when they have been dropped long since."""
    if not record:
        torch.Tensor.record_stream = lambda tensor, stream: None  # the planted fault
    expected = [batch["id"] for batch in wanted(shards)]
    results = []
    for batch in opened(shards, prefetch=prefetch):
        torch.cuda._sleep(cycles)
        results.append(batch["id"].clone())  # a copy on the device, on the stream of the training
    return same([result.cpu().tolist() for result in results], expected)


def slow_consumer(shards: str) -> bool:
    expected, found = wanted(shards), []
    for batch in opened(shards):
        time.sleep(0.01)
        torch.cuda._sleep(1)
        found.append(values(batch))
    return same(found, expected)


class Stop(Exception):
    pass


def leave(loader: Any, how: str) -> None:
    """Begins an epoch and leaves it after three batches."""
    batches = iter(loader)
    for _ in range(3):
        next(batches)
        time.sleep(0.05)  # the engine has the next ones, which are copied ahead
    if how == "del":
        del batches
    elif how == "exception":
        try:
            for _ in batches:
                raise Stop
        except Stop:
            pass
    elif how == "interrupt":
        threading.Timer(0.02, signal.raise_signal, [signal.SIGINT]).start()
        try:
            while True:
                next(batches, None)
        except KeyboardInterrupt:
            pass


def left_early(shards: str, how: str, given: dict[str, Any]) -> dict[str, Any]:
    """An epoch that is left with copies on their way; then a whole one."""
    expected = wanted(shards, 2)[BATCHES:]
    loader = opened(shards, **given)
    late(20_000)
    leave(loader, how)
    late(0)
    gc.collect()
    found = list(map(values, loader))
    ring = weakref.ref(rings(loader)[0][0])
    del loader
    gc.collect()
    return {"same": same(found, expected), "ring_gone": ring() is None}


def resumed(shards: str, workers: int) -> bool:
    expected = wanted(shards, 2)
    first = opened(shards, num_workers=workers)
    batches = iter(first)
    found = [values(next(batches)) for _ in range(7)]
    state = json.loads(json.dumps(first.state_dict()))
    del batches, first
    second = opened(shards)
    second.load_state_dict(state)
    return same(found + list(map(values, second)) + list(map(values, second)), expected)


def two_loaders(shards: str, devices: list[str]) -> bool:
    first, second = (opened(shards, seed=seed, device=device) for seed, device in zip((3, 4), devices))
    pairs = [(values(a), values(b)) for a, b in zip(first, second)]
    return same([a for a, _ in pairs], wanted(shards, seed=3)) and same([b for _, b in pairs], wanted(shards, seed=4))


def grown(directory: str) -> dict[str, Any]:
    """Batches that outgrow the ring."""
    expected, said = wanted(directory, shuffle=False), warnings()
    loader = opened(directory, shuffle=False)
    seen: list[Any] = []
    found = []
    for batch in loader:
        found.append(values(batch))
        seen += [ring.generation for ring, _ in rings(loader) if ring.generation not in seen]
    return {"same": same(found, expected), "generations": seen, "said": said}


def refused(shards: str) -> dict[str, Any]:
    """Page-locking fails. What the training does next is not told of it."""
    expected, said, found = wanted(shards), warnings(), []
    for batch in opened(shards):
        torch.cuda._sleep(1)
        found.append(values(batch))
    return {"same": same(found, expected), "said": said}


def little_locked(shards: str, most: int) -> dict[str, Any]:
    """This process may lock few bytes."""
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (most, most))
    said = warnings()
    return {**whole(shards, {}), "said": said}


def failing(shards: str) -> dict[str, Any]:
    """A call of CUDA fails during an epoch, with pending copies. The next epoch is whole."""
    expected = wanted(shards, 2)
    loader = opened(shards, slots=5)
    late(20_000)
    found, errors = [], []
    batches = iter(loader)
    while not errors:
        try:
            found.append(next(batches))
        except RuntimeError as e:
            errors.append(str(e).splitlines()[0])
        if len(found) == 7:
            late(0)
        if len(found) == BATCHES:
            break
    late(0)
    if errors:
        del batches
    again = list(map(values, loader))
    return {"same": same(list(map(values, found)), expected[: len(found)]) and same(again, expected[BATCHES:]), "errors": errors}


def retried(shards: str) -> dict[str, Any]:
    """A call of CUDA fails and the trainer asks again: each batch comes once."""
    expected = wanted(shards)
    batches, found, errors = iter(opened(shards, prefetch=0)), [], 0
    while len(found) < BATCHES:
        try:
            found.append(values(next(batches)))
        except RuntimeError:
            errors += 1
    return {"same": same(found, expected), "errors": errors}


def interrupted(shards: str, times: int) -> bool:
    """Interrupts at any time, each of which ends an epoch; then a whole one."""
    loader = opened(shards, slots=6)
    torch.zeros(1, device=DEVICE)  # torch cannot be interrupted while it begins with CUDA
    late(300)
    for n in range(times):
        signal.setitimer(signal.ITIMER_REAL, 0.002 + 0.0017 * n)
        try:
            for batch in loader:
                torch.cuda._sleep(1)
                batch["id"].clone()
            time.sleep(1)
        except KeyboardInterrupt:
            pass
    late(0)
    loader.set_epoch(0)
    return same(list(map(values, loader)), wanted(shards))


def forgets() -> bool:
    """The error of a call that failed is not raised by the next kernel."""
    torch.zeros(1, device=DEVICE)
    cuda = _pin.Cuda(torch.device(DEVICE))
    try:
        cuda.register(0, 0)
    except RuntimeError:
        cuda.forget_error()
        torch.ones(3, device=DEVICE)
        return True
    return False


def pinned_only(shards: str, how: str) -> dict[str, Any]:
    """The trainer copies itself, of page-locked batches, and lets go of each at once."""
    expected = wanted(shards)
    loader = opened(shards, device=None, pin_memory=True)
    batches, copies, pinned = iter(loader), [], True
    for batch in batches:
        pinned = pinned and all(tensor.is_pinned() for tensor in tensors(batch))
        copies.append(each(batch, lambda tensor: tensor.to(DEVICE, non_blocking=True)))
        del batch
        if how == "break" and len(copies) == 3:
            break
    del batches
    again = [values(batch) for batch in loader]
    return {"same": same(list(map(values, copies)), expected[: len(copies)]), "pinned": pinned, "again": len(again)}


def tensors(batch: Any) -> Iterator[torch.Tensor]:
    found: list[torch.Tensor] = []
    each(batch, found.append)
    return iter(found)


def forked(shards: str) -> bool:
    """Children forked during an epoch: one like torch's workers, one that drops the iteration and
    the loader.
    """
    expected, found = wanted(shards), []
    loader: Any = opened(shards)
    batches: Any = iter(loader)
    while (batch := next(batches, None)) is not None:
        found.append(values(batch))
        if len(found) == 2:
            worker = multiprocessing.get_context("fork").Process(target=gc.collect)
            worker.start()
            worker.join()
            assert worker.exitcode == 0
        if len(found) == 9:
            child = os.fork()
            if child == 0:
                batches = loader = None
                gc.collect()
                atexit._run_exitfuncs()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    return same(found, expected)


def ends(shards: str, given: dict[str, Any]) -> None:
    """The program ends with copies on their way, its loader and batches where globals are."""
    global kept
    loader = opened(shards, **given)
    batches = iter(loader)
    batch = next(batches)
    moved = each(batch, lambda tensor: tensor.to(DEVICE, non_blocking=True))
    kept = loader, batches, batch, moved


def doubled(batch: Any) -> Any:
    return {"id": batch["id"], "twice": batch["id"] * 2, "parts": [batch["x"] + 1, (batch["label"],)]}


def functions(shards: str, workers: int) -> bool:
    """Tensors that the user's functions make."""
    expected = wanted(shards)
    found = list(opened(shards, collate_fn=doubled, num_workers=workers))
    return len(found) == len(expected) and all(
        f["id"].tolist() == e["id"]
        and f["twice"].tolist() == [2 * i for i in e["id"]]
        and f["parts"][0].tolist() == [x + 1 for x in e["x"]]
        and f["parts"][1][0].tolist() == e["label"]
        and f["parts"][1][0].is_cuda
        for f, e in zip(found, expected)
    )


class Graph:
    """An object of the user's own, which lies in the ring and knows how to be moved."""

    def __init__(self, nodes: torch.Tensor) -> None:
        self.nodes = nodes

    def to(self, *arguments: Any, **keywords: Any) -> Graph:
        return Graph(self.nodes.to(*arguments, **keywords))


def objects(shards: str) -> bool:
    expected = [batch["id"] for batch in wanted(shards)]
    found = [graph.nodes for graph in opened(shards, collate_fn=lambda batch: Graph(batch["id"]), slots=5)]
    return same([nodes.cpu().tolist() for nodes in found], expected)


def serve(jobs: dict[str, Any]) -> None:
    """Forks a child for each job. In a child it returns when the job is done."""
    os.environ.pop("LD_PRELOAD", None)  # what is started from here needs no fake
    for line in sys.stdin:
        given = json.loads(line)
        child = os.fork()
        if child == 0:
            run(jobs, **given)
            return
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def run(jobs: dict[str, Any], job: str, arguments: list[Any], env: dict[str, str], text: str) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    for name in set(os.environ) - set(env):
        del os.environ[name]
    os.environ.update(env)
    output = os.open(text, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    print(json.dumps({"answer": jobs[job](*arguments)}), flush=True)
    if job != "ends":  # to end as programs do takes longer than most jobs
        gc.collect()
        atexit._run_exitfuncs()
        os._exit(0)


if __name__ == "__main__":
    serve(globals())
