"""A job, drawn from a number."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass
from typing import Any, Literal

Stream = Literal["plain", "ordered", "filtered", "packed", "mixed", "images", "map", "threads", "workers"]
STREAMS: tuple[Stream, ...] = ("plain", "ordered", "filtered", "packed", "mixed", "images", "map", "threads", "workers")
STORES = ("local", "s3", "hdfs")

# What a fault does, and the stores where it can.
FAULTS: dict[str, tuple[str, ...]] = {
    "kill rank": STORES,
    "kill engine": STORES,
    "kill rank and engine": STORES,
    "kill all": STORES,
    "stop rank": STORES,
    "stop engine": STORES,
    "stop the store": ("s3", "hdfs"),
    "flip cache": STORES,
    "cut cache": STORES,
    "remove cache": STORES,
    "damage index": STORES,
    "fill disk": STORES,
}


@dataclass(frozen=True)
class Fault:
    """One fault of an attempt, some seconds after its first batch."""

    kind: str
    after: float  # seconds
    seed: int


@dataclass(frozen=True)
class Scenario:
    """What a job reads and what it meets."""

    number: int
    stream: Stream
    store: str
    worlds: tuple[int, ...]  # the world size of each attempt; the last one holds for all later ones
    batch_size: int
    tail: str
    seed: int
    epochs: int
    pause: float  # seconds between batches
    between: float  # seconds between epochs
    save_every: int  # batches
    decoded: bool
    small_disk: bool
    faults: tuple[tuple[Fault, ...], ...]  # of each attempt; later ones meet none

    def world(self, attempt: int) -> int:
        return self.worlds[min(attempt, len(self.worlds) - 1)]

    def describe(self) -> str:
        worlds = ">".join(map(str, self.worlds))
        return f"{self.stream} from {self.store}, {worlds} ranks, batches of {self.batch_size}, {self.tail}, {self.epochs} epochs"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def draw(number: int, stores: tuple[str, ...] = STORES, streams: tuple[Stream, ...] = STREAMS, disks: bool = True) -> Scenario:
    """The job of a number. Without disks no cache is a disk of its own, which can be filled."""
    dice = random.Random(f"chaos {number}")
    store = dice.choice(stores)
    stream = dice.choice(streams)
    attempts = dice.randint(1, 4)
    kinds = [kind for kind, where in FAULTS.items() if store in where]
    small_disk = dice.random() < 0.2 and disks
    if not small_disk:
        kinds.remove("fill disk")
    worlds = tuple(dice.choice((1, 1, 2, 2, 3, 4)) for _ in range(attempts))
    return Scenario(
        number=number,
        stream=stream,
        store=store,
        worlds=worlds,
        batch_size=dice.choice((2, 3)) if stream in ("packed", "images") else dice.choice((7, 16, 32)),
        tail=dice.choice(("pad", "pad", "drop", "carry")) if stream not in ("ordered",) else "pad",
        seed=dice.randrange(1000),
        epochs=dice.randint(2, 3),
        pause=dice.choice((0.0, 0.002, 0.01)),
        between=dice.choice((0.0, 0.3)),
        save_every=dice.choice((1, 5, 20)),
        decoded=dice.random() < 0.6,
        small_disk=small_disk,
        faults=tuple(_faults(dice, kinds) for _ in range(attempts)),
    )


def _faults(dice: random.Random, kinds: list[str]) -> tuple[Fault, ...]:
    moments = sorted(dice.uniform(0.0, 2.5) for _ in range(dice.randint(1, 5)))
    return tuple(Fault(dice.choice(kinds), moment, dice.randrange(2**31)) for moment in moments)
