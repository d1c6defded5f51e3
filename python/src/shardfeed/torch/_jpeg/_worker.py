"""The thread that decodes."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

import torch

from . import _libraries
from ._decoder import Decoder
from ._rows import Format


@dataclass(frozen=True)
class Images:
    """A column of images, as the engine sends it."""

    values: torch.Tensor  # the bytes of all rows
    offsets: torch.Tensor  # where each row starts
    rows: torch.Tensor  # the numbers
    form: Format


class Worker:
    """A decoder and its thread. Training waits for it only if it needs a batch at once.

    close() returns nvJPEG's memory when the thread has finished.
    """

    def __init__(self, device: torch.device) -> None:
        for library in (_libraries.driver, _libraries.nvrtc, _libraries.nvjpeg):
            library()  # or Missing
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="shardfeed-jpeg")
        self._decoder = self._thread.submit(Decoder, device).result()
        self._started: set[Future[Any]] = set()
        self.close = weakref.finalize(self, _close, self._thread, self._decoder, os.getpid())

    @property
    def hardware(self) -> bool:
        """Whether the GPU has hardware that decodes JPEGs."""
        return self._decoder.hardware

    def start(self, columns: Mapping[str, Images], after: Any) -> Future[tuple[dict[str, torch.Tensor], torch.cuda.Event]]:
        """Decodes columns. The result is there when all work has been started; the event passes
        when it is done, and after the event that is given.
        """
        future = self._thread.submit(_decode, self._decoder, columns, after)
        self._started.add(future)
        future.add_done_callback(self._started.discard)
        return future

    def settle(self) -> None:
        """Waits until the device has done all that was started."""
        wait(list(self._started))
        self._decoder.stream.synchronize()


def _decode(decoder: Decoder, columns: Mapping[str, Images], after: Any) -> tuple[dict[str, torch.Tensor], torch.cuda.Event]:
    found = {name: decoder.decode(c.values, c.offsets, c.rows, c.form, name) for name, c in columns.items()}
    decoder.stream.wait_event(after)
    return found, decoder.stream.record_event()


def _close(thread: ThreadPoolExecutor, decoder: Decoder, pid: int) -> None:
    if pid != os.getpid():
        return  # a forked child cannot use CUDA
    with contextlib.suppress(RuntimeError):  # the program ends, or the device has failed
        thread.submit(decoder.close)
    thread.shutdown(wait=False)
