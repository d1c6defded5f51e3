"""What an iteration needs of its loader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch

from .._waited import Waited


class Feed(Protocol):
    """A DataLoader."""

    dataset: Any
    collate_fn: Callable[[Any], Any] | None
    device: torch.device | None
    num_workers: int
    _stamp: Any  # the place after the last batch that was handed out: its epoch, and what grows
    threads: int
    prefetch: int
    prefetch_factor: int | None

    @property
    def _waited(self) -> Waited | None: ...

    def _open(self) -> tuple[Any, Any]: ...

    def _reserve(self, size: int) -> None: ...

    def _take_pool(self, slots: int) -> Any: ...

    def _give_pool_back(self, pool: Any) -> None: ...
