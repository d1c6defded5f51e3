"""What the nodes of a job compare: the audits of epochs, and how long their ranks wait."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from ..._engine import _launcher
from ..._engine._replicas import Share
from ..._iterator import Place
from ...errors import ShardfeedError
from ._board import Board, Notice
from ._store import of_group, overwrites

_EPOCHS = 8  # the most that a node may be ahead of another
_WAITS = "waits"
_EVERY = 10  # messages to the engine, which has one each second, between two notices of waits

Ask = Callable[[], Mapping[str, Any]]


class Nodes:
    """A data set's part in what the nodes of its job compare.

    The engine has the ranks of a node, and one of them posts what it has: the audit at the end of
    an epoch, and the waits every ten seconds and at the end of an epoch. Without a process group, or
    on one node, there is nothing to do.
    """

    def __init__(self) -> None:
        self._board: Board | None = None
        self._turns: dict[int, int] = {}  # how often this rank came to the end of an epoch
        self._turn: list[int] = []  # of the last end
        self._told = 0
        self._regularly = False  # notices of waits do not add up in the store

    def begins(self, key: str, share: Share) -> None:
        """Notes the start of an iteration; key is the same on all ranks, and empty without a store."""
        if not key or self._board is not None or share.job_world_size == _launcher.local_world_size():
            return
        if (store := of_group(share.job_world_size)) is not None:
            self._board = Board(store, key, share.world_size)
            self._regularly = overwrites(store)

    # Audits

    def audit(self, found: Mapping[str, Any], ask: Callable[[Mapping[str, Any]], dict[str, Any]]) -> tuple[dict[str, Any], bool]:
        """The verdict of all nodes on an epoch if this is the last, else of this node; and whether to
        log it.

        A node's faults are logged at once.
        """
        own, here, board = dict(found["audit"]), found["here"], self._board
        if board is None or own["ranks"] == own["of_ranks"]:
            return own, True
        place, turn = self._place(here["epoch"]), self._turn
        notice = {"turn": turn, **{name: here[name] for name in ("begin", "to", "records")}}

        def exchange() -> list[Notice]:
            board.post(place, here["ranks"], notice)
            return board.all(place, turn)

        notices = board.within(exchange, None)
        if not notices:
            return own, notices is None or bool(own["faults"])
        verdict = ask(_all_of(here, notices))
        return verdict, board.within(lambda: board.settle(place, turn, verdict), True)

    def ended(self, place: Place) -> None:
        """Notes that this rank came to the end of an epoch."""
        if place.delivery is None:
            return
        epoch = place.delivery.epoch
        times = self._turns.get(epoch, 0) + 1
        self._turns = {e: n for e, n in self._turns.items() if e > epoch - _EPOCHS} | {epoch: times}
        self._turn = [epoch, times]

    def latest(self, own: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """The verdict on an epoch of all nodes, if one of them has it, else this node's own."""
        board, turn = self._board, self._turn
        if own is None or board is None or own["ranks"] == own["of_ranks"] or turn[:1] != [own["epoch"]]:
            return own
        settled = board.within(lambda: board.settled(self._place(own["epoch"])), None)
        return settled["result"] if settled is not None and settled["turn"] == turn else own

    @staticmethod
    def _place(epoch: int) -> str:
        return f"audit {epoch % _EPOCHS}"

    # Waits

    def told(self, ask: Ask) -> None:
        """Posts the waits of this node now and then. It waits for the engine, and not for the store."""
        self._told += 1
        board = self._board
        if board is not None and self._regularly and self._told % _EVERY == 2:
            with contextlib.suppress(ShardfeedError):  # the next batch raises it
                if (found := ask())["speaks"]:
                    board.within(lambda: _post_waits(board, found), None, 0.0)

    def ends(self, ask: Ask) -> bool:
        """Posts the waits of an epoch that has ended, and returns whether this rank may have to log
        them: rank 0 does it for all nodes that reach the store.

        Each rank posts: the last of a node has the figures of all.
        """
        board = self._board
        if board is None:
            return True
        with contextlib.suppress(ShardfeedError):  # it must not fail the training
            found = ask()
            lowest = board.within(lambda: _post_waits(board, found), 0)
            return bool(found["speaks"]) and lowest == 0
        return False

    def others(self) -> list[Any]:
        """The last waits of all nodes."""
        board = self._board
        if board is None:
            return []
        nothing: list[Notice] = []
        return [notice["waits"] for notice in board.within(lambda: board.there(_WAITS), nothing)]


def _post_waits(board: Board, found: Mapping[str, Any]) -> int:
    """Posts the waits of this node's ranks, and returns the lowest of them."""
    ranks = [int(rank["Rank"]) for rank in found["waits"]["Ranks"]]
    board.post(_WAITS, ranks, {"waits": found["waits"]})
    return min(ranks)


def _all_of(here: Mapping[str, Any], notices: list[Notice]) -> dict[str, Any]:
    """The audit of all nodes."""
    return {
        **here,
        "begin": min(notice["begin"] for notice in notices),
        "to": max(notice["to"] for notice in notices),
        "ranks": sorted({rank for notice in notices for rank in notice["ranks"]}),
        "records": [record for notice in notices for record in notice["records"]],
    }
