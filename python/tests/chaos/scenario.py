"""A job, drawn from a number."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

Stream = Literal[
    "plain",
    "ordered",
    "filtered",
    "packed",
    "mixed",
    "images",
    "map",
    "threads",
    "workers",
    "window",
    "tensors",
    "padded",
    "valid",
    "dated",
    "weighted",
    "part",
    "bucketed",
    "passes",
    "per source",
    "by tokens",
    "by number",
    "stateful",
]
STREAMS: tuple[Stream, ...] = get_args(Stream)
LOOPS = ("own", "lightning", "trainer")
STORES = ("local", "s3", "hdfs")

# Streams whose steps have the same rows on every world size, and streams that keep it.
FIXED_STEPS: tuple[Stream, ...] = ("window", "per source")
ONE_WORLD: tuple[Stream, ...] = ("by number", "stateful")

# What frameworks read. The Trainer counts steps, so theirs have the same rows on every world size.
IN_FRAMEWORKS: tuple[Stream, ...] = ("plain", "filtered", "mixed", "window", "padded", "per source", "passes", "weighted")

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
    "kill node": STORES,
    "remove all of the cache": STORES,
    "disk errors": STORES,
    "fill disk": STORES,
    "take the names": STORES,
    "read-only disk": STORES,
    "lose disk": STORES,
}

# Faults that need a disk of the cache's own, a tracer, and several nodes.
OF_DISKS = ("fill disk", "take the names", "read-only disk", "lose disk")
OF_TRACERS = ("disk errors",)
OF_NODES = ("kill node",)


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
    rows: int  # of a batch; of a step over all ranks where fixed
    fixed: bool  # steps have the same rows on every world size
    tail: str
    seed: int
    epochs: int
    pause: float  # seconds between batches
    between: float  # seconds between epochs
    save_every: int  # batches
    decoded: bool
    small_disk: bool
    faults: tuple[tuple[Fault, ...], ...]  # of each attempt; later ones meet none
    loop: str = "own"  # or the framework that reads
    nodes: int = 1  # engines, each with a cache; ranks are spread over them
    group: bool = False  # ranks have a process group

    def world(self, attempt: int) -> int:
        return self.worlds[min(attempt, len(self.worlds) - 1)]

    def batch(self, world: int) -> int:
        """The batch size of a rank."""
        return self.rows // world if self.fixed else self.rows

    def node(self, rank: int, world: int) -> int:
        """The node of a rank."""
        return rank * min(self.nodes, world) // world

    def describe(self) -> str:
        worlds = ">".join(map(str, self.worlds))
        how = "" if self.loop == "own" else f" under {self.loop}"
        where = "" if self.nodes == 1 else f" of {self.nodes} nodes{' with a group' * self.group}"
        what = "steps" if self.fixed else "batches"
        return f"{self.stream} from {self.store}{how}, {worlds} ranks{where}, {what} of {self.rows}, {self.tail}, {self.epochs} epochs"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Means:
    """What the jobs may use."""

    stores: tuple[str, ...] = STORES
    streams: tuple[Stream, ...] = STREAMS
    loops: tuple[str, ...] = LOOPS
    disks: bool = True  # caches may be disks of their own, which can be filled
    tracer: bool = True  # strace makes system calls fail


def draw(number: int, means: Means = Means()) -> Scenario:
    """The job of a number."""
    dice = random.Random(f"chaos {number}")
    store = dice.choice(means.stores)
    stream = dice.choice(means.streams)
    loop = dice.choice(means.loops) if stream in IN_FRAMEWORKS else "own"
    attempts = dice.randint(1, 4)
    small_disk = dice.random() < 0.2 and means.disks
    nodes = dice.choice((1, 1, 2))
    fixed = stream in FIXED_STEPS or loop == "trainer"
    worlds = tuple(dice.choice((1, 1, 2, 2, 3, 4) if loop == "own" else (1, 2, 2, 3)) for _ in range(attempts))
    return Scenario(
        number=number,
        stream=stream,
        store=store,
        worlds=worlds[:1] if stream in ONE_WORLD else worlds,
        rows=_rows(dice, stream, fixed),
        fixed=fixed,
        tail=_tail(dice, stream, loop),
        seed=dice.randrange(1000),
        epochs=dice.randint(2, 3),
        pause=dice.choice((0.0, 0.002, 0.01)),
        between=dice.choice((0.0, 0.3)),
        save_every=dice.choice((1, 5, 20)) if loop == "own" else dice.choice((7, 20)),
        decoded=dice.random() < 0.6,
        small_disk=small_disk,
        faults=tuple(_faults(dice, list(_kinds(store, nodes, small_disk, means.tracer))) for _ in range(attempts)),
        loop=loop,
        nodes=nodes,
        group=nodes > 1 and loop == "own" and dice.random() < 0.5,
    )


def _rows(dice: random.Random, stream: Stream, fixed: bool) -> int:
    if fixed:
        return dice.choice((24, 36, 48))
    if stream == "bucketed":
        return 1
    return dice.choice((2, 3)) if stream in ("packed", "images") else dice.choice((7, 16, 32))


def _tail(dice: random.Random, stream: Stream, loop: str) -> str:
    if loop == "trainer":
        return "drop"
    if stream in ("ordered", "window"):
        return "pad"
    if stream == "by number":
        return "short"
    return dice.choice(("pad", "pad", "drop", "carry")) if loop == "own" and stream not in ("stateful", "per source") else "pad"


def _kinds(store: str, nodes: int, small_disk: bool, tracer: bool) -> Iterator[str]:
    for kind, where in FAULTS.items():
        possible = (small_disk or kind not in OF_DISKS) and (tracer or kind not in OF_TRACERS) and (nodes > 1 or kind not in OF_NODES)
        if store in where and possible:
            yield kind


def _faults(dice: random.Random, kinds: list[str]) -> tuple[Fault, ...]:
    moments = sorted(dice.uniform(0.0, 2.5) for _ in range(dice.randint(1, 5)))
    return tuple(Fault(dice.choice(kinds), moment, dice.randrange(2**31)) for moment in moments)
