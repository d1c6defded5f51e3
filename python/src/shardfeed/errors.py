"""Errors that shardfeed raises.

All are a ShardfeedError. Where Python has a class for the case (ValueError, KeyError,
FileNotFoundError, PermissionError, TimeoutError, ConnectionError), the error is of that class too.
The text names the shard, the row group and the column, and suggests a remedy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._printable import printable

__all__ = [
    "AccessError",
    "ColumnError",
    "DataError",
    "EngineError",
    "EngineGone",
    "EngineStartError",
    "FeedTimeoutError",
    "ForkError",
    "MemoryLimitError",
    "NotFoundError",
    "OptionError",
    "ProtocolError",
    "RankMismatchError",
    "SchemaError",
    "ShardfeedError",
    "StateError",
    "StorageError",
    "WorkerError",
]


class ShardfeedError(Exception):
    """What failed, and where.

    It has one argument, so that it survives pickling and torch's workers.
    """

    op: str = ""
    shard: str = ""  # URI
    row_group: int | None = None
    column: str = ""
    hint: str = ""
    step: int | None = None  # of the epoch
    details: tuple[str, ...] = ()

    def __init__(self, *args: object) -> None:
        """Makes the error of a text. This package raises it; see the class for when."""
        super().__init__(*args)

    def __str__(self) -> str:
        return printable(Exception.__str__(self))


class OptionError(ShardfeedError, ValueError):
    """An argument that is not allowed."""


class NotFoundError(ShardfeedError, FileNotFoundError):
    """An address that does not exist, or has no shards."""


class AccessError(ShardfeedError, PermissionError):
    """The storage refuses these credentials."""


class DataError(ShardfeedError):
    """A shard that cannot be read, is damaged, or changed while it was in use."""


class SchemaError(ShardfeedError):
    """A column that is missing, or shards whose columns do not match."""


class ColumnError(SchemaError, KeyError):
    """A key that is not the name of a column."""

    __str__ = ShardfeedError.__str__  # a KeyError shows the repr of its text


class MemoryLimitError(ShardfeedError):
    """A stream that does not fit into its memory limit."""


class StateError(ShardfeedError):
    """A state or a plan that does not fit the data."""


class StorageError(ShardfeedError):
    """A server or a disk that failed."""


class RankMismatchError(ShardfeedError):
    """Ranks that would read different orders."""


class FeedTimeoutError(ShardfeedError, TimeoutError):
    """A wait that took longer than its timeout."""


class ProtocolError(ShardfeedError):
    """A message of the engine that breaks the protocol."""


class EngineError(ShardfeedError):
    """The engine failed."""


class EngineStartError(EngineError):
    """The engine could not be started. The text ends with the engine's output."""


class EngineGone(EngineError, ConnectionError):
    """The engine ended while it was in use.

    The text names its log file and ends with the log's last lines.
    """

    log: str = ""


class WorkerError(ShardfeedError, RuntimeError):
    """A worker process that ended before its loader did, or could not start."""


class ForkError(ShardfeedError, RuntimeError):
    """An object of the parent process was used in a forked child."""


def nearer(error: ShardfeedError) -> ShardfeedError:
    """Returns the error without the frames it came through, so that the user's line is near it.

    Its text has the place in the data. A ProtocolError, which is a bug in this package,
    keeps its frames.
    """
    return error if isinstance(error, ProtocolError) else error.with_traceback(None)


_KINDS: dict[str, type[ShardfeedError]] = {
    "value": OptionError,
    "notfound": NotFoundError,
    "access": AccessError,
    "data": DataError,
    "schema": SchemaError,
    "memory": MemoryLimitError,
    "state": StateError,
    "storage": StorageError,
    "ranks": RankMismatchError,
    "timeout": FeedTimeoutError,
    "protocol": ProtocolError,
    "internal": EngineError,
}


def from_failure(failure: Mapping[str, Any]) -> ShardfeedError:
    """Returns the error for an ERROR message of the engine."""
    error = _KINDS.get(failure.get("kind", ""), EngineError)(failure.get("text") or "the engine failed and did not say why")
    error.op = failure.get("op") or ""
    error.shard = failure.get("shard") or ""
    error.column = failure.get("column") or ""
    error.hint = failure.get("hint") or ""
    error.row_group = _place(failure.get("row_group"))
    error.step = _place(failure.get("step"))
    error.details = tuple(failure.get("details") or ())
    return error


def _place(number: int | None) -> int | None:
    return None if number is None or number < 0 else number
