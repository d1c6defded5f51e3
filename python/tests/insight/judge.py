"""The cause and the rank that reports name, and whether their sums are right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from insight.faults import VERDICTS, Case

LITTLE = 0.02  # of the loop: a wait that is not worth a change
Line = Mapping[str, Any]


@dataclass(frozen=True)
class Named:
    cause: str
    rank: int
    share: float

    def __str__(self) -> str:
        return f"{self.cause}, rank {self.rank} ({self.share:.0%})"


def right(case: Case, named: Named | None) -> bool:
    return named is not None and named.cause == case.cause and case.slow in (None, named.rank)


def named(reports: Sequence[Sequence[Line]], at: float) -> Named | None:
    """What the reports of the ranks name at a time since the first of each."""
    seen = [[line for line in lines if line["at"] <= at] for lines in reports]
    if not all(seen):
        return None
    ranks = [_settled(lines) for lines in seen]
    worst = max(range(len(ranks)), key=lambda rank: ranks[rank][0])
    share, parts = ranks[worst]
    if not parts:
        return None
    return Named("trainer" if share < LITTLE else max(parts, key=parts.__getitem__), worst, share)


def _settled(lines: Sequence[Line]) -> tuple[float, dict[str, float]]:
    """The share of the loop that a rank waits, and for what: after its first batches, if it has more."""
    waits = [line["wait"] for line in lines if line["wait"]]
    last = waits[-1] if waits else {"seconds": 0.0, "of": 0.0, "parts": {}}
    first = next((line["wait"] for line in lines if line["wait"] and line["steps"] > 1), last)
    if last["of"] <= first["of"]:
        first = {"seconds": 0.0, "of": 0.0, "parts": {}}
    parts = {cause: s - first["parts"].get(cause, 0.0) for cause, s in last["parts"].items()}
    of = last["of"] - first["of"]
    return (sum(parts.values()) / of if of else 0.0), parts


def verdicts(case: Case, reports: Sequence[Sequence[Line]], within: float) -> list[str]:
    """The last verdicts, while all ranks run, that name another cause or kind than the fault's. A rank on a node of its own knows that
    node's ranks. Where workers took longer to start than the case, verdicts are about that.
    """
    asked = [reports[case.slow]] if case.slow is not None else reports
    last = [[line for line in lines if line["at"] <= within][-1]["verdict"] for lines in asked if not _starting(lines)]
    return [f"verdict: {v['line']}" for v in last if v and not _right(case, v)]


def _right(case: Case, verdict: Mapping[str, Any]) -> bool:
    kind, expected = verdict["kind"], VERDICTS.get(case.faults[0].kind)
    if expected != kind and {kind, expected} & set(VERDICTS.values()):
        return False
    return verdict["cause"] == case.cause and case.slow in (None, verdict["rank"])


def _starting(lines: Sequence[Line]) -> bool:
    """Whether a loop had its first batches after more than half of its time."""
    first, last = (line["wait"] or {"seconds": 0.0, "of": 0.0} for line in (lines[0], lines[-1]))
    return bool(2 * first["seconds"] > last["of"])


def figures(reports: Sequence[Sequence[Line]]) -> tuple[float, float]:
    """How far wait is from the stopwatch, in ms a step, and the parts from it, as a share: the worst rank."""
    ends = [(lines[-1], lines[-1]["wait"]) for lines in reports]
    watch = max(1000 * abs(wait["seconds"] - last["stopwatch"]) / max(1, last["steps"]) for last, wait in ends)
    return watch, max(abs(sum(wait["parts"].values()) - wait["seconds"]) / max(wait["seconds"], 1e-9) for _, wait in ends)


def after(case: Case, reports: Sequence[Sequence[Line]], within: float) -> float | None:
    """The seconds after which the reports named the right cause and rank until the end; None: they did not."""
    since = None
    for at in sorted({line["at"] for lines in reports for line in lines if line["at"] <= within}):
        if not right(case, named(reports, at)):
            since = None
        elif since is None:
            since = at
    return since


def sums(reports: Sequence[Sequence[Line]]) -> list[str]:
    """What is wrong with the sums at the end of a loop."""
    found = []
    for rank, lines in enumerate(reports):
        last = lines[-1]
        wait, watch = last["wait"], last["stopwatch"]
        if abs(wait["seconds"] - watch) > max(0.02 * watch, 0.001 * last["steps"]):
            found.append(f"rank {rank}: a wait of {wait['seconds']:.3f} s, {watch:.3f} s by a stopwatch in {last['steps']} steps")
        if abs(sum(wait["parts"].values()) - wait["seconds"]) > 0.01 * wait["seconds"]:
            found.append(f"rank {rank}: parts of {sum(wait['parts'].values()):.3f} s of {wait['seconds']:.3f} s")
    return found
