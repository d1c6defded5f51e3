"""Ray Train: data sets that a trainer hands to its workers as Ray's own, and one engine a node.

::

    trainer = TorchTrainer(
        loop,
        datasets={"train": shardfeed.ray.Source("s3://bucket/table", columns=["x", "label"], seed=7)},
        dataset_config=shardfeed.ray.DataConfig(),
        scaling_config=ScalingConfig(num_workers=8),
    )

and in the loop ``ray.train.get_dataset_shard("train")`` is a :class:`Shard`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import ray.train

from . import _redact
from ._args import _arguments
from ._args._checks import got
from ._args._types import Address
from ._columns._columns import column_to_list
from ._columns._schema import Schema
from ._dataset import StreamingDataset
from ._documented import documented
from ._stats import Stats
from ._trace import Trace
from ._transform import Collate
from ._verdict import Verdict
from .errors import OptionError

if TYPE_CHECKING:
    from .torch import DataLoader

__all__ = ["DataConfig", "Shard", "Source"]

Format = Literal["default", "numpy", "pandas", "pyarrow"]

_OF_A_WORKER = {
    "batch_size": "give it to iter_torch_batches, iter_batches or loader of the shard",
    "rank": "Ray Train says which rank a worker is",
    "world_size": "Ray Train says how many workers there are",
    "mesh": "give replication, or make a shardfeed.torch.DataLoader in the loop",
}
_IN_OUR_WORDS = {
    "local_shuffle_buffer_size": "rows come shuffled: give shuffle_buffer to the Source",
    "local_shuffle_seed": "give seed to the Source",
    "dtypes": "give cast to the Source, as in cast={'label': 'float32'}",
}
_NOT_OFFERED = {
    "materialize": "the data is streamed in each epoch, and cached on the node's disk",
    "to_tf": "use iter_batches(batch_format='numpy')",
    "iter_tf_batches": "use iter_batches(batch_format='numpy')",
    "iter_jax_batches": "use iter_batches(batch_format='numpy') and jax.device_put",
    "to_torch": "use iter_torch_batches",
}


@documented
class Source:
    """A data set for Ray Train, by its arguments. It is opened in the workers, not before.

    Args:
        uri (str, Path, or list of them): what to read, as the uri of a
            :class:`shardfeed.StreamingDataset`. It is left out if sources is given.
        options: the other arguments of a data set, such as columns, filters, seed or
            shuffle_buffer, except for batch_size, rank, world_size and mesh.
    """

    def __init__(self, uri: Address | None = None, **options: Any) -> None:
        known = [name for name in _arguments.names(StreamingDataset.__init__) if name not in _OF_A_WORKER]
        if uri is None and "sources" not in options:
            raise TypeError("Source needs uri: an address such as 's3://bucket/path', a path, or a list of them")
        if theirs := [name for name in options if name in _OF_A_WORKER]:
            raise TypeError("\n".join(f"Source takes no {name}: {_OF_A_WORKER[name]}" for name in theirs))
        if unknown := [name for name in options if name not in known]:
            raise TypeError(_arguments.unknown_arguments("Source", unknown, known))
        self.uri, self.options = uri, options
        self.name: str | None = None

    def set_name(self, name: str) -> None:
        """Takes the name that the trainer gives the data set."""
        self.name = name

    def copy(self, *_: Any) -> Any:
        """Ray's own DataConfig comes here with what it takes for a data set of Ray."""
        raise OptionError("a shardfeed.ray.Source needs dataset_config=shardfeed.ray.DataConfig() beside datasets of the trainer")

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items() if name != "storage_options")
        uri = self.uri if isinstance(self.uri, (list, tuple)) or self.uri is None else _redact.address(str(self.uri))
        return f"Source({uri!r}{options})"


class DataConfig(ray.train.DataConfig):
    """Hands each worker its :class:`Shard` of each :class:`Source`. Data sets of Ray beside them go
    Ray's way.

    A source that ``datasets_to_split`` leaves out is read whole by every worker.
    """

    def configure(
        self,
        datasets: Mapping[str, Any],
        world_size: int,
        worker_handles: Any,
        worker_node_ids: Any,
        **more: Any,
    ) -> list[dict[str, Any]]:
        theirs = {name: data for name, data in datasets.items() if not isinstance(data, Source)}
        output: list[dict[str, Any]] = [{} for _ in range(world_size)]
        if theirs:
            output = super().configure(theirs, world_size, worker_handles, worker_node_ids, **more)
        for name, source in datasets.items():
            if name in theirs:
                continue
            split = self._datasets_to_split == "all" or name in self._datasets_to_split
            for rank in range(world_size):
                output[rank][name] = Shard(source, rank, world_size) if split else Shard(source, 0, 1)
        return output


@documented
class Shard:
    """A worker's share of a :class:`Source`, with the methods that training loops call on Ray's.

    Each loop over what an ``iter_`` method returns is the next epoch. One that is left early has
    used up its epoch. ``batch_size`` and the like may change from one to the next.
    """

    def __init__(self, source: Source, rank: int, world_size: int) -> None:
        self.source, self.rank, self.world_size = source, rank, world_size
        self._reader: DataLoader[Any] | StreamingDataset[Any] | None = None
        self._made: tuple[str, dict[str, Any]] = "", {}  # what the reader was made of
        self._state: Mapping[str, Any] | None = None  # the start of the next reader

    def iter_torch_batches(
        self,
        *,
        prefetch_batches: int = 2,
        batch_size: int = 256,
        dtypes: None = None,
        device: Any = "auto",
        collate_fn: Callable[[Any], Any] | None = None,
        drop_last: bool = False,
        local_shuffle_buffer_size: None = None,
        local_shuffle_seed: None = None,
        pin_memory: bool | None = None,
    ) -> Iterable[Any]:
        """An epoch of batches as dicts of tensors, on the worker's device.

        ``batch_size`` is of this worker. ``collate_fn`` gets a dict of tensors, where Ray's gets
        arrays. The last batches
        are padded unless drop_last is set, so that all workers make the same number of steps: see
        ``tail`` and ``with_row_valid``.
        """
        _in_our_words(dtypes=dtypes, local_shuffle_buffer_size=local_shuffle_buffer_size, local_shuffle_seed=local_shuffle_seed)
        if any(kind.__module__ == "ray.data.collate_fn" for kind in type(collate_fn).__mro__):
            raise OptionError(f"collate_fn must be a function of a dict of tensors, got Ray's {type(collate_fn).__name__}")
        options = {"batch_size": batch_size, "prefetch": prefetch_batches, "device": device, "collate_fn": collate_fn}
        options |= {"pin_memory": pin_memory or None, **({"drop_last": True} if drop_last else {})}
        self.loader(**options)  # raises what is wrong with them
        return _Epochs(lambda: iter(self.loader(**options)))

    def iter_batches(
        self,
        *,
        prefetch_batches: int = 2,
        batch_size: int = 256,
        batch_format: Format | None = "default",
        drop_last: bool = False,
        local_shuffle_buffer_size: None = None,
        local_shuffle_seed: None = None,
    ) -> Iterable[Any]:
        """An epoch of batches as dicts of arrays, pandas frames or Arrow tables, in memory of their
        own and without padding: the last batch may be shorter, or empty.

        The engine makes batches ahead whatever prefetch_batches says.
        """
        _in_our_words(local_shuffle_buffer_size=local_shuffle_buffer_size, local_shuffle_seed=local_shuffle_seed)
        make = _FORMATS.get(batch_format or "default")
        if make is None:
            raise OptionError(f"batch_format must be one of {', '.join(map(repr, _FORMATS))}, {got(batch_format)}")
        options = {"batch_size": batch_size, **({"drop_last": True} if drop_last else {})}
        self._arrays(**options)
        return _Epochs(lambda: self._arrays(**options)._iterate(Collate(make, "batch_format")))

    def iter_rows(self) -> Iterable[dict[str, Any]]:
        """An epoch of rows as dicts."""
        self._arrays(batch_size=None)
        return _Epochs(lambda: iter(self._arrays(batch_size=None)))

    def loader(self, *, batch_size: int | None = 256, **options: Any) -> DataLoader[Any]:
        """A :class:`shardfeed.torch.DataLoader` over this share, with further arguments of it, such
        as num_workers or threads.

        The same arguments give the same loader. Others give another one, which continues where the
        last one stopped.
        """
        from .torch import DataLoader

        return self._use("loader", {"batch_size": batch_size, **options}, DataLoader)

    def state_dict(self) -> dict[str, Any]:
        """The position of the training after the last batch: JSON types, the same on every worker.

        Give it to ``ray.train.report`` in a checkpoint. It continues on any number of workers.
        """
        if self._reader is None:
            return dict(self._state) if self._state is not None else self.loader().state_dict()
        return self._reader.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Makes the next iteration continue where a state was taken."""
        self._state = state_dict
        if self._reader is not None:
            self._reader.load_state_dict(state_dict)

    @property
    def schema(self) -> Schema:
        """The columns of the batches, with their dtypes."""
        return self._any().schema

    @property
    def size(self) -> int:
        """Rows of an epoch, over all workers."""
        return self._any().size

    def __len__(self) -> int:
        """Batches of a whole epoch on this worker, of the batch size that was used last."""
        return len(self._any())

    def manifest(self) -> dict[str, Any]:
        """The list of the shards that are read, for the argument ``manifest`` of a later run.

        See :meth:`shardfeed.StreamingDataset.manifest`.
        """
        return self._any().manifest()

    def stats(self) -> Stats:
        """Figures of this worker's stream, by the names of ``shardfeed bench --json``."""
        return self._any().stats()

    def trace(self, path: str | PathLike[str], *, steps: int | None = None) -> Trace:
        """Writes what its batches wait for as a timeline, for ``ui.perfetto.dev``.

        See :meth:`shardfeed.StreamingDataset.trace`.
        """
        trace: Trace = self._any().trace(path, steps=steps)
        return trace

    def verdict(self, *, epoch: bool = False) -> Verdict:
        """Explains how long the training waits for data, for what, on which worker, and what to change.

        See :meth:`shardfeed.StreamingDataset.verdict`.
        """
        found: Verdict = self._any().verdict(epoch=epoch)
        return found

    def __getattr__(self, name: str) -> Any:
        hint = f": {_NOT_OFFERED[name]}" if name in _NOT_OFFERED else ""
        raise AttributeError(f"a shard of shardfeed has no {name}{hint}")

    def __repr__(self) -> str:
        return f"Shard({self.source!r}, rank {self.rank} of {self.world_size})"

    def _any(self) -> Any:
        return self.loader() if self._reader is None else self._reader

    def _arrays(self, **options: Any) -> Any:
        return self._use("arrays", options, StreamingDataset)

    def _use(self, kind: str, options: dict[str, Any], make: Callable[..., Any]) -> Any:
        """The reader of a kind with these arguments; another one continues where the last one stopped."""
        if self._reader is not None and self._made == (kind, options):
            return self._reader
        if self._reader is not None:
            self._state = self._reader.state_dict()
            getattr(self._reader, "close", lambda: None)()
        self._reader, self._made = None, ("", {})
        place = {"rank": self.rank, "world_size": self.world_size}
        reader = make(self.source.uri, **{**self.source.options, **place, **options})
        if self._state is not None:
            reader.load_state_dict(self._state)
        self._reader, self._made = reader, (kind, options)
        return reader


class _Epochs:
    """An iterable that starts the next epoch at each iteration, as Ray's iterables do."""

    def __init__(self, begin: Callable[[], Iterator[Any]]) -> None:
        self._begin = begin

    def __iter__(self) -> Iterator[Any]:
        return self._begin()


def _in_our_words(**theirs: Any) -> None:
    """Refuses arguments of Ray's methods that belong to the data set here."""
    if given := [f"{name}: {_IN_OUR_WORDS[name]}" for name, value in theirs.items() if value is not None]:
        raise OptionError("; ".join(given))


def _arrow(batch: Any) -> Any:
    import pyarrow as pa

    own = batch.copy()
    table = pa.Table.from_batches([own.to_arrow()])
    table = table.drop_columns("_row_valid") if "_row_valid" in table.column_names else table
    return table if own.row_valid.all() else table.filter(pa.array(own.row_valid))


def _numpy(batch: Any) -> dict[str, Any]:
    """Numbers as arrays; strings, binary values, lists and structs as arrays of objects."""
    real = batch.row_valid
    return {name: values[real] if isinstance(values, np.ndarray) else _objects(values)[real] for name, values in batch.items()}


def _objects(values: Any) -> np.ndarray:
    rows = column_to_list(values)
    found = np.empty(len(rows), object)
    found[:] = rows
    return found


_FORMATS: dict[str, Callable[[Any], Any]] = {
    "default": _numpy,
    "numpy": _numpy,
    "pandas": lambda batch: _arrow(batch).to_pandas(),
    "pyarrow": _arrow,
}
