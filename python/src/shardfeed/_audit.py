"""The audit of epochs: what an iteration handed out, for a proof that each row came exactly once.

A sum is one integer with the numbers of delivered rows, lost rows and rows of padding, 64 bits each,
and on top the sum of the hashes. So sums of batches are added by one addition, which
an interrupt cannot cut in two.
"""

from __future__ import annotations

import logging
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

log = logging.getLogger("shardfeed")

_ROW = 1
_HASH = 192  # bits below the hash
_WORD = (1 << 64) - 1


def of_rows(total: int, hashes: memoryview, rows: int, valid: int) -> list[int]:
    """What each of the first rows of a bundle adds. hashes are the sums of the hashes up to each row
    that counts.

    Where the sums do not fit the rows, since some are lost, the last row has all.
    """
    count = len(hashes) // 8
    if count != total & _WORD or (count > rows and total >> 64 & _WORD):
        return [*[0] * (rows - 1), total] if rows else []
    sums, before = [], 0
    for (after,) in struct.iter_unpack("<Q", hashes[: 8 * min(count, rows)]):
        sums.append(_ROW | (after - before & _WORD) << _HASH)
        before = after
    sums += [0] * (rows - len(sums))
    if sums and count <= rows:
        sums[-1] += total & (_WORD << 64 | _WORD << 128)
    return sums


class Span(NamedTuple):
    """The positions of an iteration: of the epoch's first step, of its own first step, and after its
    last.
    """

    begin: int
    first: int
    end: int


class Delivery:
    """What one rank hands out of an epoch in one iteration, and what states say of the steps before.

    Records are as package audit of the engine has them.
    """

    def __init__(self, joined: Mapping[str, Any], rank: int, world_size: int, carried: Sequence[Mapping[str, Any]]) -> None:
        span = joined.get("span") or {"begin": 0, "from": 0, "to": 0}
        self.span = Span(int(span["begin"]), int(span["from"]), int(span["to"]))
        self.epoch = int(joined["epoch"])
        self.rank = rank
        self.world_size = world_size
        self.start: Mapping[str, Any] = joined.get("state") or {}
        self._before = [r for r in carried if r["epoch"] == self.epoch and r["to"] <= self.span.first]
        self._earlier = [r for r in carried if r["epoch"] == self.epoch - 1]

    def records(self, after: tuple[int, int], total: int) -> list[dict[str, Any]]:
        """The records for a state after an epoch and position, of this epoch and the one before."""
        return [*map(dict, self._earlier), *self.of_epoch(after, total)]

    def of_epoch(self, after: tuple[int, int], total: int) -> list[dict[str, Any]]:
        """The records of this epoch."""
        to = self._position(after)
        if to <= self.span.first:
            return [dict(r) for r in self._before]
        own = {
            "epoch": self.epoch,
            "world": self.world_size,
            "rank": self.rank,
            "from": self.span.first,
            "to": to,
            "rows": total & _WORD,
            "lost": total >> 64 & _WORD,
            "padded": total >> 128 & _WORD,
            "hash": f"{total >> _HASH & _WORD:016x}",
        }
        return [*map(dict, self._before), own]

    def _position(self, after: tuple[int, int]) -> int:
        """A place, as a position of this epoch."""
        epoch, position = after
        if epoch > self.epoch:
            return self.span.end
        return position if epoch == self.epoch else position - int(self.start["rows"])

    def is_over(self, after: tuple[int, int]) -> bool:
        """Whether the iteration has come to its end."""
        return self._position(after) >= self.span.end

    def request(self, number: int, after: tuple[int, int], total: int) -> dict[str, Any]:
        """Audit of the protocol, at the end of the epoch."""
        records = self.of_epoch(after, total)
        what = {"object": number, "epoch": self.epoch, "begin": self.span.begin, "to": self.span.end}
        return {**what, "state": dict(self.start), "ranks": [self.rank], "records": records}


def tell(verdict: Mapping[str, Any]) -> None:
    """Writes the verdict on an epoch into the log: one line."""
    if verdict["faults"]:
        log.warning("%s", verdict["text"])
    elif verdict["ranks"] == verdict["of_ranks"]:
        log.info("%s", verdict["text"])
