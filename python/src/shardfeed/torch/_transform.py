"""The user's functions of a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from .._transform import seed_of


@dataclass(frozen=True)
class Transform:
    """A function of a batch.

    When it is random it gets a generator too, which depends on the seed, the epoch, the step and
    the rank alone: so it does the same in any number of torch workers, and after a resume.
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
    return torch.Generator().manual_seed(seed_of(seed, epoch, step, rank) >> 1)
