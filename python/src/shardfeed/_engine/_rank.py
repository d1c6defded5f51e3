"""The rank and the job of this process. Nothing here starts a collective."""

from __future__ import annotations

import contextlib
import hashlib
import operator
import os
from typing import Any

from .._args._checks import got
from ..errors import OptionError
from . import _launcher

# A process outside of a launcher's job leaves this to its children, so that they find its engine.
_OWN_JOB = "SHARDFEED_PROCESS_JOB"

_MOST = 2**31  # ranks; the engine has a limit of its own


def resolve(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """Returns rank and world size: the arguments, else what the launcher says, else 0 of 1."""
    if (rank is None) != (world_size is None):
        raise OptionError(f"rank and world_size belong together: give both or neither, got rank={rank!r}, world_size={world_size!r}")
    if rank is None or world_size is None:
        rank, world_size, _ = _launcher.place() or (0, 1, "")
    rank, world_size = _whole("rank", rank), _whole("world_size", world_size)
    if world_size < 1:
        raise OptionError(f"world_size must be at least 1, got {world_size}")
    if not 0 <= rank < world_size:
        raise OptionError(f"rank must be at least 0 and below world_size {world_size}, got {rank}")
    return rank, world_size


def check(rank: int | None, world_size: int | None) -> None:
    """Refuses to guess which rank this is, before it reads: if a launcher runs several tasks and
    their ranks are unknown, all of them would read every row.

    The constructor does not ask, since a process group may start after it.
    """
    if rank is not None and world_size is not None:
        return
    place, group = _launcher.place(), _launcher.from_process_group()
    if place is not None and group is not None and place[:2] != group[:2]:
        raise OptionError(
            f"{place.by} say rank {place.rank} of {place.world_size}, and {group.by} says rank {group.rank} of {group.world_size}: "
            "set the variables to what is right, or give rank= and world_size="
        )
    task = _launcher.task()
    if place is None and task is not None:
        raise OptionError(
            f"this is task {task.rank} of {task.world_size} of {task.by}, and nothing says which rank it is, so each task would read all "
            f"rows: set RANK={task.rank} and WORLD_SIZE={task.world_size} in its environment, or begin torch's process group or "
            "jax.distributed before the first batch; give rank=0, world_size=1 where each task is to read all rows"
        )


def _whole(name: str, value: Any) -> int:
    whole = None
    if not isinstance(value, bool):
        with contextlib.suppress(TypeError):
            whole = operator.index(value)
    if whole is None:
        raise OptionError(f"{name} must be a whole number, {got(value)}")
    if whole >= _MOST:
        raise OptionError(f"{name} must be below {_MOST}, got {whole}")
    return whole


def job() -> str:
    """Returns the name of the job on this machine.

    Its processes, and their children, share one engine.
    """
    if name := os.environ.get("SHARDFEED_JOB"):
        return " ".join(["named", name, *filter(None, [_launcher.group()])])  # trials may all have one environment
    return _launcher.job() or os.environ.setdefault(_OWN_JOB, f"process {os.getpid()} {_start_time()}")


def digest(text: str) -> str:
    """Returns a short name for text that a file can have."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _start_time() -> str:
    """Returns the start time, which distinguishes processes that had the same number."""
    try:
        with open("/proc/self/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[19].decode()
    except OSError:  # no /proc
        return os.urandom(8).hex()
