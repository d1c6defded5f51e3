"""Which images of a loader are decoded by its device."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import torch

from .._args import _storage
from .._args._types import Path
from .._stats import StatsImageDevice
from ..errors import OptionError
from ._balance import Balance, Balanced
from ._decoding import Ask, Decoding
from ._device import Streams
from ._jpeg import _libraries
from ._jpeg._cubins import Cubins
from ._jpeg._libraries import Missing
from ._jpeg._rows import Format
from ._jpeg._worker import Worker

log = logging.getLogger("shardfeed")


class ImageDevice:
    """The division of a loader's images. The worker is made once: when the loader is made, if the
    program uses CUDA by then, or for the first epoch.
    """

    def __init__(self, where: str, share: float | None, device: torch.device | None) -> None:
        self._where = where
        self._device = device
        self._balance = Balance() if where == "auto" and share is None else None
        self._given = share or 0.0
        self._making: Worker | None = None
        self._worker: Worker | None = None  # which is made
        self._refused = where == "cpu"
        self._why = ""  # the processors decode all images, with "auto" and "cuda"

    @property
    def share(self) -> float | None:
        """The share of the processors; None where the device decodes nothing."""
        if self._worker is None:
            return None
        return self._given if self._balance is None else self._balance.share

    def prepare(self, cache_dir: Path | None) -> None:
        """Starts to make the worker, in its thread, while the engine opens the data. Compiled
        kernels are kept in the directory of the cache.

        A program that has not used CUDA may still fork, so nothing is started there.
        """
        if self._where != "cpu" and self._device is not None and self._device.type == "cuda" and torch.cuda.is_initialized():
            self._making = Worker(self._device, Cubins(_storage.kept("kernels", cache_dir)))

    def begin(self, images: Mapping[str, Any], without: str, cache_dir: Path | None, rows: int) -> None:
        """Has the worker ready for an epoch, unless it cannot be had. images are the engine's
        options of the columns; without names what else rules it out; rows are a batch's.
        """
        if self._worker is not None or self._refused:
            return
        device, worker, self._making = self._device, self._making, None
        reason = without or ("no column has images" if not images else "")
        if not reason and (device is None or device.type != "cuda"):
            reason = f"the loader's device is {'the host' if device is None else device.type}: give device='cuda'"
        if reason:
            self._refused, self._why = True, reason
            if self._where == "cuda":
                raise OptionError(f"image_device='cuda' decodes images on the device of the loader, and {reason}")
            return
        assert device is not None
        try:
            worker = worker or Worker(device, Cubins(_storage.kept("kernels", cache_dir)))
            worker.prepare(rows)
            self._worker = worker
        except (Missing, RuntimeError) as e:
            self._refused, self._why = True, str(e)
            log.warning("image_device=%r: the processors decode all images, since %s", self._where, e)

    def report(self, columns: Mapping[str, str]) -> StatsImageDevice | None:
        """Returns a part of stats(), None with "cpu". columns are the reasons why processors decode
        all images of a column.
        """
        if self._where == "cpu":
            return None
        found, worker = {"nvjpeg": "", "nvrtc": ""}, self._worker
        if worker is not None:
            found = _libraries.versions()
        return {
            "device": "" if worker is None else str(self._device),
            "why": self._why,
            "nvjpeg": found["nvjpeg"],
            "nvrtc": found["nvrtc"],
            "hardware": worker is not None and worker.hardware,
            "columns": dict(columns),
        }

    def streams(self, device: torch.device, spec: Mapping[str, Any], ask: Ask) -> Streams:
        """The streams of the copies, by the engine's options of the data set."""
        if self._worker is None:
            return Streams(device)
        return Decoding(device, self._worker, Formats(spec["images"]), ask, masks=spec["on_error"] == "mask")

    def divided(self, batches: Any, divide: Callable[[float], None]) -> Any:
        """Batches whose waits set the share."""
        return batches if self._balance is None or self._worker is None else Balanced(batches, self._balance, divide)

    def close(self) -> None:
        """Returns the device's memory, after the last epoch has ended."""
        for worker in (self._making, self._worker):
            if worker is not None:
                worker.close()


class Formats(dict[str, Format]):
    """The formats of columns, by the engine's options of images."""

    def __init__(self, images: Mapping[str, Any]) -> None:
        super().__init__()
        self._images = images

    def __missing__(self, name: str) -> Format:
        form = self[name] = Format.of(self._spec(name))
        return form

    def _spec(self, name: str) -> dict[str, Any]:
        names = (name, name.removesuffix(".bytes"), "*")
        spec: dict[str, Any] = next(self._images[known] for known in names if known in self._images)
        return {**spec, "size": self._spec(spec["like"])["size"]} if spec.get("like") else spec
