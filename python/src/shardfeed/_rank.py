"""The rank and the job of this process. Nothing here starts a collective."""

from __future__ import annotations

import contextlib
import hashlib
import operator
import os
import sys
from collections.abc import Mapping
from typing import Any

from ._checks import got
from .errors import OptionError

# A process outside of a launcher's job leaves this to its children, so that they find its engine.
_OWN_JOB = "SHARDFEED_PROCESS_JOB"

_MOST = 2**31  # ranks; the engine has a limit of its own


def resolve(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """Returns rank and world size: the arguments, else torchrun's environment, else an initialised
    process group, else 0 of 1.
    """
    if (rank is None) != (world_size is None):
        raise OptionError(f"rank and world_size belong together: give both or neither, got rank={rank!r}, world_size={world_size!r}")
    if rank is None or world_size is None:
        rank, world_size = _from_environment(os.environ) or _from_process_group() or (0, 1)
    rank, world_size = _whole("rank", rank), _whole("world_size", world_size)
    if not 0 <= rank < world_size:
        raise OptionError(f"rank must be at least 0 and below world_size {world_size}, got {rank}")
    return rank, world_size


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


def local_world_size() -> int:
    """Returns how many ranks of the job run on this node; 0 when the environment does not say."""
    return _number(os.environ, "LOCAL_WORLD_SIZE") or 0


def job() -> str:
    """Returns the name of the job on this node.

    Its processes, and their children, share one engine.
    """
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
        raise OptionError(f"the environment variable {name} must be a whole number, got {text!r}") from None


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
