"""Page-locked memory: slots of rings, which the device reads, and through torch all else."""

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

    def unregister(self, addresses: list[int]) -> None:
        """Waits until the device no longer reads the memory, and unlocks it."""
        with torch.cuda.device(self._device):
            with contextlib.suppress(RuntimeError):  # a device that has failed reads nothing
                torch.cuda.synchronize()
            for address in addresses:
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
    """The page-locked slots of rings. Each is locked once, when the first batch comes in it.

    Its pages are present by then: to make them so takes most of the time of page-locking.
    """

    def __init__(self, cuda: Cuda) -> None:
        self._cuda = cuda
        self._rings: weakref.WeakKeyDictionary[Ring, set[int]] = weakref.WeakKeyDictionary()  # addresses of slots
        self._refused: weakref.WeakSet[Ring] = weakref.WeakSet()
        self._said = False
        self._one = threading.Lock()

    def _lock(self, address: int, rings: tuple[Ring, ...]) -> bool:
        """Page-locks the slot that has an address, if it is in one of the rings.

        When that fails it logs a warning, and batches are copied to locked memory.
        """
        for ring in rings:
            slot = (address - ring.address) // ring.slot_size
            if not 0 <= slot < ring.slots or ring in self._refused:
                continue
            at = ring.address + slot * ring.slot_size
            if at not in self._rings.get(ring, ()):
                # An interrupt ends no other thread: what is locked is also noted.
                locking = threading.Thread(target=self._lock_new, args=(ring, at), name="shardfeed-pin")
                locking.start()
                locking.join()
            return at in self._rings.get(ring, ())
        return False

    def _lock_new(self, ring: Ring, at: int) -> None:
        with self._one:
            locked = self._rings.get(ring)
            if locked is None:
                locked = self._rings[ring] = set()
                weakref.finalize(ring, _unregister, self._cuda, locked, os.getpid())  # at the latest when the program ends
            if at in locked or ring in self._refused:
                return
            try:
                self._cuda.register(at, ring.slot_size)
            except RuntimeError as e:
                self._cuda.forget_error()
                self._refused.add(ring)
                if not self._said:
                    self._said = True
                    size = ring.slot_size >> 20
                    log.warning("%d MiB of a batch cannot be page-locked (%s): further batches take one more copy", size, e)
                return
            locked.add(at)

    def pinned(self, value: Any, rings: tuple[Ring, ...] = ()) -> Any:
        """The same value in page-locked memory. Objects of the user's classes pin themselves."""

        def tensor(t: torch.Tensor) -> torch.Tensor:
            if t.device.type != "cpu" or self._cuda.is_pinned(t) or self._lock(t.data_ptr(), rings):
                return t
            return self._cuda.pin(t)

        return each(value, tensor, _object)


def _object(value: Any) -> Any:
    return call("pin_memory of a batch", value.pin_memory) if hasattr(value, "pin_memory") else value


def _unregister(cuda: Cuda, locked: set[int], pid: int) -> None:
    if pid == os.getpid() and locked:
        cuda.unregister(sorted(locked))
