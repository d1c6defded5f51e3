"""Who this process is: its rank, and the job that it belongs to. Asks nobody: no collective is ever begun here."""

from __future__ import annotations

import hashlib
import operator
import os
import sys
from collections.abc import Mapping
from typing import Any

from .errors import OptionError

# What a process that belongs to no launcher's job leaves to its children, so that they find its engine.
_OWN_JOB = "SHARDFEED_PROCESS_JOB"

_MOST = 2**31  # of ranks; the engine knows how many it can do


def resolve(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """Returns rank and world size: the arguments, else torchrun's environment, else an initialised process group, else 0 of 1."""
    if (rank is None) != (world_size is None):
        raise OptionError("rank and world_size belong together: give both or none")
    if rank is None or world_size is None:
        rank, world_size = _from_environment(os.environ) or _from_process_group() or (0, 1)
    rank, world_size = _whole("rank", rank), _whole("world_size", world_size)
    if not 0 <= rank < world_size:
        raise OptionError(f"rank {rank} is not one of a world of {world_size}: ranks count from 0")
    return rank, world_size


def _whole(name: str, value: Any) -> int:
    try:
        whole = operator.index(value)
    except TypeError:
        raise OptionError(f"{name}={value!r} is no whole number") from None
    if isinstance(value, bool) or whole >= _MOST:
        raise OptionError(f"{name}={value!r} cannot be meant: it is {'no number' if isinstance(value, bool) else 'too large'}")
    return whole


def local_world_size() -> int:
    """Returns how many ranks of the job run on this node; 1 when nobody says."""
    return _number(os.environ, "LOCAL_WORLD_SIZE") or 1


def job() -> str:
    """Returns the name of the job on this node. Its processes, and their children, share one engine."""
    environment = os.environ
    if name := environment.get("SHARDFEED_JOB"):
        return f"named {name}"
    if run := environment.get("TORCHELASTIC_RUN_ID"):
        return "torchrun " + " ".join([run] + [environment.get(k, "") for k in ("MASTER_ADDR", "MASTER_PORT", "GROUP_RANK")])
    if run := environment.get("SLURM_JOB_ID"):
        return " ".join(["slurm", run, environment.get("SLURM_STEP_ID", ""), environment.get("SLURM_NODEID", "")])
    return environment.setdefault(_OWN_JOB, f"process {os.getpid()} {_start_time()}")


def digest(text: str) -> str:
    """Returns a short name for text that a file can have."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _from_environment(environment: Mapping[str, str]) -> tuple[int, int] | None:
    rank, world_size = _number(environment, "RANK"), _number(environment, "WORLD_SIZE")
    return None if rank is None or world_size is None else (rank, world_size)


def _number(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name)
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise OptionError(f"the environment's {name} is {text!r}, which is no number") from None


def _from_process_group() -> tuple[int, int] | None:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank(), distributed.get_world_size()


def _start_time() -> str:
    """Tells this process from another one that had its number."""
    try:
        with open("/proc/self/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[19].decode()
    except OSError:  # no /proc
        return os.urandom(8).hex()
