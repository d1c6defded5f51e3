"""MapDataset: rows of parquet by number."""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _html, _manifest, _redact
from ._args import _checks
from ._args._arguments import checked
from ._args._checks import Problems
from ._args._locate import RowPlace
from ._args._types import Address
from ._batch import Batch, marked_rows
from ._columns import _take
from ._columns._layout import Layout
from ._columns._nulls import NullWatch
from ._columns._schema import Schema
from ._documented import documented
from ._engine import _now, _rank
from ._engine._connected import agreement, opening
from ._engine._connection import Connection
from ._engine._process import Engine
from ._engine._raw_batch import RawBatch
from ._keywords import MapOptions
from ._options import Options
from ._turn import Turn
from ._warn import ShardfeedWarning, warn
from .errors import DataError, ShardfeedError, nearer

if TYPE_CHECKING:
    from typing_extensions import Unpack

log = logging.getLogger("shardfeed")

Row = dict[str, Any]


class Rows(Sequence[Row]):
    """The rows of a batch as dicts, made when the first is asked for. ``batch`` has the columns."""

    def __init__(self, batch: Batch, rows_of: Callable[[Batch], Iterator[Row]] = Batch.to_rows) -> None:
        self.batch = batch
        self._rows_of = rows_of
        self._rows: list[Row] | None = None

    def __len__(self) -> int:
        return self.batch.rows

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    def __getitem__(self, index: Any) -> Any:
        if self._rows is None:
            self._rows = list(self._rows_of(self.batch))
        return self._rows[index]


@documented
class MapDataset:
    """Rows of parquet shards by number: a map-style data set, for samplers of your own, debugging,
    and joins.

    ``len(ds)`` is the number of rows, and rows are numbered in the order of the files. ``ds[7]`` is
    a dict, ``ds[-1]`` the last row. ``ds[[3, 1, 3]]``, ``ds[10:20]``, numpy arrays and tensors give
    a :class:`Batch` of these rows in this order.

    Whole units of rows, such as row groups, are decoded and kept in ``memory``, the least recently
    used ones making room. All processes of this machine that read the same data share them. So this
    is for data that fits in memory when it is decoded. For training over all rows of larger data
    use :class:`StreamingDataset`.

    Give it to :class:`shardfeed.torch.DataLoader`, or to torch's DataLoader.

    Args:
        uri (str, Path, or list of them): what to read: an address such as
            ``s3://bucket/table/dt=*/`` or ``hdfs://namenode/table``, or a path. Globs and ``{a,b}``
            are expanded.
        columns (list of str, default None): names, dotted paths or patterns ("num_*") of the
            columns. None reads all. Columns of ``stack`` are read in any case.
        filters, parts, part, part_key, part_seed, subsample, rows, rows_new: as in
            StreamingDataset. The rows that they keep are numbered.
        row_ids (bool, default False): add the columns ``"_row"``, the number of the row in the list
            of shards, before any are left out, and ``"source"``, the number of its address.
        memory (int or str, default None): limit of decoded rows on this machine in bytes, or with a
            unit ("4GiB"). None is a quarter of the machine's memory.
        cache, cache_dir, cache_limit, cache_policy, decoded_limit, index_dir, storage_options: as
            in StreamingDataset. What is kept decoded is read; streams and warm keep it.
        null, pad, max_length, vocabulary, unknown, tokenize, cast, hash, scale, stack: as in
            StreamingDataset.
        images, boxes, image_decoder: as in StreamingDataset. Random crops, flips and colors of a row
            are drawn for epoch 0, until :meth:`set_epoch`. shardfeed.torch.DataLoader sets the epoch.
        on_error ("raise", "mask" or "skip", default "raise"): what to do about rows whose data is
            corrupt, gone or changed, or whose image cannot be decoded. "skip" leaves them out, so
            that a batch has fewer rows; a request for one row is an error then. "mask" moves
            them behind the others and marks them: ``row_valid`` of a batch, ``"_row_valid"`` of a
            row and of batches of tensors is False for them. Their number has no limit: the first
            is logged, then their number.
        snapshot, manifest, strict, missing, partition_types, invalid_utf8: as in StreamingDataset.
        unit_rows (int, default None): the most rows that are decoded together. None follows from
            the data.
        slots (int, default None): batches that may be ready or held at once, at least 2. None is by
            the machine.
        collate_workers (int, default None): goroutines that make batches. None is by the machine.
        timeout (float, default 600): seconds of any wait for the engine before FeedTimeoutError.
            None has no limit.
    """

    @checked(MapOptions, required=None)
    def __init__(self, uri: Address, **options: Unpack[MapOptions]) -> None:
        problems = Problems()
        self._spec = Options(uri, 1, shuffle=False, **options).spec(problems)
        self._timeout = problems.of(_checks.seconds, "timeout", options["timeout"])
        problems.report()
        self._id = uuid.uuid4().hex
        self._job = _rank.job()
        self._agree = agreement()
        self._opened: dict[str, Any] | None = None
        self._mapped: dict[str, Any] = {}
        self._epoch = 0  # of random crops
        self._forget()
        with self._turn.lock:
            self._opened = self._control().opened
        self._spec = _now.opened(self._spec, self._opened)
        self._tell()

    def _forget(self) -> None:
        """Starts without connections, as a copy in another process does."""
        self._pid = os.getpid()
        self._turn = Turn()
        self._connection: Connection | None = None
        self._schema: Schema | None = None
        self._layouts: dict[tuple[bool, bool], tuple[Layout, NullWatch]] = {}

    def _tell(self) -> None:
        """Logs the warnings about the data, and how much of it the memory holds."""
        assert self._opened is not None
        for warning in self._opened.get("warnings") or ():
            log.warning("%s", warning)
        for note in self._opened.get("files") or ():
            warn(f"shardfeed: {note}", ShardfeedWarning)
        for note in self._opened.get("info") or ():
            log.info("%s", note)
        memory, decoded = int(self._mapped["memory"]), int(self._mapped["decoded"])
        log.info("%d rows by number, %s", len(self), self._held())
        if memory * 2 < decoded:
            warn(
                f"shardfeed: memory has room for {_bytes(memory)} of the {_bytes(decoded)} that the rows take when they are decoded, so "
                "they are decoded again and again: raise memory, read fewer columns, or use StreamingDataset to train on all rows",
                ShardfeedWarning,
            )

    @property
    def schema(self) -> Schema:
        """The columns of the batches, with their dtypes."""
        if self._schema is None:
            self._schema = Schema.from_json(self._mapped["schema"])
        return self._schema

    def __len__(self) -> int:
        return int(self._mapped["rows"])

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: Any) -> Any: ...

    def __getitem__(self, index: Any) -> Any:
        rows = _take.resolve(index, len(self), "data set")
        if isinstance(rows, int):
            return next(self._rows_of(self._some(np.array([rows]))))
        return self._batch(np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows)

    def __getitems__(self, indices: Sequence[int]) -> Rows:
        """The rows of these numbers as a sequence of dicts, for torch's DataLoader."""
        return Rows(self._some(self._numbers(indices)), self._rows_of)

    def __iter__(self) -> Iterator[Row]:
        for first in range(0, len(self), _ITERATED):
            yield from self._rows_of(self[first : first + _ITERATED])

    def set_epoch(self, epoch: int) -> None:
        """Gives rows the random crops, flips and colors of an epoch. It changes nothing else.

        Copies in other processes, such as torch's workers, keep the epoch with which they were made.
        """
        self._epoch = _checks.epoch(epoch)

    def locate(self, index: int) -> RowPlace:
        """The path of the shard, the row group and the row in it of a row by number."""
        row = _take.resolve(index, len(self), "data set")
        if not isinstance(row, int):
            raise IndexError("locate takes the number of one row")
        self._after_fork()
        with self._turn.lock:
            place = self._control().map(locate=[row])["places"][0]
        return RowPlace(place["path"], int(place["row_group"]), int(place["row"]))

    def manifest(self) -> dict[str, Any]:
        """The list of the shards that are read, for the argument ``manifest`` of a later run.

        See :meth:`StreamingDataset.manifest`.
        """
        return _manifest.of_session(self._session(manifest=True))

    def _session(self, **what: Any) -> dict[str, Any]:
        """The answer to a request without rows."""
        self._after_fork()
        with self._turn.lock:
            return self._control().ask(rank=0, world_size=1, **what)

    def _numbers(self, indices: Any) -> np.ndarray:
        """Row numbers of a list of any kind."""
        rows = _take.resolve(indices if isinstance(indices, np.ndarray) else np.asarray(indices), len(self), "data set")
        assert isinstance(rows, np.ndarray)
        return rows

    def _batch(self, rows: np.ndarray) -> Batch:
        layout, nulls = self._laid_out(plain=False)
        raw = self._raw(rows)
        nulls.see(raw.nodes)
        return Batch(raw, layout, {})

    def _some(self, rows: np.ndarray) -> Batch:
        """The batch of these rows, of which one is left at least: torch collates no empty list."""
        batch = self._batch(rows)
        if len(rows) and not batch.rows:
            raise DataError(f"rows {rows.tolist()[:3]} of {len(rows)} are lost, and no other row is asked for: {_SHOWN}")
        return batch

    @property
    def _masks(self) -> bool:
        return bool(self._spec["on_error"] == "mask")

    @property
    def _rows_of(self) -> Callable[[Batch], Iterator[Row]]:
        return marked_rows if self._masks else Batch.to_rows

    def _raw(self, rows: np.ndarray, epoch: int | None = None) -> RawBatch:
        """The rows of these numbers, which exist, as they are in an epoch."""
        self._after_fork()
        with self._turn.lock:
            connection = self._control()
            try:
                self._begin(connection, self._epoch if epoch is None else epoch)
                return connection.rows(rows)
            except ShardfeedError as e:
                raise nearer(e)  # noqa: B904 - the same error

    def _laid_out(self, *, plain: bool, files: Sequence[Mapping[str, Any]] | None = None) -> tuple[Layout, NullWatch]:
        """The layout of batches. All batches share it, so that each warning comes once. files is the
        schema of batches with files for a device.
        """
        key = plain, files is not None
        if key not in self._layouts:
            layout = Layout(self.schema if files is None else Schema.from_json(files), plain=plain)
            nulls = NullWatch(layout.schema, set(self._spec["null"]), {p["column"] for p in self._spec["pad"]}, tensors=plain)
            layout.watch = None if plain else nulls
            self._layouts[key] = layout, nulls
        return self._layouts[key]

    # Connections

    def _control(self) -> Connection:
        """The connection of this process, which the holder of the turn uses."""
        if self._connection is None or not self._connection.usable:
            self._connection, self._mapped = self._connect()
        return self._connection

    def _connect(self, **how: Any) -> tuple[Connection, dict[str, Any]]:
        """A new connection, and the engine's answer. how are members of Map."""
        what = {"dataset": self._id, "opening": opening(self._agree), "spec": self._spec}
        connection = Connection(Engine(self._job), what, timeout=self._timeout, before=self._opened)
        try:
            return connection, connection.map(**how)
        except BaseException:
            connection.close()
            raise

    def _begin(self, connection: Connection, epoch: int) -> None:
        """Selects the epoch of a connection's next rows. No rows may be asked for yet."""
        if self._spec["images"] and connection.map_epoch != epoch:
            connection.map(epoch=epoch)

    def _after_fork(self) -> None:
        if self._pid != os.getpid():
            self._forget()

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("_spec", "_timeout", "_id", "_job", "_agree", "_opened", "_mapped", "_epoch")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def __repr__(self) -> str:
        addresses = self._spec["addresses"]
        more = f" and {len(addresses) - 1} more" if len(addresses) > 1 else ""
        return f"MapDataset({_redact.address(addresses[0])!r}{more}: {len(self)} rows, {self._held()})"

    def _held(self) -> str:
        """How much the rows take, and how much of it the memory holds."""
        memory, decoded = int(self._mapped["memory"]), int(self._mapped["decoded"])
        return f"{_bytes(decoded)} decoded, {'all in memory' if memory >= decoded else f'{_bytes(memory)} of it in memory'}"

    def _repr_html_(self) -> str:
        return _html.facts("MapDataset", self._facts()) + self.schema._repr_html_()

    def _facts(self) -> list[tuple[str, object]]:
        """What a notebook shows of the data set."""
        addresses = ", ".join(_redact.address(a) for a in self._spec["addresses"][:3])
        return [("addresses", addresses), ("rows", len(self)), ("size", self._held()), *_html.images(self._spec["images"])]


_SHOWN = "on_error='skip' leaves lost rows out, on_error='raise' raises the error of the first"
_ITERATED = 256  # rows that an iteration asks for at once


def _bytes(n: int) -> str:
    """A number of bytes for people."""
    size, unit = float(n), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.1f} {unit}" if unit != "B" else f"{n} B"
