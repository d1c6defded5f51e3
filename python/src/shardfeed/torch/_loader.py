"""DataLoader: batches of a data set, on the device."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.utils.data import IterableDataset

from .. import _state
from .._ring import Ring
from .._turn import Turn
from ..errors import OptionError
from ._dataset import StreamingDataset
from ._device import Route
from ._iterator import TensorIterator

_DATASET_ARGUMENTS = frozenset(inspect.signature(StreamingDataset.__init__).parameters) - {"self", "uri"}

# The engine's state without its place, and the place: epoch and position.
_Stamp = tuple[Mapping[str, Any], int, int]


class DataLoader:
    """Batches of a data set as dicts of tensors: made by the engine, done to by the user's functions, and moved to a device ahead of use.

    data: an address, a path or a list of them, with the arguments of :class:`StreamingDataset` beside it; or such a data set.
    collate_fn: a function of each batch; what it returns is what comes.
    device: where batches are moved, as in "cuda"; copies run beside the training on a stream of their own. None leaves them on the host.
    pin_memory: page-locks the memory that batches come in, once, so that copies need no other one. None does it for a CUDA device.
    num_workers: torch workers that run map and collate_fn. The engine works in parallel without any.
    prefetch: batches that are copied to the device ahead.
    prefetch_factor, persistent_workers, worker_init_fn, multiprocessing_context: of torch workers, as torch has them.

    One ``iter()`` is one epoch, which is used up when its first batch is asked for. ``state_dict`` tells where training stands by the
    batches that were handed out, with any number of workers, and ``load_state_dict`` goes on there with any other, on any number of ranks.
    """

    def __init__(
        self,
        data: Any,
        *,
        collate_fn: Callable[[Any], Any] | None = None,
        device: Any = None,
        pin_memory: bool | None = None,
        num_workers: int = 0,
        prefetch: int = 2,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        **options: Any,
    ) -> None:
        self.dataset = _dataset(data, options)
        self.collate_fn = collate_fn
        self.device = None if device is None else torch.device(device)
        self.pin_memory = pin_memory
        self.num_workers = num_workers
        self.prefetch = prefetch
        self.prefetch_factor = prefetch_factor
        self.persistent_workers = persistent_workers
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        if self.device is not None and self.device.type == "cuda" and not torch.cuda.is_available():
            raise OptionError(f"device={str(self.device)!r}: there is no CUDA device here, or this torch was built without CUDA")
        if num_workers < 0 or prefetch < 0:
            raise OptionError(f"num_workers {num_workers} and prefetch {prefetch} must not be below 0")
        self._route = Route(self.device, pin_memory, prefetch)
        self._stamp: _Stamp | None = None  # of the last batch that was handed out; None: none was since the last set_epoch or state
        self._workers: torch.utils.data.DataLoader[Any] | None = None

    @property
    def batch_size(self) -> int | None:
        """Rows of a batch of this rank."""
        return None if self.dataset._rows_wanted else int(self.dataset._spec["batch_size"])

    def __len__(self) -> int:
        """Batches of a whole epoch on this rank; the same on every rank."""
        return len(self.dataset)

    def __iter__(self) -> Iterator[Any]:
        return _Epoch(self)

    def _open(self) -> Any:
        """Begins an epoch: what hands out its batches where they are wanted, each with its stamp."""
        return self._route.open(_Local(self) if self.num_workers == 0 else _Remote(self))

    def set_epoch(self, epoch: int) -> None:
        """Makes the next iteration that of an epoch, as DistributedSampler has it. It never overrides a position that was just loaded."""
        self.dataset.set_epoch(epoch)
        self._stamp = None

    def state_dict(self) -> dict[str, Any]:
        """Where training stands: after the last batch that was handed out. Plain JSON types, the same on every rank."""
        if self._stamp is None:
            return self.dataset._state_here()
        start, epoch, position = self._stamp
        return _state.pack({**start, "epoch": epoch, "position": position})

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Lets the next iteration go on after the batch that a state was taken after, on any number of ranks and workers."""
        self.dataset.load_state_dict(state_dict)
        self._stamp = None
        self._workers = None  # those that persist know nothing of it

    def stats(self) -> dict[str, Any]:
        """Figures of this rank's stream by the names that ``shardfeed bench --json`` has."""
        return self.dataset.stats()

    def __repr__(self) -> str:
        return f"DataLoader({self.dataset!r}, device={self.device}, num_workers={self.num_workers})"

    def _torch_loader(self) -> torch.utils.data.DataLoader[Any]:
        """Torch's loader, whose workers run the user's functions."""
        if self._workers is None or not self.persistent_workers:
            self._workers = torch.utils.data.DataLoader(
                _Stamped(self.dataset, self.collate_fn),
                batch_size=None,
                collate_fn=_as_it_is,
                num_workers=self.num_workers,
                prefetch_factor=self.prefetch_factor,
                persistent_workers=self.persistent_workers,
                worker_init_fn=self.worker_init_fn,
                multiprocessing_context=self.multiprocessing_context,
            )
        return self._workers


class _Epoch:
    """The batches of one iteration of a loader, which notes each that it hands out. It begins with the first one that is asked for.

    Several threads may take batches of it: each batch comes once.
    """

    def __init__(self, loader: DataLoader) -> None:
        self._loader = loader
        self._batches: Any = None
        self._turn = Turn()

    def __iter__(self) -> _Epoch:
        return self

    def __next__(self) -> Any:
        with self._turn():
            if self._batches is None:
                self._batches = self._loader._open()
            batch, self._loader._stamp = next(self._batches)
        return batch

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if getattr(self, "_batches", None) is not None and not is_finalizing():
            self._batches.close()


class _Local:
    """Batches that this process makes, each with the stamp behind it."""

    def __init__(self, loader: DataLoader) -> None:
        self.ring: Ring | None = None
        self._batches: TensorIterator = iter(loader.dataset)
        self._collate = loader.collate_fn

    def __next__(self) -> tuple[Any, _Stamp]:
        batch = next(self._batches)
        self.ring = self._batches.ring
        if self._collate is not None:
            batch = self._collate(batch)
        return batch, _stamp(self._batches)

    def ready(self) -> bool:
        return self._batches.ready()

    def close(self) -> None:
        self._batches.close()


class _Remote:
    """Batches that torch workers make, each with the stamp behind it."""

    def __init__(self, loader: DataLoader) -> None:
        self.ring: Ring | None = None  # it is the workers'
        dataset = loader.dataset
        dataset._compare_plans()
        self._batches = iter(()) if dataset._nothing_left() else iter(loader._torch_loader())
        self._dataset: StreamingDataset | None = dataset

    def __next__(self) -> tuple[Any, _Stamp]:
        batch, stamp = next(self._batches)
        if self._dataset is not None:
            self._dataset._used_by_workers()
            self._dataset = None
        return batch, stamp

    def ready(self) -> bool:
        return True  # workers are ahead by themselves

    def close(self) -> None:
        self._batches = iter(())


class _Stamped(IterableDataset[Any]):
    """A data set in a torch worker: batches with the stamp behind each, and the collate function done there."""

    def __init__(self, dataset: StreamingDataset, collate: Callable[[Any], Any] | None) -> None:
        self._dataset = dataset
        self._collate = collate

    def __iter__(self) -> Iterator[tuple[Any, _Stamp]]:
        batches = iter(self._dataset)
        for batch in batches:
            yield (batch if self._collate is None else self._collate(batch)), _stamp(batches)


def _stamp(batches: TensorIterator) -> _Stamp:
    place = batches.place
    assert place is not None
    return place.start, place.epoch, place.position


def _as_it_is(value: Any) -> Any:
    return value


def _dataset(data: Any, options: dict[str, Any]) -> StreamingDataset:
    if not isinstance(data, StreamingDataset):
        if hasattr(data, "state_dict"):
            raise OptionError(
                f"this is a {type(data).__module__}.{type(data).__name__}: give a shardfeed.torch.StreamingDataset, or an address"
            )
        return StreamingDataset(data, **options)
    if options:
        known = sorted(_DATASET_ARGUMENTS & set(options))
        if known == sorted(options):
            raise OptionError(f"{', '.join(known)}: what is read is decided by the data set, which was made already; give it there")
        raise TypeError(f"DataLoader has no argument {', '.join(sorted(set(options) - _DATASET_ARGUMENTS))}")
    return data
