"""StreamingDataset for torch: parquet as dicts of tensors in training order."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.context import get_spawning_popen
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

import torch
from torch.utils.data import IterableDataset

from .. import _state
from .._args._types import Address, T
from .._columns._layout import Layout
from .._engine import _launcher
from .._iterator import BatchIterator
from .._keywords import DatasetOptions
from .._rows import BUNDLE
from .._stats import Stats
from .._transform import Function, check_function
from ..errors import OptionError, ShardfeedError, StateError
from . import _wrapped
from ._batch import Batch
from ._iterator import TensorIterator
from ._ranked import Ranked
from ._transform import TensorMask, Transform
from ._workers import _torch_worker

if TYPE_CHECKING:
    from typing_extensions import Unpack

_WORKER = "worker"  # the key of a state that describes one torch worker


S = TypeVar("S")
R = TypeVar("R")
Row = dict[str, Any]


class StreamingDataset(Ranked[T], IterableDataset[T]):
    """Batches of parquet shards as dicts of tensors, as a torch IterableDataset.

    Batches are :class:`shardfeed.torch.Batch`. Numbers are tensors in the memory that the engine
    wrote, without a copy; strings and binary values are :class:`Bytes`, lists of different lengths
    :class:`Ragged`, structs dicts. With ``batch_size=None`` single rows come, as dicts.

    Iterate over it, or give it to :class:`shardfeed.torch.DataLoader`, to torch's
    ``DataLoader(dataset, batch_size=None, num_workers=K)``, or to torchdata's StatefulDataLoader.
    With K workers the k-th takes the steps k, k + K, k + 2K, ... of this rank's stream: order,
    batches and length are the same for any K.

    An epoch is used up when its first batch is asked for.
    """

    if TYPE_CHECKING:

        @overload
        def __init__(
            self: StreamingDataset[Batch], uri: Address | None = None, *, batch_size: int, **options: Unpack[DatasetOptions]
        ) -> None: ...

        @overload
        def __init__(
            self: StreamingDataset[Row], uri: Address | None = None, *, batch_size: None, **options: Unpack[DatasetOptions]
        ) -> None: ...

        def __init__(self, uri: Address | None = None, *, batch_size: int | None, **options: Unpack[DatasetOptions]) -> None: ...

    _told = ""  # the engine that was there when this was opened, an epoch was set or a state loaded
    _masks: tuple[str, ...] = ()  # columns that get a mask of their nulls
    _part: _torch_worker.Part  # of a torch worker

    @overload
    def map(self: StreamingDataset[S], function: Callable[[S], R], *, random: Literal[False] = False) -> StreamingDataset[R]: ...

    @overload
    def map(self: StreamingDataset[S], function: Callable[[S, torch.Generator], R], *, random: Literal[True]) -> StreamingDataset[R]: ...

    def map(self, function: Callable[..., Any], *, random: bool = False) -> StreamingDataset[Any]:
        """The same data with a function applied to each batch, or to each row with
        ``batch_size=None``.

        It runs in the process that iterates: the trainer, or a torch worker. With random it gets a
        torch.Generator as its second argument, seeded by the seed, the epoch, the step and the
        rank. The result counts its own epochs.
        """
        check_function(function)
        return self._mapped(Transform(function, random, self._spec["seed"]))

    def filter(self, function: Callable[[T], Any]) -> StreamingDataset[T]:
        """The same data with rows masked: the function gets a batch, and returns a bool for each
        row. With ``batch_size=None`` it gets a row, and returns True or False.

        Rows for which it is False stay in the batch, and its ``"_row_valid"`` is False for them as
        for padding; :func:`shardfeed.torch.drop_padding` takes them out. Steps, order and state are
        as with all rows. To leave rows out give ``filters``, or see :func:`shardfeed.select`. The
        result counts its own epochs.
        """
        check_function(function, "filter")
        self._check_masks()
        return self._masked(TensorMask(function))

    def with_valid(self, *columns: str) -> StreamingDataset[T]:
        """The same data with a boolean tensor ``"<column>_valid"`` for each of these columns.

        It is False where the column is null. A dotted path names a part of a column. A column
        ``"<column>_valid"`` in the data is an error. The result counts its own epochs.
        """
        for column in columns:
            try:
                Layout(self.schema).find(column)
            except KeyError as e:
                raise OptionError(f"with_valid: {e}") from None
        marked = self._copy()
        marked._masks = tuple(dict.fromkeys((*self._masks, *columns)))
        marked._check_added()
        return marked

    def __len__(self) -> int:
        """Batches of a whole epoch on this rank, or rows with ``batch_size=None``; the same on
        every rank. ``len`` of torch's DataLoader is true with any number of workers.
        """
        return self._length(_wrapped.measures(self))

    def _length(self, loader: Any = None) -> int:
        """The length, for a loader of torch's if one asks."""
        length = super().__len__()
        return _wrapped.length(loader, length) if self._rows_wanted and loader is not None else length

    def _added(self) -> Iterator[tuple[str, str]]:
        yield from super()._added()
        for column in self._masks:
            yield f"{column}_valid", f"with_valid({column!r})"

    def __iter__(self) -> TensorIterator[T]:
        _wrapped.check(rows=self._rows_wanted, batch_size=self._spec["batch_size"], world_size=self._share().job_world_size)
        self._after_fork()
        iterator: TensorIterator[T] = TensorIterator(self)
        if _torch_worker.current() is not None:
            _torch_worker.prepare()
            self._iterates(iterator)
        return iterator

    def _iterate(self, *more: Function) -> TensorIterator[Any]:
        iterator: TensorIterator[Any] = iter(self)
        for function in more:
            iterator.then(function)
        return iterator

    def _iterates(self, iterator: TensorIterator[T]) -> None:
        """Notes the iteration of a torch worker and ends the one before it.

        With a loaded state it starts at once: a loader may start workers to restore a finished
        epoch and replace them, and their successors must find the epoch used up. Otherwise it
        starts with its first batch, so that all workers see the same epoch until then.
        """
        part = self._part
        if (last := part.iterator()) is not None:
            last.close()
        part.count += 1
        part.iterator, part.start = weakref.ref(iterator), None
        if self._pending_state is not None:
            iterator.begin()

    def _begin(self, outputs: int = 0, image_cpu_share: float | None = None) -> BatchIterator | None:
        """Starts an iteration in the engine; None when nothing is left of the epoch. Workers of a
        loader hold results of ``outputs`` batches. With a share, other JPEGs come as files.
        """
        worker = _torch_worker.current()
        if worker is None:
            return self._begin_here(outputs, image_cpu_share)
        part, pending = self._part, self._pending_state
        self._check_engine()
        names = {"iteration": worker.iteration(part.count), "worker": worker.id, "workers": worker.workers, "next": part.restored}
        batches = self._batches(plain=True, **names)
        part.start, restored, part.restored = batches.place.start, part.restored, None
        if restored is None or pending is None:
            part.first = worker.first(int(part.start["position"]), self._global_batch())
            return batches
        part.first = restored
        epoch = int(part.start["epoch"])
        if epoch == int(pending[0]["epoch"]):
            return batches
        # all workers' next steps are after the end of the epoch
        if epoch == part.asked:
            part.first = worker.first(int(part.start["position"]), self._global_batch())
            return batches
        part.start = pending[0]
        batches.close()
        return None

    def _check_engine(self) -> None:
        """Refuses an epoch of a torch worker by an engine that did not count the epochs before.

        Such a worker is new in each epoch, and only the engine knows which one that is.
        """
        if self._after is None and self._told not in ("", self._engine_id()):
            raise StateError(
                "the engine that counted the epochs has ended, and new torch workers do not know where training stood: call set_epoch of "
                "the data set, or load a state; shardfeed.torch.DataLoader needs neither"
            )

    def _engine_id(self) -> str:
        with self._lock:
            return str(self._control().welcome["id"])

    def _open_by(self, how: str | None) -> dict[str, Any]:
        opened = super()._open_by(how)
        self._told = self._engine_id()
        return opened

    def _refresh(self) -> None:
        if self._spec["refresh"] and _torch_worker.current() is not None:
            raise OptionError(
                "refresh='epoch' does not go with torch's own workers, which cannot agree on the snapshot of an epoch: use "
                "shardfeed.torch.DataLoader, also with num_workers"
            )
        super()._refresh()

    def set_epoch(self, epoch: int) -> None:
        super().set_epoch(epoch)
        self._told = self._engine_id()

    def _begin_here(self, outputs: int, image_cpu_share: float | None) -> BatchIterator:
        share = {} if image_cpu_share is None else {"image_cpu_share": image_cpu_share}
        try:
            return self._batches(plain=True, bundle=BUNDLE if self._rows_wanted else 0, outputs=outputs, **share)
        except Exception as e:
            self._leave(e)
            raise

    # State

    def state_dict(self) -> dict[str, Any]:
        """The position of the training, after the last batch: JSON types, the same on every rank
        except ``audit``, what this rank got of the epoch.

        In a torch worker it is the state of this worker, which torchdata's StatefulDataLoader
        combines with the others.
        """
        worker = _torch_worker.current()
        return super().state_dict() if worker is None else self._worker_state(worker)

    def _worker_state(self, worker: _torch_worker.Worker) -> dict[str, Any]:
        part, start = self._part, self._part.start
        if start is not None:
            step = part.next_step(worker, self._global_batch())
        else:
            start = self._pending_state[0] if self._pending_state is not None else self._session(plan=True)["state"]
            first = worker.first(int(start["position"]), self._global_batch())
            step = first if part.restored is None else part.restored
        return {**_state.pack(start), _WORKER: {"worker": worker.id, "workers": worker.workers, "next": step}}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Makes the next iteration continue where a state was taken, on any number of ranks."""
        part = state_dict.get(_WORKER) if isinstance(state_dict, Mapping) else None
        if part is not None:
            worker = _torch_worker.current()
            if worker is None or worker.workers != part["workers"]:
                here = "not a torch worker" if worker is None else f"one of {worker.workers}"
                raise StateError(
                    f"this is the state of one of {part['workers']} torch workers, and this process is {here}: load the loader's whole "
                    "state, into a loader with as many workers"
                )
        self._after_fork()
        self._part.asked = None if self._pending_epoch is None else self._pending_epoch[0]
        super().load_state_dict(state_dict)
        self._told = self._engine_id()
        self._part.restored = None if part is None else int(part["next"])

    def _state_here(self) -> dict[str, Any]:
        """The state before the first batch of a loader, whose workers may be ahead."""
        if self._pending_state is not None:
            return _state.pack(self._pending_state[0], self._carried_records)
        return _state.pack(self._session(plan=True)["state"])

    def _global_batch(self) -> int:
        return int(self._spec["batch_size"]) * self.world_size

    def stats(self) -> Stats:
        """Figures of this rank's stream, by the names of ``shardfeed bench --json``.

        ``seats`` counts the ``lanes``, the ones in caches of the ``nodes`` (``held``),
        and the ones read by a node that holds them (``read``). It is None if
        lanes have no seats.
        """
        return cast("Stats", {**super().stats(), "seats": self._seats.figures})

    # Warnings of an iteration

    def _joined(self, joined: Mapping[str, Any], rank: int, world_size: int) -> None:
        worker = _torch_worker.current()
        if worker is not None and (worker.id > 0 or joined["epoch"] != self._first_epoch()):
            self._said_padding = self._said_order = True  # each epoch may have new workers: the first of the first epoch warns
        super()._joined(joined, rank, world_size)

    def _first_epoch(self) -> int:
        """The epoch that training began with, as far as a torch worker knows."""
        return 0 if self._pending_state is None else int(self._pending_state[0]["epoch"])

    def _padding_mask(self) -> str:
        return 'with_row_valid=True adds batch["_row_valid"], which is False for them'

    # Other processes

    def _forget(self) -> None:
        super()._forget()
        self._part = _torch_worker.Part()

    def __getstate__(self) -> dict[str, Any]:
        state = {**super().__getstate__(), "_transforms": self._transforms, "_masks": self._masks, "_told": self._told}
        if state["_rank_given"] == (None, None) and _launcher.from_environment() is None:
            state["_rank_given"] = self._found_rank()
        return state

    @staticmethod
    def _found_rank() -> tuple[int | None, int | None]:
        """What a spawned worker cannot find: it has no process group, and is not Ray's worker."""
        place = _launcher.place()
        return (None, None) if place is None else (place.rank, place.world_size)

    def __reduce__(self) -> tuple[Any, ...]:
        spawning = get_spawning_popen() is not None
        if spawning:
            self._check_ranks()
            self._keep_open()
        return _restore, (type(self), self.__getstate__(), not spawning)


class Counted(StreamingDataset[T]):
    """A data set as a loader has it: ``len()`` is its rows, by which trainings divide, as in
    ``correct / len(loader.dataset)``.

    All else it shares with the data set of which it is a view.
    """

    def __len__(self) -> int:
        """Rows of an epoch, over all ranks."""
        loader = _wrapped.measures(self)
        return self.size if loader is None else self._length(loader)

    def __repr__(self) -> str:
        return super().__repr__().replace("Counted", "StreamingDataset", 1)


def counted(dataset: StreamingDataset[T]) -> StreamingDataset[T]:
    """A view of a data set for a loader. A class of the user's stays what it is."""
    if type(dataset) is not StreamingDataset:
        return dataset
    view: Counted[T] = Counted.__new__(Counted)
    view.__dict__ = dataset.__dict__
    return view


def _restore(kind: type[StreamingDataset[Any]], state: dict[str, Any], keep_open: bool) -> StreamingDataset[Any]:
    """Unpickles a data set. In a process that was spawned with it, the parent keeps it open."""
    dataset = kind.__new__(kind)
    dataset.__setstate__(state)
    if keep_open:
        dataset._told = ""
        with contextlib.suppress(ShardfeedError):  # the first iteration raises it
            dataset._told = dataset._engine_id()
    return dataset
