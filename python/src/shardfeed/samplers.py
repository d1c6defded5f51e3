"""Samplers: which rows of a MapDataset an epoch has, in which order.

They have the names and the meaning of torch.utils.data's, need no torch, and are functions of the
seed and the epoch, so that a loader resumes within an epoch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ._args._checks import number
from ._args._checks import seed as checked_seed
from ._documented import documented
from .errors import OptionError

__all__ = ["RandomSampler", "Sampler", "SequentialSampler", "SubsetRandomSampler", "WeightedRandomSampler"]


@documented
class Sampler:
    """The rows of an epoch. ``set_epoch`` selects the epoch, as torch's DistributedSampler
    does. Loaders of this package call it.
    """

    def __init__(self, seed: int) -> None:
        self.seed = checked_seed(seed)
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = int(epoch)

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self) -> Iterator[int]:
        return iter(self.rows().tolist())

    def rows(self) -> np.ndarray:
        """The rows of the epoch, as int64."""
        raise NotImplementedError

    def _generator(self) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64([self.seed & 0xFFFFFFFF, self.seed >> 32, self.epoch]))


@documented
class SequentialSampler(Sampler):
    """All rows, in their order."""

    def __init__(self, data_source: Any) -> None:
        super().__init__(0)
        self._n = _rows(data_source)

    def __len__(self) -> int:
        return self._n

    def rows(self) -> np.ndarray:
        return np.arange(self._n)


@documented
class RandomSampler(Sampler):
    """All rows in random order, or ``num_samples`` of them; with ``replacement`` a row may come
    again.
    """

    def __init__(self, data_source: Any, replacement: bool = False, num_samples: int | None = None, *, seed: int = 0) -> None:
        super().__init__(seed)
        self._n = _rows(data_source)
        self._replacement = replacement
        self._samples = number("num_samples", num_samples) or self._n

    def __len__(self) -> int:
        return self._samples if self._n else 0

    def rows(self) -> np.ndarray:
        generator, n = self._generator(), self._n
        if self._replacement or not n:
            return generator.integers(0, max(n, 1), len(self))
        rounds = [generator.permutation(n) for _ in range(-(-self._samples // n))]
        return np.concatenate(rounds)[: self._samples]


@documented
class SubsetRandomSampler(Sampler):
    """Some rows in random order."""

    def __init__(self, indices: Sequence[int], *, seed: int = 0) -> None:
        super().__init__(seed)
        self._indices = np.asarray(indices, np.int64)

    def __len__(self) -> int:
        return len(self._indices)

    def rows(self) -> np.ndarray:
        return self._generator().permutation(self._indices)


@documented
class WeightedRandomSampler(Sampler):
    """Rows drawn by weight: row i with a probability of ``weights[i]`` over their sum."""

    def __init__(self, weights: Sequence[float], num_samples: int, replacement: bool = True, *, seed: int = 0) -> None:
        super().__init__(seed)
        self._weights = np.asarray(weights, np.float64)
        self._samples = number("num_samples", num_samples)
        self._replacement = replacement
        if self._weights.ndim != 1 or not np.all(np.isfinite(self._weights) & (self._weights >= 0)) or not self._weights.sum() > 0:
            raise OptionError("weights must be finite numbers of at least 0, with one above 0")
        some = int(np.count_nonzero(self._weights))
        if not self._samples or (not replacement and self._samples > some):
            most = "" if replacement else f", and at most {some} without replacement, the weights above 0"
            raise OptionError(f"num_samples must be at least 1{most}, got {num_samples}")

    def __len__(self) -> int:
        return self._samples

    def rows(self) -> np.ndarray:
        generator, share = self._generator(), self._weights / self._weights.sum()
        if not self._replacement:
            return generator.choice(len(share), self._samples, replace=False, p=share)
        ends = np.cumsum(share)
        return np.minimum(np.searchsorted(ends, generator.random(self._samples) * ends[-1], side="right"), len(share) - 1)


def _rows(data_source: Any) -> int:
    return data_source if isinstance(data_source, int) else len(data_source)
