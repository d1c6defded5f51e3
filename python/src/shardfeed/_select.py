"""select: a function of the user's chooses rows once, and a file keeps the choice for later runs."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any, Literal, NamedTuple

import numpy as np

from ._args._checks import function as check_function
from ._args._checks import number
from ._args._checks import path as check_path
from ._args._types import Address, Manifest, Path
from ._batch import Batch
from ._calls import call
from ._dataset import StreamingDataset
from ._transform import mask_of
from .errors import DataError, EngineError, OptionError, ShardfeedError, nearer

_MAGIC = b"shardfeed rows 1\n"  # the start of each file of rows
_MOST_WORKERS = 32


class Selected(NamedTuple):
    """What :func:`select` has written."""

    path: str
    rows: int  # that are chosen
    all_rows: int  # of the shards


def select(
    uri: Address,
    function: Callable[[Batch], Any],
    *,
    save: Path,
    columns: Sequence[str] | None = None,
    batch_size: int = 8192,
    workers: int | None = None,
    memory: int | str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    cache: bool = True,
    cache_dir: Path | None = None,
    index_dir: Path | None = None,
    null: Mapping[str, Any] | None = None,
    snapshot: str | int | None = None,
    manifest: Manifest | None = None,
    strict: bool = False,
    missing: Literal["error", "null"] = "error",
    partition_types: Mapping[str, Any] | None = None,
    invalid_utf8: Literal["refuse", "replace"] = "refuse",
    timeout: float | None = 600.0,
) -> Selected:
    """Asks a function once which rows to keep, and writes them down for ``rows=`` of later runs.

    The function gets batches of all rows and returns a bool for each row. It runs in processes that
    are forked from this one, so it need not be pickled. A function that uses a GPU runs here, with
    ``workers=1``. What ``filters`` can say is faster there.

    Args:
        uri (str, Path, or list of them): what to read, as for :class:`StreamingDataset`.
        function (callable): gets a :class:`Batch`, returns a bool for each row.
        save (str or Path): the file to write. It appears when it is whole. An existing file is
            replaced only if it is such a list.
        columns (list of str, default None): the columns that the function reads. None reads all.
        batch_size (int, default 8192): rows that the function gets at once, a multiple of 8.
        workers (int, default None): processes that run the function. 1 runs it in this one. None is
            one for each processor, at most 32.
        memory, storage_options, cache, cache_dir, index_dir, null, snapshot, manifest, strict,
            missing, partition_types, invalid_utf8, timeout: as for :class:`StreamingDataset`.

    Returns:
        The file, how many rows are chosen, and how many there are.
    """
    check_function("function", function, "a batch")
    if number("batch_size", batch_size) % 8:
        raise OptionError(f"batch_size must be a multiple of 8, got {batch_size}")
    target = FilePath(check_path("save", save))
    _check_target(target)
    dataset: StreamingDataset[Batch] = StreamingDataset(
        uri,
        batch_size=batch_size,
        columns=columns,
        shuffle=False,
        rank=0,
        world_size=1,
        tail="short",
        memory=memory,
        storage_options=storage_options,
        cache=cache,
        cache_dir=cache_dir,
        index_dir=index_dir,
        null=null,
        snapshot=snapshot,
        manifest=manifest,
        strict=strict,
        missing=missing,
        partition_types=partition_types,
        invalid_utf8=invalid_utf8,
        timeout=timeout,
    )
    processes = min(number("workers", workers) or _processors(), len(dataset), _MOST_WORKERS)
    masks = _masks(dataset, function) if processes <= 1 else _masks_of_workers(dataset, function, processes)
    try:
        return _write(dataset, masks, target)
    except ShardfeedError as e:
        raise nearer(e)  # noqa: B904 - the same error
    finally:
        dataset._let_go(everything=True)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_target(target: FilePath) -> None:
    """Refuses to replace a file of another kind."""
    if not target.parent.is_dir():
        raise OptionError(f"save names {target}, and there is no directory {target.parent}")
    if target.is_dir():
        raise OptionError(f"save names {target}, which is a directory: name a file in it")
    if target.exists() and target.stat().st_size:
        with open(target, "rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise OptionError(f"save names {target}, which exists and is not a list of rows: name another file, or remove it")


def _write(dataset: StreamingDataset[Any], masks: Iterable[tuple[int, bytes]], target: FilePath) -> Selected:
    bits = np.zeros(-(-dataset.size // 8), np.uint8)
    for position, packed in masks:
        bits[position // 8 : position // 8 + len(packed)] = np.frombuffer(packed, np.uint8)
    with tempfile.NamedTemporaryFile(prefix="shardfeed-rows-") as file:
        file.write(bits.tobytes())
        file.flush()
        told = dataset._control().choose(bits=file.name, save=str(target))
    return Selected(str(target), int(told["rows"]), int(told["all_rows"]))


def _masks(dataset: StreamingDataset[Any], function: Callable[[Batch], Any], **join: Any) -> Iterator[tuple[int, bytes]]:
    """The place of each batch, and its rows as bits."""
    for batch in dataset._batches(**join):
        kept = mask_of(call("the function of select", function, batch), batch.rows, "select")
        yield batch.position, np.packbits(kept, bitorder="little").tobytes()


def _masks_of_workers(dataset: StreamingDataset[Any], function: Callable[[Batch], Any], workers: int) -> Iterator[tuple[int, bytes]]:
    """Yields the same from worker processes: with K of them each takes every K-th batch."""
    context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else None)
    iteration = uuid.uuid4().hex
    processes: list[Any] = []
    pipes: dict[Any, int] = {}
    try:
        for k in range(workers):
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(theirs, dataset, function, iteration, k, workers), daemon=True)
            process.start()
            theirs.close()
            processes.append(process)
            pipes[ours] = k
        while pipes:
            ready: list[Any] = multiprocessing.connection.wait(list(pipes))
            for pipe in ready:
                try:
                    said = pipe.recv()
                except EOFError:
                    raise EngineError(f"process {pipes[pipe]} of {workers} that ran the function of select ended early") from None
                if isinstance(said, BaseException):
                    raise said
                if said is None:
                    del pipes[pipe]
                else:
                    yield said
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.join()


def _work(pipe: Any, dataset: StreamingDataset[Any], function: Callable[[Batch], Any], iteration: str, worker: int, workers: int) -> None:
    """Sends masks, then None, or the error that ended it."""
    try:
        for mask in _masks(dataset, function, iteration=iteration, worker=worker, workers=workers):
            pipe.send(mask)
        pipe.send(None)
    except BaseException as e:
        try:
            pipe.send(e)
        except Exception:  # it cannot be pickled
            pipe.send(DataError(f"the function of select failed: {type(e).__name__}: {e}"))
