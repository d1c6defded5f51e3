"""The arguments of a DataLoader without the data set's: their types, and which values are
allowed.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypedDict

import torch

from .._args._checks import Problems, did_you_mean, flag, function, got, is_number, is_whole, number, one_of
from .._keywords import DatasetOptions
from ..errors import OptionError

Device: TypeAlias = "str | int | torch.device | None"


class LoaderOptions(TypedDict, total=False):
    """The arguments of DataLoader besides data and collate_fn. DataLoader documents them."""

    device: Device
    pin_memory: bool | None
    num_workers: int
    image_device: Literal["cpu", "cuda", "auto"]
    image_cpu_share: float | None
    prefetch: int
    prefetch_factor: int | None
    persistent_workers: bool
    worker_init_fn: Callable[[int], None] | None
    multiprocessing_context: Any
    headspace: bool | int


class StreamLoaderOptions(LoaderOptions, total=False):
    """The arguments of DataLoader with a StreamingDataset besides data and collate_fn."""

    threads: int


class MapLoaderOptions(LoaderOptions, total=False):
    """The arguments of DataLoader with a MapDataset besides data and collate_fn. MapLoader
    documents them.
    """

    batch_size: int | None
    shuffle: bool | None
    sampler: Any
    batch_sampler: Any
    drop_last: bool
    seed: int


class AllOptions(StreamLoaderOptions, DatasetOptions, total=False):
    """The arguments of DataLoader besides data, batch_size and collate_fn."""


def check(given: dict[str, Any], problems: Problems) -> torch.device | None:
    """Adds what is wrong with the arguments of a DataLoader to the problems; returns the device."""
    device = problems.of(resolve_device, given["device"])
    if given["pin_memory"] is not None:
        problems.of(flag, "pin_memory", given["pin_memory"])
    problems.of(function, "collate_fn", given["collate_fn"], "a batch")
    problems.of(function, "worker_init_fn", given["worker_init_fn"], "a worker's number")
    problems.of(_required, "prefetch", given["prefetch"])
    workers = problems.of(_required, "num_workers", given["num_workers"])
    persistent = problems.of(flag, "persistent_workers", given["persistent_workers"])
    problems.of(number, "prefetch_factor", given["prefetch_factor"])
    problems.of(_context, given["multiprocessing_context"])
    problems.of(_headspace, given["headspace"])
    threads = problems.of(_required, "threads", given.get("threads", 0))
    if workers and threads:
        problems.found.append(
            f"num_workers and threads exclude each other, got num_workers={workers} and threads={threads}: give threads for functions that "
            "release the GIL, else num_workers"
        )
    if threads and given["worker_init_fn"] is not None:
        problems.found.append(f"worker_init_fn needs num_workers of at least 1: threads share this process, got threads={threads}")
    if workers == 0:
        if given["prefetch_factor"] is not None and not threads:
            problems.found.append(f"prefetch_factor needs num_workers of at least 1, {got(given['prefetch_factor'])} with num_workers=0")
        if persistent:
            problems.found.append("persistent_workers=True needs num_workers of at least 1, got num_workers=0")
        if given["multiprocessing_context"] is not None:
            problems.found.append("multiprocessing_context needs num_workers of at least 1, got num_workers=0")
    where = problems.of(one_of, "image_device", given.get("image_device", "cpu"), "cpu", "cuda", "auto")
    if (share := problems.of(_share, given.get("image_cpu_share"))) is not None and where == "cpu":
        problems.found.append(f"image_cpu_share needs image_device='cuda' or 'auto', got {share:g} with image_device='cpu'")
    return device


def _share(value: Any) -> float | None:
    if value is not None and (not is_number(value) or not 0 <= value <= 1):
        raise OptionError(f"image_cpu_share must be a number from 0 to 1, or None, {got(value)}")
    return None if value is None else float(value)


def _required(name: str, value: Any) -> int:
    if not is_whole(value):
        raise OptionError(f"{name} must be a whole number, {got(value)}")
    return number(name, value, 0, 2**31 - 1)


def _headspace(value: Any) -> None:
    if not isinstance(value, bool) and not (is_whole(value) and value >= 1):
        raise OptionError(f"headspace must be True, False or a whole number of at least 1: the steps of a measurement, {got(value)}")


def resolve_device(device: Any) -> torch.device | None:
    """Returns the device; "auto" is the current CUDA device, or the host without CUDA."""
    if device is None:
        return None
    if isinstance(device, str) and device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if isinstance(device, bool):
        raise OptionError(f"device must be 'auto', 'cpu', 'cuda', 'cuda:1', a torch.device or None, {got(device)}")
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError, ValueError):
        hint = "; did you mean 'cuda'?" if "gpu" in str(device) else did_you_mean(device, ("auto", "cpu", "cuda", "mps"))
        raise OptionError(f"device must be 'auto', 'cpu', 'cuda', 'cuda:1', a torch.device or None, {got(device)}{hint}") from None
    if found.type != "cuda":
        return found
    if not torch.cuda.is_available():
        raise OptionError(
            f"device={str(found)!r} needs CUDA, and there is no CUDA device here, or torch was built without CUDA; use 'auto'"
        )
    if (found.index or 0) >= torch.cuda.device_count():
        raise OptionError(f"device must be below cuda:{torch.cuda.device_count()}, the CUDA devices here, got {str(found)!r}")
    return found


def _context(context: Any) -> None:
    """Of multiprocessing: the name of a start method, or a context."""
    methods = multiprocessing.get_all_start_methods()
    if isinstance(context, str) and context not in methods:
        raise OptionError(f"multiprocessing_context must be one of {', '.join(map(repr, methods))}, {got(context)}")
    if context is not None and not isinstance(context, str) and not hasattr(context, "Process"):
        raise OptionError(f"multiprocessing_context must be a context of multiprocessing, or the name of one, {got(context)}")
