"""Ranks as threads that meet in one store, with or without the engines of their nodes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from shardfeed import errors
from shardfeed._engine._process import Engine
from shardfeed.torch._ranks._meeting import Meeting

NAME = "train.py:3#1"
NODE = 2  # ranks

_job = ""  # of the engines; empty: none are used


@pytest.fixture(params=["each rank", "one of a node"])
def goers(request: pytest.FixtureRequest, job: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Which ranks go to the store."""
    monkeypatch.setitem(globals(), "_job", "" if request.param == "each rank" else job)
    return str(request.param)


def attend(store: Any, rank: int, world_size: int, timeout: float | None = 60.0) -> Meeting:
    """A rank's part in a meeting."""
    engine = Engine(f"{_job} {rank // NODE}", local_world_size=NODE) if _job else None
    return Meeting(store, NAME, rank, world_size, timeout, engine)


def meet(store: Any, world_size: int, part: Callable[[Meeting], Any], *, timeout: float | None = 60.0, version: str = "1.0") -> list[Any]:
    """What part returns or raises on each rank."""

    def one(rank: int) -> Any:
        meeting = attend(store, rank, world_size, timeout)
        meeting.version = version
        try:
            found = part(meeting)
        except errors.ShardfeedError as e:
            meeting.leave(e)
            return e
        meeting.close()
        return found

    with ThreadPoolExecutor(world_size) as pool:
        return list(pool.map(one, range(world_size)))
