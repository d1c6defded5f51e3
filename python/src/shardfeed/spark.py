"""Spark: a DataFrame written once as parquet that streams well.

::

    data = shardfeed.spark.convert(frame, "hdfs:///cache")
    loader = shardfeed.torch.DataLoader(data.uri, batch_size=256, seed=7)

in the driver and in the function that TorchDistributor runs. The same frame is written once, over all
runs.
"""

from __future__ import annotations

import contextlib
import json
import re
import threading
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ._args._checks import Problems, flag, got
from ._args._sizes import parse
from ._args._types import Path
from ._documented import documented
from ._spark import _files, _plan, _types
from ._spark._files import Folder
from .errors import OptionError, StorageError

__all__ = ["Converted", "convert"]

_PROOF = "_SUCCESS"
_RECORD = "_shardfeed.json"
_OWN = re.compile(r"part-|_SUCCESS$|_started_|_committed_|_temporary$")

# parquet-mr's names. The page index is written with the pages.
_OPTIONS = {
    "compression": "zstd",
    "parquet.page.size": 256 << 10,
    "parquet.page.row.count.limit": 20_000,
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "true",
}
# Settings that only a session takes, for the time of a write.
_SETTINGS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
}
_set = threading.Lock()


@documented
@dataclass(frozen=True)
class Converted:
    """A DataFrame that is written. It can be pickled, so a function that Spark runs may take it.

    Attributes:
        uri: the address for :class:`shardfeed.StreamingDataset`, such as ``s3://`` for ``s3a://``.
        rows: their number, which ``len()`` gives too.
        bytes: the size of the files.
        directory: where Spark has all that belongs to this frame.
        written: whether this call wrote it. False when it was there.
    """

    uri: str
    rows: int
    bytes: int
    directory: str
    written: bool

    def __len__(self) -> int:
        return self.rows

    def delete(self) -> None:
        """Removes what convert wrote for this frame, in killed runs too. Other files stay.

        It is called in the driver, where a Spark session runs, and not while another run converts
        this frame or trains on it.
        """
        directory = Folder(_session(), self.directory)
        for attempt in _attempts(directory):
            _remove(attempt)
        directory.remove_empty()


def convert(
    frame: Any,
    uri: Path,
    *,
    columns: Sequence[str] | None = None,
    row_group_bytes: str | int = "64MiB",
    shuffle_rows: bool = False,
    version: str | None = None,
) -> Converted:
    """Writes a DataFrame as parquet below uri, once: a frame with the same plan, over the same files
    and with the same options is found again, in this run and in later ones.

    Vectors of pyspark.ml become lists of float32. The files have zstd, a page index and timestamps
    in microseconds.

    Args:
        frame: a DataFrame of Spark.
        uri: a directory that the driver, the executors and training reach, as in ``hdfs:///cache``
            or ``s3a://bucket/cache``. The frame gets a directory of its own below it.
        columns: names of the columns to write; all without it.
        row_group_bytes: the size of a row group, as parquet-mr counts it.
        shuffle_rows: sort the rows by a hash of them, which mixes them well for any shuffle_buffer.
            It costs one shuffle of Spark.
        version: what the rows depend on and Spark does not know, such as a snapshot's or a model's
            number. Without it, frames from memory, databases or functions in Python and Scala
            are found again only in the same Spark application.
    """
    found = Problems()
    size = found.of(parse, "row_group_bytes", row_group_bytes, "'64MiB'")
    found.of(flag, "shuffle_rows", shuffle_rows)
    found.of(_text, "version", version)
    address = found.of(_files.given, uri)
    frame = found.of(_types.frame_of, frame)
    found.report()
    assert size is not None and address is not None
    frame = _types.chosen(frame, columns)
    base = Folder(frame.sparkSession, address)
    _files.readable(base.address)
    plan = _types.with_arrays(frame)
    plan = _types.shuffled(plan) if shuffle_rows else plan
    name = _plan.name(frame, version, row_group_bytes=size[0], shuffle_rows=bool(shuffle_rows))
    directory = base.below(name)
    if there := _first(directory):
        return _converted(directory, there, written=False)
    attempt = _write(plan, directory, size[0])
    there = _first(directory) or attempt
    if there.name != attempt.name:  # another driver was earlier
        _remove(directory.below(attempt.name))
    return _converted(directory, there, written=there.name == attempt.name)


class _Done(NamedTuple):
    """A write that is complete."""

    modified: int
    name: str
    rows: int
    bytes: int


def _converted(directory: Folder, done: _Done, written: bool) -> Converted:
    uri = _files.readable(f"{directory.address}/{done.name}")
    return Converted(uri, done.rows, done.bytes, directory.address, written)


def _first(directory: Folder) -> _Done | None:
    """The write that was complete first. Every driver takes this one."""
    return min((done for attempt in _attempts(directory) if (done := _done(attempt))), default=None)


def _attempts(directory: Folder) -> Iterator[Folder]:
    """The directories in which convert wrote this frame, or began to."""
    for file in directory.list():
        if file.is_directory:
            attempt = directory.below(file.name)
            if _record(attempt).get("name") == directory.name:
                yield attempt


def _record(attempt: Folder) -> dict[str, Any]:
    """What convert notes beside the files; empty in a directory that is not its own."""
    with contextlib.suppress(ValueError):
        record = json.loads(attempt.read(_RECORD) or "{}")
        return record if isinstance(record, dict) else {}
    return {}


def _done(attempt: Folder) -> _Done | None:
    """A write is complete when Spark says it, and its rows were counted."""
    record, files = _record(attempt), {file.name: file for file in attempt.list()}
    if _PROOF not in files or "rows" not in record:
        return None
    return _Done(files[_RECORD].modified, attempt.name, record["rows"], record["bytes"])


def _write(frame: Any, directory: Folder, row_group_bytes: int) -> _Done:
    """Writes into a directory of its own, apart from other drivers. A failure leaves nothing behind."""
    attempt = directory.below(uuid.uuid4().hex[:12])
    record = {"name": directory.name, "application": frame.sparkSession.sparkContext.applicationId}
    attempt.write(_RECORD, json.dumps(record))
    try:
        rows = _written(frame, attempt, row_group_bytes)
        size = sum(file.size for file in attempt.list() if file.name.startswith("part-"))
        attempt.write(_RECORD, json.dumps({**record, "rows": rows, "bytes": size}))
    except BaseException:
        with contextlib.suppress(Exception):
            _remove(attempt)
            directory.remove_empty()
        raise
    return _Done(0, attempt.name, rows, size)


def _written(frame: Any, attempt: Folder, row_group_bytes: int) -> int:
    """Writes the files and returns their rows. The driver must see what the executors wrote."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    session, seen = frame.sparkSession, Observation()
    writer = frame.observe(seen, f.count(f.lit(1)).alias("rows")).write.mode("append")
    with _settings(session):
        writer.options(**_OPTIONS).option("parquet.block.size", row_group_bytes).parquet(attempt.address)
    wrote, rows = seen.get["rows"], session.read.schema(frame.schema).parquet(attempt.address).count()
    if rows != wrote:
        raise StorageError(
            f"{attempt.address}: Spark wrote {wrote:,} rows and {rows:,} are there; give an address that driver and executors share, "
            "not a disk of each machine"
        )
    return rows


@contextlib.contextmanager
def _settings(session: Any) -> Iterator[None]:
    """Changes a session for a write. Writes of several threads wait for each other."""
    with _set:
        before = {key: session.conf.get(key, None) for key in _SETTINGS}
        try:
            for key, value in _SETTINGS.items():
                session.conf.set(key, value)
            yield
        finally:
            for key, old in before.items():
                session.conf.unset(key) if old is None else session.conf.set(key, old)


def _remove(attempt: Folder) -> None:
    """Removes the files of a write, in an order that leaves it recognisably ours and incomplete."""
    files = [file.name for file in attempt.list() if _OWN.match(file.name)]
    for name in [*sorted(files, key=lambda name: name != _PROOF), _RECORD]:
        attempt.remove(name)
    attempt.remove_empty()


def _session() -> Any:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is None:
        raise OptionError("delete needs a Spark session in this process: call it in the driver, before spark.stop()")
    return SparkSession.active()


def _text(name: str, value: Any) -> None:
    if value is not None and (not isinstance(value, str) or not value):
        raise OptionError(f"{name} must be a text, as in '2026-11-24', {got(value)}")
