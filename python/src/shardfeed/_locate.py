"""Where a row lies."""

from __future__ import annotations

from typing import Any, NamedTuple

from ._checks import got, is_whole
from .errors import OptionError


class RowPlace(NamedTuple):
    """A row of a shard."""

    path: str  # address of the shard
    row_group: int  # in the shard, from 0
    row: int  # in the row group, from 0


def number(row: Any, rows: int) -> int:
    """The number of one of so many rows."""
    if not is_whole(row) or not 0 <= row < rows:
        raise OptionError(f"locate needs the number of a row, from 0 to {rows - 1}, {got(row)}")
    return int(row)
