"""What the user does to each batch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Transform:
    """A function of a batch.

    When it is random it gets a generator too, which depends on the seed, the epoch, the step and the rank alone: so it does the same in any
    number of torch workers, and after a resume.
    """

    function: Callable[..., Any]
    random: bool
    seed: int

    def __call__(self, batch: Any, epoch: int, step: int, rank: int) -> Any:
        if not self.random:
            return self.function(batch)
        return self.function(batch, generator(self.seed, epoch, step, rank))


def generator(seed: int, epoch: int, step: int, rank: int) -> torch.Generator:
    """Returns the generator of a step of a rank."""
    words = b"".join(n.to_bytes(8, "little") for n in (seed, epoch, step, rank))
    own = int.from_bytes(hashlib.blake2b(words, digest_size=8).digest(), "little")
    return torch.Generator().manual_seed(own >> 1)
