"""The user's functions of a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from .._transform import ROW_VALID, Mask, masked_row, seed_of, shape_of
from .._waited import MAP
from ..errors import OptionError


@dataclass(frozen=True)
class Transform:
    """A function of a batch.

    When it is random it gets a generator too, which depends on the seed, the epoch, the step and
    the rank only: so it does the same in any number of torch workers, and after a resume.
    """

    what: ClassVar[str] = "the function of map"
    cause: ClassVar[int] = MAP
    function: Callable[..., Any]
    random: bool
    seed: int

    def __call__(self, batch: Any, epoch: int, step: int, rank: int) -> Any:
        if not self.random:
            return self.function(batch)
        return self.function(batch, generator(self.seed, epoch, step, rank))


@dataclass(frozen=True)
class TensorMask(Mask):
    """A mask of batches of tensors."""

    def __call__(self, value: Any, epoch: int, step: int, rank: int) -> Any:
        valid = value.get(ROW_VALID) if isinstance(value, dict) else None
        if not isinstance(valid, torch.Tensor) or valid.ndim == 0:
            return masked_row(value, self.function)
        kept = torch.as_tensor(self.function(value))
        if kept.dtype != torch.bool or kept.shape != valid.shape:
            raise OptionError(f"the function of filter must return a bool for each of the {len(valid)} rows, got {shape_of(kept)}")
        value[ROW_VALID] = valid & kept.to(valid.device)
        return value


def generator(seed: int, epoch: int, step: int, rank: int) -> torch.Generator:
    """Returns the generator of a step of a rank."""
    return torch.Generator().manual_seed(seed_of(seed, epoch, step, rank) >> 1)
