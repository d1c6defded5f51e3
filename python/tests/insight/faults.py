"""The kinds of faults, and cases drawn from their numbers.

The size of a fault is what it costs: the seconds of a step. In a pair one costs at least three
times as much as the other.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

# What the figures must name. Decoding and images take the time that they take, at least 20 ms.
CAUSES = {
    "slow store": "storage",
    "throttling": "storage",
    "slow disk": "storage",
    "slow disk of the cache": "cache",
    "small cache": "storage",
    "cold cache": "storage",
    "small memory": "storage",
    "decode-bound": "decode",
    "slow map": "map",
    "slow map in a thread": "map",
    "slow map in a worker": "map",
    "slow collate": "collate",
    "slow copy": "copy",
    "slow trainer": "trainer",
}

# What verdicts must say of a store besides: that memory is what keeps it from giving more.
VERDICTS = {"small memory": "small memory"}

OF_SOURCE = (
    "slow store",
    "throttling",
    "slow disk",
    "slow disk of the cache",
    "small cache",
    "cold cache",
    "small memory",
    "decode-bound",
    "slow collate",
)  # one at a time
OF_ALL = ("slow disk", "small memory", "decode-bound", "slow collate", "slow trainer")  # these are not drawn for one rank
DOMINANT = 3.0
LEAST, MOST = 0.04, 0.3  # seconds of a step


@dataclass(frozen=True)
class Fault:
    kind: str
    size: float

    def __str__(self) -> str:
        return f"{self.kind} {1000 * self.size:.0f} ms"


@dataclass(frozen=True)
class Case:
    number: int
    faults: tuple[Fault, ...]  # the first costs the most
    world: int
    slow: int | None  # the rank that has the faults; None: each has them

    @property
    def cause(self) -> str:
        return CAUSES[self.faults[0].kind]

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(fault.kind for fault in self.faults)

    def __str__(self) -> str:
        where = "" if self.world == 1 else f", {self.world} ranks" if self.slow is None else f", rank {self.slow} of {self.world}"
        return " + ".join(map(str, self.faults)) + where


def draw(number: int, kinds: tuple[str, ...] = tuple(CAUSES)) -> Case:
    """The case of a number: the kinds take turns, so that each comes as often."""
    rng = random.Random(number)
    kind = kinds[number % len(kinds)]
    size = rng.uniform(LEAST, MOST)
    faults = [Fault(kind, size)]
    others = [other for other in _beside(kind) if other in kinds]
    if others and rng.random() < 0.4:
        faults.append(Fault(rng.choice(others), min(size, LEAST) / rng.uniform(DOMINANT, 10)))
    world = rng.choice((1, 2))
    slow = rng.randrange(world) if world > 1 and not set(OF_ALL) & {f.kind for f in faults} and rng.random() < 0.6 else None
    return Case(number, tuple(faults), world, slow)


def _beside(kind: str) -> list[str]:
    """The kinds that go together with one. What costs less than a slow trainer must not be in its loop."""
    if kind == "slow trainer":
        return ["slow store"]
    if kind in OF_SOURCE:
        return ["slow map", "slow trainer"] if kind != "decode-bound" else ["slow map"]
    return ["slow store", "slow trainer"]
