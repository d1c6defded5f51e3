"""The place of a row in its shard."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..errors import OptionError
from ._checks import got, is_whole


class RowPlace(NamedTuple):
    """A row of a shard."""

    path: str  # address of the shard
    row_group: int  # in the shard, from 0
    row: int  # in the row group, from 0


def number(row: Any) -> int:
    """The number of a row. The engine knows how many there are."""
    if not is_whole(row) or not 0 <= row < 2**63:
        raise OptionError(f"locate needs the number of a row, a whole number from 0 on, {got(row)}")
    return int(row)
