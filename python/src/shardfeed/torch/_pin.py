"""Page-locked memory: the rings, which the device reads directly, and through torch all else."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import weakref
from typing import Any

import torch

from .._calls import call
from .._engine._ring import Ring
from ._batch import each

log = logging.getLogger("shardfeed")

_PORTABLE = 1  # cudaHostRegisterPortable: pinned for all devices


class Cuda:
    """The calls of CUDA's runtime, by torch's binding.

    They run on one device: others get no context.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def register(self, address: int, size: int) -> None:
        """Page-locks memory, or raises."""
        with torch.cuda.device(self._device):
            torch.cuda.check_error(torch.cuda.cudart().cudaHostRegister(address, size, _PORTABLE))

    def unregister(self, address: int) -> None:
        """Waits until the device no longer reads the memory, and unlocks it."""
        with torch.cuda.device(self._device):
            with contextlib.suppress(RuntimeError):  # a device that has failed reads nothing
                torch.cuda.synchronize()
            torch.cuda.cudart().cudaHostUnregister(address)

    def forget_error(self) -> None:
        """Clears the error of a failed call, which the runtime would report for the next kernel."""
        with contextlib.suppress(RuntimeError):
            torch.ones(1, device=self._device)

    def is_pinned(self, tensor: torch.Tensor) -> bool:
        return tensor.is_pinned()

    def pin(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.pin_memory()


class Pins:
    """The page-locked rings. Each is locked once."""

    def __init__(self, cuda: Cuda) -> None:
        self._cuda = cuda
        self._rings: weakref.WeakKeyDictionary[Ring, bool] = weakref.WeakKeyDictionary()
        self._said = False
        self._one = threading.Lock()

    def rings(self, rings: tuple[Ring, ...]) -> None:
        """Page-locks rings.

        When that fails it logs a warning, and batches are copied to locked memory.
        """
        for ring in rings:
            if ring in self._rings:
                continue
            # An interrupt ends no other thread: what is locked is also noted.
            locking = threading.Thread(target=self._lock, args=(ring,), name="shardfeed-pin")
            locking.start()
            locking.join()

    def _lock(self, ring: Ring) -> None:
        with self._one:
            if ring not in self._rings:
                self._lock_new(ring)

    def _lock_new(self, ring: Ring) -> None:
        size = ring.slots * ring.slot_size
        try:
            self._cuda.register(ring.address, size)
        except RuntimeError as e:
            self._cuda.forget_error()
            self._rings[ring] = False
            if not self._said:
                self._said = True
                log.warning("%d MiB of batches cannot be page-locked (%s): each batch takes one more copy", size >> 20, e)
            return
        self._rings[ring] = True
        weakref.finalize(ring, _unregister, self._cuda, ring.address, os.getpid())  # at the latest when the program ends

    def pinned(self, value: Any) -> Any:
        """The same value in page-locked memory. Objects of the user's classes pin themselves."""
        return each(value, self._tensor, _object)

    def _tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.device.type != "cpu" or self._cuda.is_pinned(tensor):
            return tensor
        return self._cuda.pin(tensor)


def _object(value: Any) -> Any:
    return call("pin_memory of a batch", value.pin_memory) if hasattr(value, "pin_memory") else value


def _unregister(cuda: Cuda, address: int, pid: int) -> None:
    if pid == os.getpid():
        cuda.unregister(address)
