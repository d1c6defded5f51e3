"""Errors that shardfeed raises.

All of them are a ShardfeedError. Where Python has a class for what happened (ValueError, FileNotFoundError, PermissionError, TimeoutError,
ConnectionError), the error is one of that class too. The text is whole: it names the shard, the row group, the column and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = [
    "AccessError",
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
]


class ShardfeedError(Exception):
    """What went wrong, with where it did. It has one argument, so it survives pickling and torch's workers."""

    op: str = ""
    shard: str = ""  # URI
    row_group: int | None = None
    column: str = ""
    hint: str = ""
    step: int | None = None  # of the epoch
    details: tuple[str, ...] = ()


class OptionError(ShardfeedError, ValueError):
    """An option that cannot be meant."""


class NotFoundError(ShardfeedError, FileNotFoundError):
    """No such address, or no shards under it."""


class AccessError(ShardfeedError, PermissionError):
    """The storage does not let these credentials in."""


class DataError(ShardfeedError):
    """A shard that cannot be read, is damaged, or was changed while it was in use."""


class SchemaError(ShardfeedError):
    """A column that is not there, or shards that do not fit together."""


class MemoryLimitError(ShardfeedError):
    """A stream that does not fit into its memory."""


class StateError(ShardfeedError):
    """A state or a plan that does not fit the data."""


class StorageError(ShardfeedError):
    """A server or a disk that failed."""


class RankMismatchError(ShardfeedError):
    """Ranks that would not read the same order."""


class FeedTimeoutError(ShardfeedError, TimeoutError):
    """A wait that took longer than it may."""


class ProtocolError(ShardfeedError):
    """A message that should not have come."""


class EngineError(ShardfeedError):
    """The engine failed in itself."""


class EngineStartError(EngineError):
    """The engine could not be started. The text ends with the engine's own words."""


class EngineGone(EngineError, ConnectionError):
    """The engine ended while it was in use. The text names its log file and ends with the log's last lines."""

    log: str = ""


class ForkError(ShardfeedError, RuntimeError):
    """Something of the parent process was used in a child that fork made."""


def nearer(error: ShardfeedError) -> ShardfeedError:
    """Returns an error to be raised anew, without the frames through which it came, so that the user's line stands near it.

    Its text says where in the data it happened. A breach of the protocol, which is a fault of this package, keeps its frames.
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
    """Returns the error that an ERROR message of the engine means."""
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
