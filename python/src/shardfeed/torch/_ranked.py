"""Data sets whose ranks agree on what they read."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _dataset, _reported
from .._args._types import T
from .._engine._connection import Connection
from .._engine._opening import EACH
from .._engine._process import Engine
from .._engine._replicas import Share
from .._iterator import Place
from ._ranks import _agree, _node, _nodes, _opening, _seats, _versions
from ._ranks._meeting import Meeting
from ._workers import _torch_worker


class Ranked(_dataset.StreamingDataset[T]):
    """A data set that compares its ranks at the start, and its nodes' figures from then on."""

    def _forget(self) -> None:
        super()._forget()
        self._compared = False  # the ranks, by what they read
        self._meeting: Meeting | None = None  # in which they do so, until then
        self._seats = _seats.Seats()  # of the ranks, from then on
        self._course = _agree.Course()  # the epochs of this rank
        self._nodes = _nodes.Nodes()  # what this one compares with the others

    def _joined(self, joined: Mapping[str, Any], rank: int, world_size: int) -> None:
        super()._joined(joined, rank, world_size)
        if _torch_worker.current() is None:
            self._compare(joined["fingerprint"])
            self._course.begins(self._agree, joined, self._place, *self._job_ranks())
            self._nodes.begins(self._course.key, self._share())

    def _compare(self, fingerprint: Mapping[str, str]) -> None:
        if not self._compared:
            self._compared = True
            meeting, self._meeting = self._meet(), None
            if meeting is not None:
                _agree.compare(meeting, fingerprint, (self._ranks()[0], self._share().replication))
                meeting.close()
                _opening.forget(self._handed_on)  # every rank has opened
                self._handed_on = None

    def _meet(self) -> Meeting | None:
        """The meeting of the ranks, which starts when one of them first takes part."""
        if self._meeting is None:
            self._meeting = _agree.meeting(self._agree, *self._job_ranks(), self._timeout, Engine(self._job))
        return self._meeting

    def _seats_of(self, connection: Connection, share: Share, state: Mapping[str, Any] | None, serial: str) -> list[int] | None:
        if _torch_worker.current() is not None:
            return None
        if not self._compared and (meeting := self._meet()) is not None:
            meeting.version = _versions.of(connection.welcome)
            ranks = {"rank": share.rank, "world_size": share.world_size, **share.of_join()}
            ask = functools.partial(connection.ask, **ranks, state=state, state_serial=serial)
            wants = _seats.useful(self._spec, share) and not self._rows_wanted
            self._seats = _seats.exchange(meeting, _node.of(connection.welcome), share, ask if wants else None)
        return self._seats.of(state)

    def _leave(self, reason: Exception) -> None:
        """Passes an error to the other ranks, unless they have compared already."""
        if not self._compared:
            self._compared = True
            if (meeting := self._meet()) is not None:
                meeting.leave(reason)

    def _reopen(self, opening: str | None = EACH, **changes: str) -> None:
        super()._reopen(opening, **changes)
        if self._seats.figures is not None:
            self._seats = _seats.Seats()  # of lanes that are no longer

    def _latest_audit(self, found: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        return self._nodes.latest(super()._latest_audit(found))

    def _audited(self, place: Place) -> None:
        self._nodes.ended(place)
        super()._audited(place)

    def _of_nodes(self, found: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        return self._nodes.audit(found, lambda request: self._session(audit=request)["audit"])

    def _others(self) -> Sequence[Any]:
        return self._nodes.others()

    def _waits_told(self) -> None:
        self._nodes.told(lambda: self._session(verdict={"seconds": _reported.MINUTE}))

    def _explain(self, epoch: bool) -> None:
        if not epoch or self._nodes.ends(lambda: self._judged(epoch)):
            super()._explain(epoch)

    def _job_ranks(self) -> tuple[int, int]:
        share = self._share()
        return share.job_rank, share.job_world_size
