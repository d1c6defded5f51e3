"""JAX: batches as global arrays, with their rows on the devices that a sharding names.

::

    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    sharding = NamedSharding(mesh, PartitionSpec("data"))
    loader = shardfeed.jax.DataLoader("s3://bucket/table", sharding, global_batch_size=1024)
    for batch in loader:
        state = step(state, batch["x"], batch["label"])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from typing import Any, TypeAlias

import jax
from jax.sharding import Sharding

from ._args import _arguments
from ._args._checks import flag, number, type_name
from ._args._types import Address
from ._columns._schema import Schema
from ._dataset import StreamingDataset
from ._documented import documented
from ._jax._columns import Columns, problems_of
from ._jax._place import place
from ._stats import Stats
from ._trace import Trace
from ._transform import Collate
from ._verdict import Verdict
from ._waited import COPY
from .errors import DataError, OptionError

__all__ = ["DataLoader", "batches", "place"]

Shardings: TypeAlias = Sharding | Mapping[str, Sharding]
Batch = dict[str, Any]  # of jax.Array, and of dicts of them for structs

_OF_THE_LOADER = {
    "batch_size": "give global_batch_size: rows of a batch over all processes",
    "rank": "the sharding says which rows this process reads",
    "world_size": "the sharding says which rows this process reads",
    "replication": "the sharding says which processes read the same rows",
    "mesh": "give a NamedSharding of the mesh as sharding",
}
_NOT_WHOLE = "arrays of JAX need batches of one size: give the data set drop_last=True, which leaves out the last rows"


def batches(dataset: StreamingDataset[Any], sharding: Shardings | None = None, *, narrow: bool = False) -> Iterator[Batch]:
    """The next epoch of a data set, as dicts of global arrays.

    The data set has the rank and world size of :func:`place`, and drop_last or another tail that
    makes all batches of one size. An array holds the rows of all processes. Structs are dicts of
    arrays. With with_row_valid there is the mask ``"_row_valid"``. Arrays may share the engine's
    memory; it is not written to while they live.

    Args:
        dataset (StreamingDataset): functions that are mapped over it must return mappings of
            arrays.
        sharding (Sharding, or a dict of them by column): the devices of an array's rows. None puts
            them on JAX's default device, when there is one process.
        narrow (bool, default False): make 32-bit values of 64-bit ones where jax_enable_x64 is not
            set. An integer that does not fit raises DataError. False refuses such columns.
    """
    arrays = _Arrays(dataset, sharding, flag("narrow", narrow))
    return _Epoch(dataset, arrays)


class _Epoch(Iterator[Batch]):
    """One epoch of global arrays, which starts with the first batch."""

    def __init__(self, dataset: StreamingDataset[Any], arrays: _Arrays) -> None:
        self._begin: Callable[[], Iterator[Batch]] = lambda: dataset._iterate(Collate(arrays.of, "shardfeed.jax", COPY))
        self._batches: Iterator[Batch] | None = None

    def __next__(self) -> Batch:
        if self._batches is None:
            self._batches = self._begin()
        for batch in self._batches:  # next, but not a call: an interrupt strikes before the batch counts, or after it was handed out
            return batch
        raise StopIteration


class _Arrays:
    """Makes global arrays of the batches of a data set."""

    def __init__(self, dataset: StreamingDataset[Any], sharding: Shardings | None, narrow: bool) -> None:
        if not isinstance(dataset, StreamingDataset):
            raise OptionError(f"batches needs a shardfeed.StreamingDataset, got {type_name(dataset)}")
        self._sharding = sharding
        self._columns = Columns(narrow)
        self._rows = _rows_of(dataset)
        self._mask = dataset._with_row_valid
        self._world_size = _check_place(dataset, sharding, self._rows)
        if dataset._transforms:
            return  # the batches have other columns than the schema
        found = [*problems_of(dataset.schema, self._columns.wide, self._world_size > 1), *self._without_sharding(dataset.schema)]
        if found:
            raise OptionError("\n".join(found))

    def of(self, batch: Any) -> Batch:
        if not hasattr(batch, "keys"):
            raise OptionError(f"a function that is mapped over batches for JAX must return a mapping of arrays, got {type_name(batch)}")
        values = {name: batch[name] for name in batch}
        if self._mask and hasattr(batch, "row_valid"):
            values["_row_valid"] = batch.row_valid
        if missing := self._without_sharding(values):
            raise OptionError(missing[0])
        return {name: self._array(name, name, column) for name, column in values.items()}

    def _array(self, name: str, path: str, column: Any) -> Any:
        if isinstance(column, Mapping):
            return {member: self._array(name, f"{path}.{member}", values) for member, values in column.items()}
        values = self._columns.plain(path, column)
        if values.shape[:1] != (self._rows,):
            raise DataError(f"column {path!r} has the shape {list(values.shape)}, and a batch has {self._rows} rows: {_NOT_WHOLE}")
        sharding = self._sharding[name] if isinstance(self._sharding, Mapping) else self._sharding
        if sharding is None:
            array = jax.device_put(values)
        else:
            shape = (self._rows * self._world_size, *values.shape[1:])
            array = jax.make_array_from_process_local_data(sharding, values, shape)
        if array.dtype != values.dtype:  # jax_enable_x64 has changed since
            raise OptionError(f"column {path!r} is {values.dtype}, and JAX made {array.dtype} of it: iterate under one jax_enable_x64")
        return array

    def _without_sharding(self, names: Any) -> list[str]:
        """The problem of a dict of shardings that lacks columns; empty without one."""
        if not isinstance(self._sharding, Mapping):
            return []
        has = [*names, *(["_row_valid"] if self._mask else [])]
        if not (missing := [name for name in has if name not in self._sharding]):
            return []
        return [f"sharding has none for the column{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}"]


def _rows_of(dataset: StreamingDataset[Any]) -> int:
    """The rows of each batch in this process. Refuses a data set with batches of several sizes."""
    spec, found = dataset._spec, []
    if dataset._rows_wanted:
        found.append("arrays of JAX need batches: give the data set batch_size, not None")
    if spec["bucket"] is not None:
        found.append("bucket makes batches of several shapes, and each would compile again: leave it out, and give pad with to_max or pack")
    if dataset._tail(dataset.world_size) == "short":
        found.append(f"the last batch of an epoch would be short: {_NOT_WHOLE}, or tail='pad' with with_row_valid=True")
    if spec["on_error"] == "skip":
        found.append("on_error='skip' makes batches shorter where rows are lost: give on_error='mask', which masks them")
    if found:
        raise OptionError("\n".join(found))
    return int(spec["batch_size"])


def _check_place(dataset: StreamingDataset[Any], sharding: Shardings | None, rows: int) -> int:
    """Refuses a data set whose rank does not fit the sharding. Returns the world size."""
    of = dataset.rank, dataset.world_size
    if sharding is None:
        if jax.process_count() > 1:
            raise OptionError(f"sharding must be given where there are several processes of JAX, {jax.process_count()} here")
        needed: list[tuple[Any, tuple[int, int]]] = [("one process", (0, 1))]
    elif isinstance(sharding, Mapping):
        needed = [(f"the sharding of {name!r}", place(each, rows * of[1])) for name, each in sharding.items()]
    else:
        needed = [("the sharding", place(sharding, rows * of[1]))]
    for by, wanted in needed:
        if wanted != of:
            raise OptionError(
                f"the data set reads as rank {of[0]} of {of[1]}, and {by} needs rank {wanted[0]} of {wanted[1]}: give it "
                f"rank={wanted[0]}, world_size={wanted[1]}, which shardfeed.jax.place returns, or use shardfeed.jax.DataLoader"
            )
    return of[1]


@documented
class DataLoader:
    """Epochs of global batches, read with the rank that a sharding gives this process.

    One ``iter()`` is one epoch, and the next one is the next epoch. Rows that do not fill a global
    batch are left out, unless ``tail`` is "pad" or "carry".

    Args:
        uri (str, Path, or list of them): what to read, as the uri of a
            :class:`shardfeed.StreamingDataset`. It is left out if sources is given.
        sharding (Sharding, or a dict of them by column, default None): the devices of an array's
            rows. None puts them on JAX's default device, when there is one process.
        global_batch_size (int): rows of a batch over all processes.
        narrow (bool, default False): make 32-bit values of 64-bit ones, see :func:`batches`.
        options: the other arguments of a data set, such as columns, seed or cast, except for
            batch_size, rank, world_size, replication and mesh.
    """

    def __init__(
        self,
        uri: Address | None = None,
        sharding: Shardings | None = None,
        *,
        global_batch_size: int | None = None,
        narrow: bool = False,
        **options: Any,
    ) -> None:
        known = [name for name in _arguments.names(StreamingDataset.__init__) if name not in _OF_THE_LOADER]
        if theirs := [name for name in options if name in _OF_THE_LOADER]:
            raise TypeError("\n".join(f"DataLoader takes no {name}: {_OF_THE_LOADER[name]}" for name in theirs))
        if unknown := [name for name in options if name not in known]:
            raise TypeError(_arguments.unknown_arguments("DataLoader", unknown, [*known, "sharding", "global_batch_size", "narrow"]))
        if uri is None and "sources" not in options:
            raise TypeError("DataLoader needs uri: an address such as 's3://bucket/path', a path, or a list of them")
        if global_batch_size is None:
            raise TypeError("DataLoader needs global_batch_size: rows of a batch over all processes")
        self._sharding, self._narrow = sharding, flag("narrow", narrow)
        self.global_batch_size = number("global_batch_size", global_batch_size)
        rank, world_size = _place_of_all(sharding, self.global_batch_size)
        if options.get("tail") is None and "drop_last" not in options:
            options["tail"] = "drop"
        make: Callable[..., StreamingDataset[Any]] = StreamingDataset
        self.dataset = make(uri, batch_size=self.global_batch_size // world_size, rank=rank, world_size=world_size, **options)
        _Arrays(self.dataset, sharding, self._narrow)  # reports problems now, not at the first batch

    def __iter__(self) -> Iterator[Batch]:
        return batches(self.dataset, self._sharding, narrow=self._narrow)

    def __len__(self) -> int:
        """Batches of a whole epoch, the same in every process."""
        return len(self.dataset)

    @property
    def rank(self) -> int:
        """Which part of each batch this process reads."""
        return self.dataset.rank

    @property
    def world_size(self) -> int:
        """Into how many parts processes divide each batch."""
        return self.dataset.world_size

    @property
    def size(self) -> int:
        """Rows of an epoch, over all processes."""
        return self.dataset.size

    @property
    def schema(self) -> Schema:
        """The columns of the batches, with the dtypes that the data set has."""
        return self.dataset.schema

    def manifest(self) -> dict[str, Any]:
        """The list of the shards that are read, for the argument ``manifest`` of a later run.

        See :meth:`shardfeed.StreamingDataset.manifest`.
        """
        return self.dataset.manifest()

    def stats(self) -> Stats:
        """Figures of this process's stream, by the names of ``shardfeed bench --json``."""
        return self.dataset.stats()

    def trace(self, path: str | PathLike[str], *, steps: int | None = None) -> Trace:
        """Writes what the training waits for in ``next`` as a timeline, for ``ui.perfetto.dev``.

        See :meth:`shardfeed.StreamingDataset.trace`.
        """
        return self.dataset.trace(path, steps=steps)

    def verdict(self, *, epoch: bool = False) -> Verdict:
        """Explains how long the training waits for data, for what, on which process, and what to change.

        See :meth:`shardfeed.StreamingDataset.verdict`.
        """
        return self.dataset.verdict(epoch=epoch)

    def set_epoch(self, epoch: int) -> None:
        """Selects the epoch of the next iteration."""
        self.dataset.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """The position after the last batch. JSON types, the same in every process."""
        return self.dataset.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Makes the next iteration continue there, with any number of processes and any mesh."""
        self.dataset.load_state_dict(state_dict)

    def __repr__(self) -> str:
        return f"DataLoader({self.dataset!r}, global_batch_size={self.global_batch_size}, rank {self.rank} of {self.world_size})"


def _place_of_all(sharding: Shardings | None, rows: int) -> tuple[int, int]:
    """The place by the sharding, or by the first of several; _check_place compares the others."""
    if sharding is None:
        return 0, 1
    first = next(iter(sharding.values()), None) if isinstance(sharding, Mapping) else sharding
    return place(first, rows)
