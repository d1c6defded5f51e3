"""How long a training waits for its batches, and for what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from struct import unpack_from
from threading import Lock, get_ident
from time import monotonic_ns as now
from typing import TYPE_CHECKING, Any

from . import _spans, _trace
from ._causes import CAUSES, COPY, COUNT, HANDOVER, LIST, MAP, OPEN
from ._engine._raw_batch import RawBatch

if TYPE_CHECKING:
    from os import PathLike

    from ._trace import Trace

__all__ = ["CAUSES", "COPY", "HANDOVER", "MAP", "OPEN", "Waited"]

# What the engine does while it opens a data set or starts an iteration, by its name for progress.
_OPENING = {"list": LIST, "footers": LIST, "rows": COUNT}

_SENT_EVERY = 10**9  # ns
_MINUTE = 60 * 10**9


class Watch:
    """The waits of one thread."""

    __slots__ = ("at", "began", "cause", "doing", "handed", "parts", "plain", "span")

    def __init__(self) -> None:
        # Nothing is to do at the start of a wait but to note the time, and at its end but to charge the
        # rest to the hand-over. It is not if something has to be recorded or is known to hold up the batch,
        # and at the start and the end of an iteration.
        self.plain = False
        self.handed = 0  # ns, of the hand-over, at the ends of waits
        self.began = 0  # the start of the wait
        self.span: Any = None  # in torch's profiler
        self.cause: int | None = None  # what holds up the batch now, as far as it is known
        self.doing: int | None = None  # what the trainer itself does, and the time from at on is charged to
        self.at = 0  # up to when the time of a wait is charged; 0: the thread is not in ``next``
        self.parts = [0] * len(CAUSES)  # ns, without handed


class Waited:
    """The time that a training spent in ``next``, by what held up the batch.

    Each ``next`` starts and stops it, and in between code that knows the cause of the time since the
    last such call charges it. So the parts add up to the whole. Single rows come in bundles, and the
    wait for a bundle counts.
    """

    __slots__ = (
        "_began",
        "_lasts",
        "_minute",
        "_of",
        "_sent",
        "_sent_at",
        "_slow",
        "_telling",
        "due",
        "last",
        "place",
        "started",
        "trace",
        "watches",
    )

    def __init__(self) -> None:
        self.trace: Trace | None = _trace.of_process()
        self.place: tuple[Any, ...] | None = None  # of the last iteration, as Trace.of_rank has it
        self.started = 0  # the start of the last wait
        self.last = 0  # the end of the last one
        self.due = 0  # when to send the sums; 0: each batch needs received
        self.watches: dict[int, Watch] = {}  # by thread, and of threads that have ended
        self._began = 0  # the first ``next`` of the iteration; 0: no iteration
        self._of = 0  # of the iterations before, in ns
        self._sent = [0] * (len(CAUSES) + 1)  # the parts and the whole loop, as the engine knows them
        self._sent_at = 0
        self._lasts = False  # the engine knows of a ``next`` in progress
        self._telling = Lock()  # of several threads that send, such as by verdict()
        self._minute = [0, 0]  # the wait and the loop at the start of the minute
        self._slow: bool | None = None  # whether a minute was slow; None: not yet, False: it was reported

    def begin_trace(self, path: str | PathLike[str], steps: int | None) -> Trace:
        """Starts a trace, and ends the one before."""
        trace = _trace.Trace(path, steps)
        if self.place is not None:
            trace.of_rank(*self.place)
        before, self.trace = self.trace, trace
        self._look_closely()
        if before is not None and before is not _trace.of_process():
            before.stop()
        return trace

    def iterates(self, *place: Any) -> None:
        """Notes the place of the iteration that starts, as Trace.of_rank has it."""
        self.place = place
        _spans.look()
        if self.trace is not None:
            self.trace.of_rank(*place)

    def _look_closely(self) -> None:
        """Has each thread's next wait not be plain."""
        for watch in list(self.watches.values()):
            watch.plain = False

    def start(self) -> Watch:
        """Starts a wait of this thread, which stop ends. Loops of many steps have both inline: with a
        cold cache a call costs as much as what it does.
        """
        watch = self.watches.get(get_ident()) or self.another()
        watch.at = watch.began = self.started = now()
        if not watch.plain or _spans.profiler._is_profiler_enabled:
            self.mark(watch)
        return watch

    def stop(self, watch: Watch) -> None:
        """Ends the wait. The rest is the hand-over, or what failed."""
        if watch.plain and (at := watch.at):
            self.last = to = now()
            watch.handed += to - at
            watch.at = 0
        else:
            self.end(watch)

    def another(self) -> Watch:
        """Adds the waits of this thread. With several threads each batch needs received."""
        watch = self.watches[get_ident()] = Watch()
        self.due = 0
        return watch

    def mark(self, watch: Watch) -> None:
        """Notes the start of a wait that is not plain."""
        watch.plain = False
        if _spans.profiler._is_profiler_enabled:
            watch.span = _spans.begin()
        self._begin(watch)

    def _begin(self, watch: Watch) -> None:
        if not self._began:
            self._began = watch.began

    def end(self, watch: Watch) -> None:
        """Ends a wait that is not plain."""
        if not (at := watch.at):
            return
        to = now()
        if not self._began:  # the iteration has ended in this ``next``
            self._of += max(0, to - self.last)
        self.last = to
        cause = HANDOVER if watch.doing is None else watch.doing
        watch.parts[cause] += to - at
        watch.at, watch.cause, watch.doing = 0, None, None
        if (trace := self.trace) is not None:
            trace.next(get_ident(), watch.began, to, cause, at)
            if trace.over:
                self.trace = None
        if watch.span is not None:
            span, watch.span = watch.span, None
            span.end()
        watch.plain = self.trace is None and self._began > 0

    def spent(self, cause: int) -> None:
        """Charges the time since the last charge of this wait, if the thread is in one."""
        watch = self.watches.get(get_ident())
        if watch is not None and watch.at:
            at = now()
            watch.parts[cause] += at - watch.at
            if self.trace is not None:
                self.trace.part(cause, get_ident(), watch.at, at)
            watch.at, watch.cause, watch.doing = at, None, None

    def opening(self, doing: str) -> None:
        """Charges the time in which the engine did something before the first batch."""
        self.spent(_OPENING.get(doing, OPEN))

    def turns_to(self, cause: int) -> None:
        """Charges the time until now to the hand-over. From now on the cause holds up the batch."""
        self.spent(HANDOVER)
        if (watch := self.watches.get(get_ident())) is not None:
            watch.cause = watch.doing = cause
            watch.plain = False

    def held(self, marks: Sequence[Sequence[int]]) -> None:
        """Charges the time of a ``next`` in progress as the engine explains it."""
        watch = self.watches.get(get_ident())
        if watch is None or not watch.at:
            return
        for cause, end in marks:
            if (until := min(end, now())) > watch.at:
                watch.parts[cause] += until - watch.at
                if self.trace is not None:
                    self.trace.part(cause, get_ident(), watch.at, until)
                watch.at = until
        watch.cause, watch.plain, self.last = marks[-1][0], False, max(self.last, watch.at)
        self._lasts, self.due = True, 0

    def received(self, raw: RawBatch) -> bool:
        """Charges the time until a batch came by its trail, and returns whether to send the
        sums to the engine. A batch that was finished when the wait started needs no call before due.
        """
        watch = self.watches.get(get_ident())
        if watch is None or not (at := watch.at):
            return False
        self._begin(watch)
        to = now()
        if raw.header[-2] > at:  # else it was finished before
            at = self._cut(raw, watch.parts, at, to)
        watch.parts[HANDOVER] += to - at
        if self.trace is not None:
            self.trace.part(HANDOVER, get_ident(), at, to)
        watch.at = to
        watch.cause = None
        return to - self._sent_at >= _SENT_EVERY or self._lasts

    def _cut(self, raw: RawBatch, parts: list[int], at: int, to: int) -> int:
        """Charges the time from at up to the end of a batch's trail, and returns the new at."""
        header, trace = raw.header, self.trace
        finished, marks = header[-2], header[-1]
        for mark in unpack_from(f"<{marks}Q", raw.bytes, raw.used - 8 * marks):
            until = finished - (mark >> 8)
            if until > at:
                until = min(until, to)
                parts[mark & 255] += until - at
                if trace is not None:
                    trace.part(mark & 255, get_ident(), at, until)
                at = until
        return at

    def ends(self) -> None:
        """Ends an iteration. The rest of this ``next`` is part of the loop, and the time after it is not."""
        began, self._began = self._began, 0
        if began:
            watch = self.watches.get(get_ident())
            self.last = now() if watch is not None and watch.at else self.last
            self._of += max(0, self.last - began)
            self._look_closely()

    def report(self) -> dict[str, Any]:
        """The wait so far, in seconds."""
        *parts, of = self._sums()
        return {**_seconds(parts, of), "now": self._now()}

    def _now(self) -> dict[str, Any] | None:
        """The ``next`` in progress that lasts longest, if one has lasted a second."""
        long = [w for w in list(self.watches.values()) if w.at and w.cause is not None and now() - w.began >= _SENT_EVERY]
        if not long:
            return None
        first = min(long, key=lambda w: w.began)
        return {"cause": CAUSES[first.cause or 0], "seconds": (now() - first.began) / 1e9}

    def tell(self, send: Callable[[Mapping[str, Any]], None]) -> None:
        """Sends what came since the last time."""
        with self._telling:
            self._sent_at = now() if self._began else 0  # the first batch of the next iteration is told at once
            sums = [max(new, old) for new, old in zip(self._sums(), self._sent)]  # another thread may be about to charge
            *parts, of = (new - old for new, old in zip(sums, self._sent))
            self._sent = sums
            self._look(sum(sums[:-1]), sums[-1])
            waiting, lasted = self._now(), self._lasts
            self._lasts = waiting is not None
            self.due = 0 if self._lasts or len(self.watches) > 1 else self._sent_at + _SENT_EVERY
            if of or lasted or any(parts):
                send({**_seconds(parts, of), "now": waiting})

    def overlong(self) -> bool:
        """Whether a function of the trainer has run for a second, and the engine does not know."""
        late = now() - _SENT_EVERY
        return self._sent_at < late and any(w.at and w.doing is not None and w.at < late for w in list(self.watches.values()))

    def told(self) -> float:
        """The seconds of the loop in all messages to the engine."""
        return self._sent[-1] / 1e9

    def slow_minute(self) -> bool:
        """Reports once that the loop had a minute of which it waited a tenth or more."""
        if not self._slow:
            return False
        self._slow = False
        return True

    def _look(self, waited: int, of: int) -> None:
        """Looks at the last minute of the loop."""
        before, since = self._minute
        if of - since >= _MINUTE:
            self._minute = [waited, of]
            if self._slow is None and waited - before >= (of - since) / 10:
                self._slow = True

    def _sums(self) -> list[int]:
        """The parts, and the time of the loop, including a ``next`` in progress if its cause is known."""
        watches, last = list(self.watches.values()), self.last
        parts = [sum(w.parts[i] for w in watches) for i in range(len(CAUSES))]
        parts[HANDOVER] += sum(w.handed for w in watches)
        for w in watches:
            if (at := w.at) and (doing := w.doing) is not None:
                parts[doing] += max(0, (to := now()) - at)
                last = max(last, to)
        return [*parts, self._of + (max(0, last - self._began) if self._began else 0)]


def _seconds(parts: list[int], of: int) -> dict[str, Any]:
    return {
        "seconds": sum(parts) / 1e9,
        "of": of / 1e9,
        "parts": {cause: ns / 1e9 for cause, ns in zip(CAUSES, parts) if ns > 0},
    }
