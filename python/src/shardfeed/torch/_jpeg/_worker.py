"""The thread that decodes."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from . import _libraries
from ._cubins import Cubins
from ._decoder import Decoder
from ._libraries import Missing
from ._rows import Format


@dataclass(frozen=True)
class Images:
    """A column of images, as the engine sends it."""

    values: torch.Tensor  # the bytes of all rows
    offsets: torch.Tensor  # where each row starts
    rows: torch.Tensor  # the numbers
    form: Format


class Decoded(NamedTuple):
    """Columns that are being decoded."""

    images: dict[str, torch.Tensor]
    refused: dict[str, np.ndarray]  # rows that nvJPEG refuses, and that have zeros; only of columns with any
    done: torch.cuda.Event  # passes when the work is done


class Worker:
    """A decoder and its thread, which makes it. Training waits for it only if it needs a batch at
    once.

    close() returns nvJPEG's memory when the thread has finished.
    """

    def __init__(self, device: torch.device, cubins: Cubins) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="shardfeed-jpeg")
        self._made = self._thread.submit(_make, device, cubins)
        self._ready: Future[None] | None = None  # until the first batch
        self._started: set[Future[Any]] = set()
        self.close = weakref.finalize(self, _close, self._thread, self._made, os.getpid())

    @property
    def _decoder(self) -> Decoder:
        """The decoder, when it is made, or the error: Missing or a RuntimeError."""
        return self._made.result()

    @property
    def hardware(self) -> bool:
        """Whether the GPU has hardware that decodes JPEGs."""
        return self._decoder.hardware

    def prepare(self, count: int) -> None:
        """Waits until the decoder is made, and lets it get ready for batches of count rows."""
        self._ready = self._thread.submit(self._decoder.warm, count)

    def start(self, columns: Mapping[str, Images], after: Any) -> Future[Decoded]:
        """Decodes columns. The result is there when all work has been started; its event passes
        after the event that is given, too.
        """
        ready, self._ready = self._ready, None
        future = self._thread.submit(_decode, self._decoder, ready, columns, after)
        self._started.add(future)
        future.add_done_callback(self._started.discard)
        return future

    def settle(self) -> None:
        """Waits until the device has done all that was started."""
        wait(list(self._started))
        self._decoder.stream.synchronize()


def _make(device: torch.device, cubins: Cubins) -> Decoder:
    for library in (_libraries.driver, _libraries.nvrtc, _libraries.nvjpeg):
        library()  # or Missing
    return Decoder(device, cubins)


def _decode(decoder: Decoder, ready: Future[None] | None, columns: Mapping[str, Images], after: Any) -> Decoded:
    if ready is not None:
        ready.result()
    found, refused = {}, {}
    for name, c in columns.items():
        found[name], rows = decoder.decode(c.values, c.offsets, c.rows, c.form)
        if len(rows):
            refused[name] = rows
    decoder.stream.wait_event(after)
    return Decoded(found, refused, decoder.stream.record_event())


def _close(thread: ThreadPoolExecutor, made: Future[Decoder], pid: int) -> None:
    if pid != os.getpid():
        return  # a forked child cannot use CUDA
    with contextlib.suppress(RuntimeError):  # the program ends
        thread.submit(_closed, made)
    thread.shutdown(wait=False)


def _closed(made: Future[Decoder]) -> None:
    with contextlib.suppress(Missing, RuntimeError):  # it was not made, or the device has failed
        made.result().close()
