"""Ranks as threads that meet in one store."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from shardfeed import errors
from shardfeed.torch._meeting import Meeting

NAME = "train.py:3#1"


def meet(store: Any, world_size: int, part: Callable[[Meeting], Any], *, timeout: float | None = 60.0, version: str = "1.0") -> list[Any]:
    """What part returns or raises on each rank."""

    def one(rank: int) -> Any:
        meeting = Meeting(store, NAME, rank, world_size, timeout)
        meeting.version = version
        try:
            return part(meeting)
        except errors.ShardfeedError as e:
            meeting.leave(e)
            return e

    with ThreadPoolExecutor(world_size) as pool:
        return list(pool.map(one, range(world_size)))
