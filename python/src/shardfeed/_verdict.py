"""Why a training waited for data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from . import _html
from ._documented import documented

_LEAST = 0.005  # below it a share is noise


@documented
@dataclass(frozen=True)
class Headspace:
    """How fast a training is, and would be if its data were free.

    Attributes:
        steps: that each measurement timed.
        now: steps per second with batches as they come.
        free: steps per second with batches that repeat.
    """

    steps: int
    now: float
    free: float

    @property
    def share(self) -> float:
        """The part of the training's time that free data would save, from 0 to 1."""
        return max(0.0, 1 - self.now / self.free)

    def __str__(self) -> str:
        saved = f"{100 * self.share:.1f} % to be had" if self.share >= _LEAST else "nothing to be had"
        return f"data free: {self.free:.3g} steps/s, now {self.now:.3g} steps/s: {saved}"


@documented
@dataclass(frozen=True)
class Verdict:
    """How long a training waited for data, for what, on which rank, and what to change.

    ``str(verdict)`` is one line. Ranks are compared, with a process group of torch also on
    other machines: if some wait much longer than the others, the verdict is about them, since in a
    synchronous job the others wait for them outside of ``next``.

    Attributes:
        share: the part of the loop's time that was spent in ``next``, from 0 to 1.
        seconds: in ``next``, per rank.
        of: seconds of the loop, per rank.
        cause: the largest part of the wait, by the names of ``stats()["wait"]["parts"]``;
            "trainer" if training hardly waits, and "" before the first batch.
        then: the second cause, if it has a quarter of the wait, else "".
        kind: what is behind the cause, such as "small cache" or "slow store".
        parts: seconds by cause, per rank.
        rank: the rank that waits longest; -1 before the first batch.
        ranks: the ranks that the verdict is about.
        world_size: the number of all ranks.
        host: the machine of ``rank``; machines of one name have numbers.
        found: the figures that show the kind.
        cure: what to change.
        line: the verdict as a line.
        headspace: of a loader with ``headspace``, once it has measured it.
    """

    share: float
    seconds: float
    of: float
    cause: str
    then: str
    kind: str
    parts: Mapping[str, float]
    rank: int
    ranks: tuple[int, ...]
    world_size: int
    host: str
    found: str
    cure: str
    line: str
    headspace: Headspace | None = None

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Verdict:
        """A verdict of the engine."""
        known = {field.name: found[field.name] for field in fields(cls) if field.name != "headspace"}
        return cls(**{**known, "parts": dict(known["parts"] or {}), "ranks": tuple(known["ranks"] or ())})

    def with_headspace(self, headspace: Headspace | None) -> Verdict:
        """This verdict with the headspace, which its line says too."""
        return self if headspace is None else replace(self, headspace=headspace, line=f"{self.line}; {headspace}")

    def __str__(self) -> str:
        return self.line

    def _repr_html_(self) -> str:
        parts = [(cause, f"{seconds:.1f} s") for cause, seconds in sorted(self.parts.items(), key=lambda part: -part[1])]
        return _html.facts(self.line, parts)
