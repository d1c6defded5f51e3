"""What a data set reports of its stream: figures, traces, audits, and why the training waits."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, cast

from . import _audit
from ._engine._connected import Connected
from ._iterator import Place
from ._stats import Stats, StatsAudit, StatsWait
from ._trace import Trace
from ._verdict import Verdict
from ._waited import Waited
from .errors import ShardfeedError

log = logging.getLogger("shardfeed")

MINUTE = 60  # seconds of a loop


class Reported(Connected):
    """A data set whose iterations are measured and audited."""

    def _forget(self) -> None:
        super()._forget()
        self._waited = Waited()
        self._trainer_side: dict[str, Any] = {}  # members of VerdictAsk that a loader knows
        self._place: Place | None = None
        self._verdict: dict[str, Any] | None = None  # on the last epoch, if this rank got it
        self._diagnosed = False  # its batches are dropped and repeated: see headspace

    def stats(self) -> Stats:
        """Figures of this rank's stream, by the names of ``shardfeed bench --json``. Counts never
        start again at 0 while the data set lives.

        ``wait`` is how long the training waited in ``next``, in ``seconds`` ``of`` the seconds of
        its loop, and ``parts`` are these seconds by cause. It is None under torch's own workers,
        since the training waits for them and not for the stream. ``audit`` is the verdict
        on the last epoch.
        """
        session = self._session(stats=True, audit_of=self._number)
        figures = cast("Stats", dict(session.get("stats") or {}))
        if figures:
            figures["wait"] = None if session.get("workers") else cast("StatsWait", self._waited.report())
            figures["audit"] = cast("StatsAudit | None", self._latest_audit(session.get("audit")))
        return figures

    def trace(self, path: str | PathLike[str], *, steps: int | None = None) -> Trace:
        """Writes what its batches wait for as a timeline, for ``ui.perfetto.dev``, from the next
        ``next`` on.

        The path ends in ``.json`` or ``.json.gz``. The file is there after ``steps`` steps, or
        after ``stop()`` of the result, or at the program's end. Each rank has its own, such as
        ``run.rank3.json.gz``. It has the clock of torch.profiler,
        and ``shardfeed trace merge`` joins their files.
        """
        return self._waited.begin_trace(path, steps)

    def _latest_audit(self, found: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """The verdict on the last epoch: what this rank knows, or what its engine found."""
        return max(filter(None, (found, self._verdict)), key=lambda v: (v["epoch"], v["ranks"]), default=None)

    def _audited(self, place: Place) -> None:
        """Has an epoch that has ended compared with its order. The last rank writes the verdict into
        the log.
        """
        delivery, share = place.delivery, self._share()
        if delivery is None or self._diagnosed or share.of_join().get("replica"):
            return
        try:
            request = delivery.request(self._number, place.after, place.total)
            found = self._session(audit=request)
            verdict, tell = self._of_nodes(found) if found.get("audit") else (None, False)
        except ShardfeedError as e:  # training continues without a verdict
            log.warning("epoch %d has no audit: %s", delivery.epoch, e)
            return
        if verdict is not None:
            self._verdict = verdict
            if tell:
                _audit.tell(verdict)

    def _of_nodes(self, found: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
        """The verdict on an epoch, and whether this rank writes it into the log. found has this node's,
        and what its ranks got.
        """
        return found["audit"], True

    def _records(self, start: Mapping[str, Any], after: tuple[int, int], total: int) -> list[dict[str, Any]]:
        """The audit's records for a state of the iteration that began at start."""
        place = self._place
        return [] if place is None or place.start is not start else place.records(after, total)

    def verdict(self, *, epoch: bool = False) -> Verdict:
        """Explains how long the training waits for data, for what, on which rank, and what to change.

        ``print(dataset.verdict())`` is one line. It is about the last minute of the loop, or with
        epoch about everything since the epoch began. It compares the ranks of this machine, and with
        a process group of torch the other machines, by figures that are at most ten seconds old.
        At the end of each epoch, and after the first minute of which the loop waited a tenth, the
        logger ``shardfeed`` has this line at level INFO.
        """
        found = self._judged(epoch, self._others())
        return Verdict.of_json(found["verdict"])

    def _judged(self, epoch: bool, others: Sequence[Any] = ()) -> dict[str, Any]:
        pending: dict[str, Any] = {}
        self._waited.tell(pending.update)
        ask = {"seconds": 0 if epoch else MINUTE, "waited": pending or None, "told": self._waited.told(), **self._trainer_side}
        return self._session(verdict={**ask, "others": others})

    def _others(self) -> Sequence[Any]:
        """The waits of the ranks of other machines."""
        return ()

    def _waits_told(self) -> None:
        """Called after the engine was told how long the training waited, at most once a second."""

    def _explain(self, epoch: bool) -> None:
        """Logs why the training waits: at the end of an epoch once for the job, else once for the ranks
        of this machine.
        """
        if not log.isEnabledFor(logging.INFO):
            return
        with contextlib.suppress(ShardfeedError):  # it must not fail the training
            found = self._judged(epoch, self._others())
            if found["leads" if epoch else "speaks"]:
                log.info("%s: %s", "epoch" if epoch else "the last minute", found["verdict"]["line"])
