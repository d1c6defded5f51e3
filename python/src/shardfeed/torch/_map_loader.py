"""MapLoader: batches of rows by number, on the device."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from typing import Any, Literal, cast

import torch

from .. import _html, _state
from .._args import _arguments
from .._args._checks import Problems, seed, type_name
from .._args._types import T
from .._columns._schema import Schema
from .._documented import documented
from .._engine._connection import Connection
from .._map import MapDataset
from .._stats import Stats, StatsWait
from .._trace import Trace
from .._verdict import Verdict
from .._waited import Waited
from ..errors import OptionError, StateError
from ..samplers import RandomSampler, SequentialSampler
from ._device import Source
from ._epoch import as_it_is
from ._headspace import Diagnosis
from ._loader import DataLoader
from ._loader_options import Device, check
from ._map_lists import Lists, Place, chosen, exclusions, whole
from ._map_source import Indices, Local, Remote, Whole
from ._sampler import EpochSampler

_VERSION = 1


@documented
class MapLoader(DataLoader[T]):
    """Batches of a MapDataset as dicts of tensors, copied to a device ahead of use:
    ``DataLoader(map_dataset, ...)`` makes one.

    ``batch_size``, ``shuffle``, ``sampler``, ``batch_sampler`` and ``drop_last`` mean what they
    mean to torch's DataLoader, and exclude each other as they do there. One ``iter()`` is one
    epoch. ``state_dict`` is exact after each batch; a resume skips row numbers, not data.

    Args:
        data (MapDataset, or a torch.utils.data.Subset of one): the rows.
        batch_size (int or None, default 1): rows of a batch. None yields what the sampler names:
            a row for a number, a batch for a list.
        shuffle (bool, default None): all rows in random order, by ``seed`` and epoch.
        sampler (iterable of int, default None): the row numbers of an epoch.
        batch_sampler (iterable of lists of int, default None): the row numbers of each batch.
        drop_last (bool, default False): leave out the last batch when it is smaller.
        seed (int, default 0): the seed of shuffle.
        collate_fn, device, pin_memory, num_workers, image_device, image_cpu_share, prefetch,
            prefetch_factor, persistent_workers, worker_init_fn, multiprocessing_context, headspace: as
            in DataLoader.
    """

    dataset: MapDataset  # type: ignore[assignment]

    def __init__(
        self,
        data: MapDataset,
        *more: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        drop_last: bool = False,
        seed: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        device: Device = None,
        pin_memory: bool | None = None,
        num_workers: int = 0,
        image_device: Literal["cpu", "cuda", "auto"] = "cpu",
        image_cpu_share: float | None = None,
        prefetch: int = 2,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        headspace: bool | int = False,
        **unknown: Any,
    ) -> None:
        given = {name: value for name, value in locals().items() if name in _OWN_ARGUMENTS}
        if more:
            raise TypeError(_arguments.by_position("DataLoader", "data", more[0]))
        if unknown:
            raise TypeError(_arguments.unknown_arguments("DataLoader of a MapDataset", unknown, _OWN_ARGUMENTS))
        problems = Problems()
        device = check(given, problems)
        exclusions(batch_size, shuffle, sampler, batch_sampler, drop_last, problems)
        problems.of(_seed, seed)
        problems.report()
        self.dataset = data
        self._whole = whole(data)
        if sampler is None and batch_sampler is None:
            sampler = RandomSampler(data, seed=seed) if shuffle else SequentialSampler(data)
        self._sampler = sampler
        self.batch_sampler = batch_sampler
        self.drop_last = drop_last
        self._batch_size = batch_size
        self._lists = Lists(sampler, batch_sampler, batch_size, drop_last, chosen(data))
        self._keep(given, device)
        self._next = Place(0, 0, None, None)  # the start of the next iteration
        self._loaded = False  # the place of the next iteration
        self._stamp: Any = None  # the place after the last batch that was handed out, within an epoch

    def _forget(self) -> None:
        super()._forget()
        self._wait = Waited()
        self._workers: torch.utils.data.DataLoader[Any] | None = None
        self._indices = Indices()
        self._idle: Connection | None = None  # of an epoch that has ended

    @property
    def _waited(self) -> Waited:
        return self._wait

    @property
    def batch_size(self) -> int | None:
        """Rows of a batch; None where a sampler or batch sampler decides."""
        return self._batch_size if self.batch_sampler is None else None

    @property
    def sampler(self) -> EpochSampler:
        """The sampler, with the loader's set_epoch."""
        return EpochSampler(self, self._sampler)

    @property
    def schema(self) -> Schema:
        """The columns of the data set, with their types."""
        return self._whole.schema

    @property
    def size(self) -> int:
        """Rows of the data set."""
        return len(self.dataset)

    def __len__(self) -> int:
        """Batches of an epoch, as the sampler says."""
        return Diagnosis.length(self._measured) if self.headspace else len(self._lists)

    @property
    def _loop(self) -> Waited:
        return self._wait

    def _open(self) -> tuple[Any, Any]:
        """Starts an epoch: returns the source of its batches, and their iterator on the device."""
        start, lists = self._lists.begin(self._next)
        self._next, self._stamp, self._loaded = Place(start.epoch + 1, 0, None, None), start, False
        self._wait.iterates(0, 1)
        spec = self._whole._spec
        self._images.begin(spec["images"], self._raw_for(), spec["cache_dir"], self.batch_size or 1)
        if self.num_workers:
            source: Source = Remote(start, iter(self._torch_loader((start.epoch, listed) for listed in lists)), self._wait)
            return source, self._route.open(source)
        local = Local(self._whole, self, self.collate_fn, self.prefetch, start, lists, self._images.share)
        batches = self._route.open(local, lambda device: self._images.streams(device, spec, self._whole._session))
        return local, self._images.divided(batches, local.divide)

    def _raw_for(self) -> str:
        if self.collate_fn is not None or self.num_workers:
            return "collate_fn and torch workers get batches before that: apply the function to the loader's batches"
        return "single rows have none: give batch_size or batch_sampler" if self.batch_size is None and self.batch_sampler is None else ""

    def map(self, function: Callable[..., Any], *, random: bool = False) -> DataLoader[Any]:
        """Refuses: give collate_fn, which gets each batch."""
        raise TypeError("a loader of a MapDataset has no map: give collate_fn, which gets each batch")

    def with_valid(self, *columns: str) -> DataLoader[T]:
        """Refuses: a batch of the data set has the masks."""
        raise TypeError("a loader of a MapDataset has no with_valid: give null={column: value}, or use batch.valid of dataset[rows]")

    def set_epoch(self, epoch: int) -> None:
        """Selects the epoch of the next iteration, and of the sampler.

        A position that was loaded before has precedence, unless it is in an earlier epoch.
        """
        epoch = int(epoch)
        if self._loaded and epoch <= self._next.epoch:
            epoch = self._next.epoch
        else:
            self._next, self._stamp, self._loaded = Place(epoch, 0, None, None), None, False
        self._lists.set_epoch(epoch)

    def _records(self) -> list[dict[str, Any]]:
        """Nothing: rows by number have no audit."""
        return []

    def state_dict(self) -> dict[str, Any]:
        """The position after the last batch that was handed out: the epoch, its batches, and the
        sampler's own state at the start of that epoch.
        """
        _state.check(diagnosed=bool(self.headspace))
        place: Place = self._next if self._stamp is None else self._stamp
        data = {"rows": len(self.dataset), "batch_size": self.batch_size}
        return {"version": _VERSION, "shardfeed_map": {**place._asdict(), **data}}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Lets the next iteration continue after the batch where the state was taken."""
        self._check_open()
        inner = state_dict.get("shardfeed_map") if isinstance(state_dict, Mapping) else None
        if not isinstance(inner, Mapping) or state_dict.get("version") != _VERSION:
            raise StateError(f"a state must be the dict that state_dict() of such a loader returned, got {type_name(state_dict)}")
        for name, here in (("rows", len(self.dataset)), ("batch_size", self.batch_size)):
            if inner.get(name) != here:
                raise StateError(f"the state was taken with {name}={inner.get(name)}, and here it is {here}: the rows would be others")
        self._lists.check_resumes()
        place = Place(*(inner[name] for name in Place._fields))
        with contextlib.suppress(TypeError):  # a sampler without a length
            if place.batches and place.batches >= len(self):
                place = Place(place.epoch + 1, 0, None, None)
        self._next, self._stamp, self._workers, self._loaded = place, None, None, True

    def manifest(self) -> dict[str, Any]:
        """The list of the shards that are read, for the argument ``manifest`` of a later run.

        See :meth:`shardfeed.StreamingDataset.manifest`.
        """
        return self.dataset.manifest()

    def stats(self) -> Stats:
        """How long the training waited in ``next``, as ``wait``: ``seconds`` ``of`` the seconds of
        its loop, and ``parts`` are these seconds by cause. What torch workers do is the cause
        ``map``.
        """
        return {"wait": cast("StatsWait", self._wait.report())}

    def trace(self, path: str | PathLike[str], *, steps: int | None = None) -> Trace:
        """Writes what the training waits for in ``next`` as a timeline, for ``ui.perfetto.dev``.

        See :meth:`shardfeed.StreamingDataset.trace`. Torch workers appear only as the time that
        the training waits for them.
        """
        return self._wait.begin_trace(path, steps)

    def verdict(self, *, epoch: bool = False) -> Verdict:
        """Not of rows by number: ``stats()["wait"]`` has how long the training waited, and for what."""
        raise OptionError("a loader of rows by number has no verdict: stats()['wait'] has how long the training waited, and for what")

    def close(self) -> None:
        """Ends iterations and torch workers, and returns memory to the engine.

        Batches that are held stay valid. The data set stays open.
        """
        if self._closed:
            return
        self._closed = True
        for epoch in list(self._epochs):
            epoch.close()
        self._workers = None
        if self._idle is not None:
            self._idle.close()
            self._idle = None

    def __repr__(self) -> str:
        return f"DataLoader({self.dataset!r}, device={self.device}, num_workers={self.num_workers})"

    def _repr_html_(self) -> str:
        own = [("device", self.device or "the host"), ("torch workers", self.num_workers)]
        return _html.facts("DataLoader", [*self._whole._facts(), *own]) + self.schema._repr_html_()

    def _take(self) -> Connection:
        """A connection for an epoch: the idle one, or a new one."""
        connection, self._idle = self._idle, None
        if connection is not None and connection.usable:
            return connection
        return self._whole._connect(image_cpu_share=self._images.share)[0]

    def _give_back(self, connection: Connection) -> None:
        if self._idle is None and connection.usable and not connection.asked and not self._closed:
            self._idle = connection
        else:
            connection.close()

    def _torch_loader(self, lists: Iterator[Any] | None = None) -> torch.utils.data.DataLoader[Any]:
        """Torch's loader, whose workers make the batches of these lists."""
        self._indices.lists = iter(()) if lists is None else lists
        if self._workers is None or not self.persistent_workers:
            self._workers = torch.utils.data.DataLoader(
                Whole(self._whole, self.collate_fn),
                batch_size=None,
                sampler=self._indices,
                collate_fn=as_it_is,
                num_workers=self.num_workers,
                prefetch_factor=self.prefetch_factor,
                persistent_workers=self.persistent_workers,
                worker_init_fn=self.worker_init_fn,
                multiprocessing_context=self.multiprocessing_context,
            )
        return self._workers


DataLoader._of_rows = MapLoader
_seed = seed
_OWN_ARGUMENTS = [name for name in _arguments.names(MapLoader.__init__) if name not in ("data", "more", "unknown")]
