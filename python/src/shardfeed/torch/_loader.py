"""DataLoader: batches of a data set, on the device."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, overload

import torch

from .. import _html, _state
from .._args import _arguments
from .._args._checks import Problems, type_name
from .._args._types import Address, T
from .._columns._schema import Schema
from .._dataset import StreamingDataset as ArrayDataset
from .._documented import documented
from .._map import MapDataset
from .._options import Options
from .._stats import Stats
from .._trace import Trace
from .._verdict import Verdict
from ..errors import OptionError, ShardfeedError
from ._batch import Batch
from ._dataset import Row, StreamingDataset, counted
from ._headspace import Diagnosis
from ._loader_iterated import Iterated
from ._loader_options import AllOptions, Device, MapLoaderOptions, StreamLoaderOptions, check
from ._map_lists import whole
from ._sampler import EpochSampler

if TYPE_CHECKING:
    from typing_extensions import Unpack

S = TypeVar("S")
R = TypeVar("R")


@documented
class DataLoader(Iterated[T]):
    """Batches of a data set as dicts of tensors, copied to a device ahead of use.

    One ``iter()`` is one epoch, which is used up when its first batch is asked for. Batches are
    :class:`shardfeed.torch.Batch`, or what ``collate_fn`` makes of them. ``state_dict`` is exact
    after each batch, with any number of workers; ``load_state_dict`` continues there with any other
    number of workers or ranks. ``with DataLoader(...) as loader:`` closes it at the end.

    Args:
        data (str, Path, list of them, or StreamingDataset): an address or path, with the arguments
            of the data set beside it, such as batch_size; or a data set that has them. A
            :class:`shardfeed.MapDataset` makes a :class:`MapLoader`, which takes samplers.
        collate_fn (function, default None): applied to each batch; the loader yields its
            result.
        device (str, int, torch.device or None, default None): where batches go. "auto" is the
            current CUDA device, or the host without CUDA. Copies to CUDA run on a stream of their
            own. None leaves batches on the host.
        pin_memory (bool, default None): page-lock the memory that batches come in. None does so for
            a CUDA device.
        num_workers (int, default 0): worker processes that run map and collate_fn, for functions
            that take long in Python. Batches, order and states are as with 0. Functions must be
            importable by name. The engine works in parallel without workers.
        threads (int, default 0): threads of this process that run map and collate_fn in place of
            workers, for functions that release the GIL, such as decoders of images.
        image_device ("cpu", "cuda" or "auto", default "cpu"): where JPEGs are decoded. "cuda" is
            nvJPEG on the loader's device, "auto" takes it for as many as speeds up training. Crops,
            flips and colors are the same.
        image_cpu_share (float, default None): the share of the JPEGs that processors decode, from 0
            to 1, with image_device="cuda" or "auto". None is 0 for "cuda" and adapts for "auto".
        prefetch (int, default 2): batches that are copied to the device ahead of use.
        prefetch_factor (int, default None): batches that each worker or thread has in hand or done.
            None is 2.
        persistent_workers (bool, default False): keep workers from epoch to epoch.
        worker_init_fn (function, default None): called with the worker's number when a worker
            starts. torch.utils.data.get_worker_info() works there.
        multiprocessing_context (str or context, default None): how workers start: "forkserver",
            "spawn" or "fork". None is "forkserver". "fork" is refused while this process has other
            threads, or uses CUDA.
        headspace (bool or int, default False): measure how fast the loop would be if data were
            free: the loader yields batches as they come and repeated ones in turn, and ends. The
            log and ``verdict()`` have the result. A number is the steps of one measurement, and
            True is 50. There is no state to save.

    With an address the arguments of the data set follow:
    """

    _of_rows: ClassVar[type[DataLoader[Any]]]  # the loader of rows by number: MapLoader

    if not TYPE_CHECKING:  # type checkers take a loader's type from __init__

        def __new__(cls, data=None, *args, **options):
            """Rows by number have a loader of their own."""
            if cls is DataLoader and isinstance(whole(data), MapDataset):
                return super().__new__(cls._of_rows)
            return super().__new__(cls)

    @overload
    def __init__(
        self: DataLoader[S], data: StreamingDataset[S], *, collate_fn: None = None, **options: Unpack[StreamLoaderOptions]
    ) -> None: ...

    @overload
    def __init__(
        self: DataLoader[S], data: StreamingDataset[Any], *, collate_fn: Callable[[Any], S], **options: Unpack[StreamLoaderOptions]
    ) -> None: ...

    @overload
    def __init__(self: DataLoader[Batch], data: MapDataset, *, collate_fn: None = None, **options: Unpack[MapLoaderOptions]) -> None: ...

    @overload
    def __init__(self: DataLoader[S], data: MapDataset, *, collate_fn: Callable[[Any], S], **options: Unpack[MapLoaderOptions]) -> None: ...

    @overload
    def __init__(
        self: DataLoader[Batch], data: Address | None = None, *, batch_size: int, collate_fn: None = None, **options: Unpack[AllOptions]
    ) -> None: ...

    @overload
    def __init__(
        self: DataLoader[Row], data: Address | None = None, *, batch_size: None, collate_fn: None = None, **options: Unpack[AllOptions]
    ) -> None: ...

    @overload
    def __init__(
        self: DataLoader[S],
        data: Address | None = None,
        *,
        batch_size: int | None,
        collate_fn: Callable[[Any], S],
        **options: Unpack[AllOptions],
    ) -> None: ...

    def __init__(
        self,
        data: Address | StreamingDataset[Any] | MapDataset | None = None,
        *more: Any,
        collate_fn: Callable[[Any], Any] | None = None,
        device: Device = None,
        pin_memory: bool | None = None,
        num_workers: int = 0,
        threads: int = 0,
        image_device: Literal["cpu", "cuda", "auto"] = "cpu",
        image_cpu_share: float | None = None,
        prefetch: int = 2,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        headspace: bool | int = False,
        **options: Any,
    ) -> None:
        given = {name: value for name, value in locals().items() if name in _OWN_ARGUMENTS}
        if more:
            raise TypeError(_arguments.by_position("DataLoader", "data", more[0]))
        _check_names(data, options)
        problems = Problems()
        device = check(given, problems)
        _check_all(data, options, problems)
        self._keep(given, device)
        self._prepare(data, options)
        self.dataset: StreamingDataset[Any] = counted(_dataset(data, options))
        self.drop_last: bool = self.dataset._spec["tail"] == "drop"
        self._stamp = self._copied = None
        self._owns_dataset = not isinstance(data, StreamingDataset)
        if headspace:
            self.dataset._diagnosed = True
        self._last_state: dict[str, Any] | None = None  # when it was closed

    @property
    def batch_size(self) -> int | None:
        """Rows of a batch on this rank; None where the loader yields rows."""
        return None if self.dataset._rows_wanted else int(self.dataset._spec["batch_size"])

    @property
    def schema(self) -> Schema:
        """The columns of the data set, with their types.

        Functions of map and collate_fn are not in it.
        """
        return self.dataset.schema

    @property
    def size(self) -> int:
        """Rows of an epoch, over all ranks."""
        return self.dataset.size

    @property
    def sampler(self) -> EpochSampler:
        """Sets the epoch: trainers such as Lightning call ``loader.sampler.set_epoch``."""
        return EpochSampler(self)

    def __len__(self) -> int:
        """Batches of a whole epoch on this rank; the same on every rank.

        ``len(loader.dataset)`` is the rows, over all ranks.
        """
        return Diagnosis.length(self._measured) if self.headspace else self.dataset._length()

    @overload
    def map(self: DataLoader[S], function: Callable[[S], R], *, random: Literal[False] = False) -> DataLoader[R]: ...

    @overload
    def map(self: DataLoader[S], function: Callable[[S, torch.Generator], R], *, random: Literal[True]) -> DataLoader[R]: ...

    def map(self, function: Callable[..., Any], *, random: bool = False) -> DataLoader[Any]:
        """A loader of the same data and arguments, with a function applied to each batch on the
        host.

        It runs before the copy to the device, in the workers or threads if there are any. With
        random it gets a torch.Generator as its second argument, seeded by the seed, the epoch, the
        step and the rank. The result counts its own epochs.
        """
        if self.collate_fn is not None:
            raise OptionError("map of a loader with a collate_fn: call the function in collate_fn, or map the data set")
        mapped: StreamingDataset[Any] = self.dataset.map(function, random=random)  # type: ignore[call-overload]
        return self._like(mapped)

    def filter(self, function: Callable[[T], Any]) -> DataLoader[T]:
        """A loader of the same data and arguments, with rows masked: the function gets a batch on
        the host, and returns a bool for each row.

        ``"_row_valid"`` of the batch is False for the others. The result counts its own epochs.
        """
        if self.collate_fn is not None:
            raise OptionError("filter of a loader with a collate_fn: mask the rows in collate_fn, or filter the data set")
        return self._like(self.dataset.filter(function))

    def skip(self, count: int) -> DataLoader[T]:
        """A loader of the same data and arguments without the first batches of each epoch.

        See :meth:`shardfeed.StreamingDataset.skip`. The result counts its own epochs.
        """
        return self._like(self.dataset.skip(count))

    def take(self, count: int) -> DataLoader[T]:
        """A loader of the same data and arguments with only the first batches of each epoch.

        See :meth:`shardfeed.StreamingDataset.take`. The result counts its own epochs.
        """
        return self._like(self.dataset.take(count))

    def _like(self, dataset: StreamingDataset[Any]) -> DataLoader[Any]:
        """A loader of a data set of its own, with the arguments of this one."""
        loader: DataLoader[Any] = DataLoader(dataset, **{name: getattr(self, name) for name in _OWN_ARGUMENTS})
        loader._owns_dataset = True
        return loader

    def with_valid(self, *columns: str) -> DataLoader[T]:
        """A loader of the same data and arguments, with a boolean tensor ``"<column>_valid"`` for
        each of these columns or paths.

        It is False where the column is null. The result counts its own epochs.
        """
        return self._like(self.dataset.with_valid(*columns))

    def set_epoch(self, epoch: int) -> None:
        """Selects the epoch of the next iteration, as DistributedSampler does.

        A position that was loaded before has precedence, unless it is in an earlier epoch.
        """
        self.dataset.set_epoch(epoch)
        self._stamp = None

    def state_dict(self) -> dict[str, Any]:
        """The position of the training: after the last batch that was handed out.

        Plain JSON types, the same on every rank except ``audit``, what this rank got of the epoch.
        """
        _state.check(diagnosed=bool(self.headspace))
        return self._state_here() if self._last_state is None else self._last_state

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Lets the next iteration continue after the batch where the state was taken, on any number
        of ranks and workers.
        """
        self._check_open()
        self.dataset.load_state_dict(state_dict)
        self._stamp = None

    def set_weights(self, weights: Mapping[str, float]) -> None:
        """Gives sources other weights, from the next ``iter()`` on, which continues after the last
        batch that was handed out.

        See :meth:`shardfeed.StreamingDataset.set_weights`.
        """
        self._check_open()
        self.load_state_dict(self.dataset._reweighted(self.state_dict(), weights))

    def manifest(self) -> dict[str, Any]:
        """The list of the shards that are read, for the argument ``manifest`` of a later run.

        See :meth:`shardfeed.StreamingDataset.manifest`.
        """
        return self.dataset.manifest()

    def stats(self) -> Stats:
        """Figures of this rank's stream, by the names of ``shardfeed bench --json``.

        ``wait`` is how long the training waited in ``next``, in ``seconds`` ``of`` the seconds of
        its loop, and ``parts`` are these seconds by cause. See "Is my GPU waiting?" in the docs.
        ``image_device`` names what decodes JPEGs on the GPU, or why the processors do.
        """
        figures = self.dataset.stats()
        if figures:
            figures["image_device"] = self._images.report(self.dataset._opened.get("images") or {})
        return figures

    def trace(self, path: str | PathLike[str], *, steps: int | None = None) -> Trace:
        """Writes what the training waits for in ``next`` as a timeline, for ``ui.perfetto.dev``.

        See :meth:`shardfeed.StreamingDataset.trace`.
        """
        return self.dataset.trace(path, steps=steps)

    def verdict(self, *, epoch: bool = False) -> Verdict:
        """Explains how long the training waits for data, for what, on which rank, and what to change.

        See :meth:`shardfeed.StreamingDataset.verdict`.
        """
        return self.dataset.verdict(epoch=epoch).with_headspace(self._headspace)

    def close(self) -> None:
        """Ends iterations and workers, and returns memory to the engine.

        Batches that are held stay valid, and ``state_dict`` still returns the last position. A data
        set that was given stays open. Calling close again does nothing.
        """
        if self._closed:
            return
        self._closed = True
        for epoch in list(self._epochs):
            epoch.close()
        with contextlib.suppress(ShardfeedError):  # an engine that is gone must not hide the user's error
            self._last_state = self._state_here()
        if (pool := self._pool) is not None:
            self._pool = None
            pool.close()
        self._images.close()
        self.dataset._let_go(everything=self._owns_dataset)

    def __enter__(self) -> DataLoader[T]:
        self._check_open()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"DataLoader({self.dataset!r}, device={self.device}, num_workers={self.num_workers})"

    def _repr_html_(self) -> str:
        own = [("device", self.device or "the host"), ("workers", self.num_workers), ("threads", self.threads)]
        return _html.facts("DataLoader", [*self.dataset._facts(), *own]) + self.schema._repr_html_()


def _check_names(data: Any, options: dict[str, Any]) -> None:
    """Refuses unknown arguments, and arguments that the data set already has."""
    known = [*_OWN_ARGUMENTS, *_DATASET_ARGUMENTS]
    if unknown := [name for name in options if name not in _DATASET_ARGUMENTS]:
        raise TypeError(_arguments.unknown_arguments("DataLoader", unknown, known))
    if isinstance(data, StreamingDataset):
        if options:
            raise OptionError(f"the data set already decides {', '.join(options)}: give them to the data set")
    elif hasattr(data, "state_dict") or isinstance(data, torch.utils.data.Dataset):
        raise OptionError(
            "data must be a shardfeed.torch.StreamingDataset, a shardfeed.MapDataset or torch's Subset of one, or an address, got "
            f"{type_name(data)}"
        )
    elif data is None and "sources" not in options:
        raise TypeError("DataLoader needs data: a data set, an address such as 's3://bucket/path', a path, or sources")
    elif "batch_size" not in options:
        raise TypeError(_arguments.missing_batch_size("DataLoader"))


def _check_all(data: Any, options: dict[str, Any], problems: Problems) -> None:
    """Raises one error for all that is wrong with any argument."""
    if problems.found and not isinstance(data, StreamingDataset):
        Options(data, **options).spec(problems)
    problems.report()


def _dataset(data: Any, options: dict[str, Any]) -> StreamingDataset[Any]:
    return data if isinstance(data, StreamingDataset) else StreamingDataset(data, **options)


_DATASET_ARGUMENTS = [name for name in _arguments.names(StreamingDataset.__init__) if name != "uri"]
_OWN_ARGUMENTS = [name for name in _arguments.names(DataLoader.__init__) if name not in ("data", "more", "options")]
_arguments.describe_loader(DataLoader, ArrayDataset)
_arguments.describe_dataset(StreamingDataset, ArrayDataset)
