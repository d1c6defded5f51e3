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
_LOST = 1 << 64
_ALL = (1 << 256) - 1
_HASH = 192  # bits below the hash
_WORD = (1 << 64) - 1
_MOST = 8  # records of an epoch that a state carries, besides the one of its own iteration


def log_lost(rank: int, epoch: int, total: int) -> None:
    """Logs how many rows an iteration that came to its end lost, in one line."""
    rows, lost = total & _WORD, total >> 64 & _WORD
    if lost:
        log.warning("epoch %d: rank %d lost %d of %d rows: stats()['lost'] lists their places", epoch, rank, lost, rows + lost)


# A row of a bundle: its place in the batch, its step in the bundle, and what it adds to
# the audit.
Dealt = tuple[int, int, int]


def deal(total: int, beside: memoryview, rows: int, steps: int) -> list[Dealt]:
    """The rows of the first steps of a bundle, in their order. beside has the sums of the hashes up to
    each row that is valid or lost, and the places of the lost ones.

    A lost row has no row in the batch, or one that fills its place.
    """
    valid, lost = total & _WORD, total >> 64 & _WORD
    numbers = [n for (n,) in struct.iter_unpack("<Q", beside[: 8 * (valid + 2 * lost)])]
    hashes, gaps = numbers[: valid + lost], set(numbers[valid + lost :])
    dealt: list[Dealt] = []
    row, filler, before, lacking = 0, valid, 0, 0
    for step in range(steps):
        counts = own = 0  # of a step that fills the batch
        if step < len(hashes):
            counts = _LOST if step in gaps else _ROW
            own, before = counts | (hashes[step] - before & _WORD) << _HASH, hashes[step]
        if counts == _ROW:
            at, row = row, row + 1
        elif filler < rows:
            at, filler = filler, filler + 1
        else:
            lacking += own  # the next row adds it
            continue
        dealt.append((at, step, lacking + own & _ALL))
        lacking = 0
    if dealt and steps >= valid + lost:
        at, step, own = dealt[-1]  # the last row adds the rest
        given = valid | lost << 64 | before << _HASH
        dealt[-1] = at, step, own + lacking + total - given & _ALL
    return dealt


def steps(total: int) -> int:
    """The rows of a batch that are valid or lost."""
    return (total & _WORD) + (total >> 64 & _WORD)


class Span(NamedTuple):
    """The positions of an iteration: of the epoch's first step, of its own first step, and after its
    last.
    """

    begin: int
    first: int
    end: int


def bounded(records: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The records of at most _MOST runs. The first two runs become one if they are of one world without
    a gap between, and only ranks with records of both stay; else the first is left out.

    So ranks that loaded their own states have records of the same runs. Check leaves out what others
    have within a run that was joined.
    """
    runs: dict[tuple[int, int, int], list[Mapping[str, Any]]] = {}
    for record in records:
        runs.setdefault((record["from"], record["to"], record["world"]), []).append(record)
    order = sorted(runs)
    while len(order) > _MOST:
        first, second, *rest = order
        if (first[1], first[2]) != (second[0], second[2]):
            order = [second, *rest]
            continue
        both = first[0], second[1], first[2]
        runs[both] = [_joined(a, b) for a in runs[first] for b in runs[second] if a["rank"] == b["rank"]]
        order = [both, *rest]
    return [record for run in order for record in runs[run]]


def _joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """The record of both. Ranks that resumed at other positions have other cuts."""
    sums = {name: first[name] + second[name] for name in ("rows", "lost", "padded")}
    cuts = _number(first.get("cuts")) + _number(second.get("cuts")) + _mixed(first["to"])
    words = {"hash": _number(first["hash"]) + _number(second["hash"]), "cuts": cuts}
    return {**first, "to": second["to"], **sums, **{name: f"{word & _WORD:016x}" for name, word in words.items()}}


def _number(digits: str | None) -> int:
    return int(digits or "0", 16)


def _mixed(position: int) -> int:
    """A hash of a position: the finalizer of splitmix64."""
    x = position & _WORD
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _WORD
    return x ^ x >> 31


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
        self._before = bounded([r for r in carried if r["epoch"] == self.epoch and r["to"] <= self.span.first])
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
    text, ranks, of = verdict["text"], verdict["ranks"], verdict["of_ranks"]
    if ranks < of:
        text += f"; seen here: {ranks} of {of} ranks, and shardfeed audit proves all of them from the states that they saved"
    log.log(logging.WARNING if verdict["faults"] else logging.INFO, "%s", text)
