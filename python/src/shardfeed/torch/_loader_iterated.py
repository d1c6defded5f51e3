"""Iterations of a loader, and what they share: its arguments, device and workers."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal

import torch

from .. import _state
from .._args._types import T
from .._verdict import Headspace
from .._waited import Waited
from ._dataset import StreamingDataset
from ._device import Route, Source
from ._epoch import Epoch, Local, Stamp
from ._headspace import STEPS, Diagnosis
from ._image_device import ImageDevice
from ._workers import _start
from ._workers._outputs import Outputs
from ._workers._pool import Pool
from ._workers._processes import Processes
from ._workers._threads import Threads

if TYPE_CHECKING:
    from typing_extensions import Self

_OF_ITERATIONS = ("_route", "_images", "_wait", "_epochs", "_pool", "_reserved", "_workers", "_indices", "_idle")


class Iterated(Generic[T]):
    """A loader over which one can iterate."""

    dataset: StreamingDataset[Any]
    _stamp: Stamp | None  # of the last batch handed out since the last set_epoch or state
    _copied: tuple[Stamp | None, list[dict[str, Any]]] | None  # a copy's place, and the audit's records of it

    def _keep(self, given: Mapping[str, Any], device: torch.device | None) -> None:
        """Keeps the arguments that a loader has with each kind of data set."""
        self.device = device
        self.collate_fn: Callable[[Any], Any] | None = given["collate_fn"]
        self.pin_memory: bool | None = given["pin_memory"]
        self.num_workers: int = given["num_workers"]
        self.threads: int = given.get("threads", 0)
        self.prefetch: int = given["prefetch"]
        self.prefetch_factor: int | None = given["prefetch_factor"]
        self.persistent_workers: bool = given["persistent_workers"]
        self.worker_init_fn: Callable[[int], None] | None = given["worker_init_fn"]
        self.multiprocessing_context: Any = given["multiprocessing_context"]
        self.headspace: bool | int = given["headspace"]
        self.image_device: Literal["cpu", "cuda", "auto"] = given.get("image_device", "cpu")
        self.image_cpu_share: float | None = given.get("image_cpu_share")
        self._headspace: Headspace | None = None  # that was measured
        self._closed = False
        self._forget()

    def _prepare(self, data: Any, options: Mapping[str, Any]) -> None:
        """Lets the device get ready to decode images, while the data set is opened."""
        given, functions = (data._spec, data._transforms) if isinstance(data, StreamingDataset) else (options, ())
        if given.get("images") and not self._functions_or_workers(functions):
            self._images.prepare(given.get("cache_dir"))

    def _forget(self) -> None:
        """Starts without iterations, workers and copies to the device, as a copy of a loader does."""
        self._route = Route(self.device, self.pin_memory, self.prefetch)
        self._images = ImageDevice(self.image_device, self.image_cpu_share, self.device)
        self._epochs: weakref.WeakSet[Epoch] = weakref.WeakSet()
        self._pool: Pool | None = None  # of workers that wait for the next epoch
        self._reserved = 0  # bytes for results of workers, beyond the stream's

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name not in _OF_ITERATIONS}
        return {**kept, "_copied": (self._stamp, self._records())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def __copy__(self) -> Self:
        """Another loader of the same data set."""
        other = type(self).__new__(type(self))
        other.__setstate__({**self.__getstate__(), "_owns_dataset": False})
        return other

    @property
    def _waited(self) -> Waited | None:
        """Where a batch's wait counts; None where the data set counts it."""
        return None if self.dataset._rows_wanted else self.dataset._waited

    def __iter__(self) -> Iterator[T]:
        self._check_open()
        return Diagnosis(self._measured, self._epoch, self._loop, self._found) if self.headspace else self._epoch()

    def _epoch(self) -> Epoch:
        """An iteration."""
        epoch = Epoch(self)
        self._epochs.add(epoch)
        return epoch

    @property
    def _measured(self) -> int:
        """Steps of a measurement of the headspace."""
        return STEPS if self.headspace is True else self.headspace

    @property
    def _loop(self) -> Waited:
        """The waits of the loop."""
        return self.dataset._waited

    def _found(self, headspace: Headspace) -> None:
        self._headspace = headspace

    def _open(self) -> tuple[Any, Any]:
        """Starts an epoch: returns the source of its batches, and their iterator on the device."""
        self.dataset._trainer_side = {"workers": self.num_workers or self.threads, "pinned": self.pin_memory is not False}
        spec = self.dataset._spec
        self._images.begin(spec["images"], self._raw_for(), spec["cache_dir"], spec["batch_size"])
        if self.num_workers or self.threads:
            source: Source = Processes(self) if self.num_workers else Threads(self)
            return source, self._route.open(source)
        local = Local(self, self._images.share)
        batches = self._route.open(local, lambda device: self._images.streams(device, spec, self.dataset._session))
        return local, self._images.divided(batches, local.divide)

    def _raw_for(self) -> str:
        """What takes batches before their images are decoded on the device, if anything does."""
        if self._functions_or_workers(self.dataset._transforms):
            return "functions of map and collate_fn, and workers, get batches before that: apply them to the loader's batches"
        return "a loader of rows has none: give batch_size" if self.dataset._rows_wanted else ""

    def _functions_or_workers(self, functions: Sequence[Any]) -> bool:
        return bool(functions or self.collate_fn is not None or self.num_workers or self.threads)

    def _state_here(self) -> dict[str, Any]:
        if self._stamp is None:
            return self.dataset._state_here()
        start, epoch, position, _ = self._stamp
        return _state.pack({**start, "epoch": epoch, "position": position}, self._records())

    def _records(self) -> list[dict[str, Any]]:
        """The audit's records of the place. A copy has them of its original."""
        if self._stamp is None:
            return []
        if self._copied is not None and self._copied[0] is self._stamp:
            return self._copied[1]
        start, epoch, position, total = self._stamp
        return self.dataset._records(start, (epoch, position), total)

    def _check_open(self) -> None:
        if self._closed:
            raise ValueError("the loader was closed: make a new one, and continue with load_state_dict(old.state_dict())")

    def _take_pool(self, slots: int) -> Pool:
        """Returns workers for an iteration with this many slots for results."""
        pool, self._pool = self._pool, None
        if pool is not None:
            if pool.usable():
                return pool
            pool.close()
        return self._new_pool(slots)

    def _new_pool(self, slots: int) -> Pool:
        dataset, collate = self.dataset, self.collate_fn
        parts = {f"function {n + 1} of map or filter": t.function for n, t in enumerate(dataset._transforms)}
        parts |= {"collate_fn": collate, "worker_init_fn": self.worker_init_fn}
        context = _start.context_of(self.multiprocessing_context)
        _start.check(context, parts)
        try:
            return Pool((dataset, collate), self.num_workers, context, self.worker_init_fn, dataset.rank, Outputs(slots))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise _start.cannot_send(error, parts) from None

    def _reserve(self, size: int) -> None:
        """Reserves bytes for results of workers, beyond the stream's."""
        if size != self._reserved:
            self._reserved = 0
            self.dataset._session(outputs=size)
            self._reserved = size

    def _give_pool_back(self, pool: Pool) -> None:
        if self.persistent_workers and not self._closed and self._pool is None and pool.usable():
            self._pool = pool
        else:
            pool.close()
