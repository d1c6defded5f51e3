"""What started this process, and which of its tasks it is.

This is the one place that knows torchrun, Ray, Slurm, MPI and JAX. Nothing here imports a framework
or starts a collective.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..errors import OptionError


class Place(NamedTuple):
    """A rank and the number of ranks, as somebody says it."""

    rank: int
    world_size: int
    by: str  # who says it, in words


# A launcher sets both variables of its line in each of its tasks: the task's number, and the count.
_TASKS = (
    ("Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MPI", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("MPI", "PMI_RANK", "PMI_SIZE"),
)


def place() -> Place | None:
    """Returns the rank of this process, None if it is unknown.

    It comes from the variables of torchrun, Accelerate, DeepSpeed or Spark's distributor; else
    Ray Train; else an initialised process group; else jax.distributed.
    """
    return from_environment() or _from_ray() or from_process_group() or _from_jax()


def from_environment() -> Place | None:
    rank, world_size = variable("RANK"), variable("WORLD_SIZE")
    return None if rank is None or world_size is None else Place(rank, world_size, "RANK and WORLD_SIZE")


def from_process_group() -> Place | None:
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return Place(distributed.get_rank(), distributed.get_world_size(), "torch's process group")


def _from_ray() -> Place | None:
    context = _ray_train()
    return None if context is None else Place(context.get_world_rank(), context.get_world_size(), "Ray Train")


def _from_jax() -> Place | None:
    jax = sys.modules.get("jax")
    begun = getattr(getattr(jax, "distributed", None), "is_initialized", None)
    if jax is None or begun is None or not begun():
        return None
    return Place(jax.process_index(), jax.process_count(), "jax.distributed")


def _jax_job() -> str | None:
    """The coordinator of jax.distributed names the job. JAX keeps its address private."""
    begun = getattr(sys.modules.get("jax._src.distributed"), "global_state", None)
    address = getattr(begun, "coordinator_address", None)
    return f"jax {address} {_boot()}" if address else None


def task() -> Place | None:
    """Returns which of a launcher's tasks this process is, if there are several.

    A task need not be a rank: it may be the agent of several ranks, or work on its own.
    """
    for name, rank, count in _TASKS:
        own, tasks = variable(rank), variable(count)
        if own is not None and tasks is not None and tasks > 1:
            return Place(own, tasks, f"{name} ({count}={tasks})")
    return None


def job() -> str | None:
    """Returns a name that the processes of one job on one machine share, and no other job has.

    None without a launcher. Ranks of a job may have several agents on a machine, so variables that
    differ between agents are left out. The master's port belongs to one job at a time. The boot's
    number distinguishes machines that share a disk.
    """
    names = os.environ
    if names.get("MASTER_PORT") and from_environment():
        run = names.get("TORCHELASTIC_RUN_ID", "")
        return " ".join(["ranks", names.get("MASTER_ADDR", ""), names["MASTER_PORT"], run, _boot()])
    if named := _ray_job():
        return named
    if slurm := names.get("SLURM_JOB_ID"):
        return " ".join(["slurm", slurm, names.get("SLURM_STEP_ID", ""), names.get("SLURM_NODEID", "")])
    return _jax_job()


def group() -> str:
    """Returns the placement group of Ray that this process works in; empty outside of one.

    Each trial of Ray Tune and each group of Ray Train's workers has one.
    """
    context = _ray_worker()
    return "" if context is None else context.get_placement_group_id() or ""


def _ray_job() -> str | None:
    """A group of workers is a job; a task outside of one is a job of its own."""
    context = _ray_worker()
    if context is None:
        return None
    return f"ray group {group()} {_boot()}" if group() else f"ray worker {context.get_worker_id()}"


def _ray_worker() -> Any | None:
    """The runtime context of a worker of Ray; None in a driver and anywhere else."""
    ray = sys.modules.get("ray")
    if ray is None or not ray.is_initialized():
        return None
    context = ray.get_runtime_context()
    return context if context.worker.mode == ray.WORKER_MODE else None


def attempt() -> str:
    """Returns how often the launcher has restarted the ranks of this machine; empty if unknown.

    Machines count for themselves: what they agree on must not hold it.
    """
    return os.environ.get("TORCHELASTIC_RESTART_COUNT", "")


def local_world_size() -> int:
    """Returns how many ranks of the job run on this machine; 0 when nothing says it."""
    own = variable("LOCAL_WORLD_SIZE")
    if own is None and (context := _ray_train()) is not None:
        own = int(context.get_local_world_size())
    return own or 0


def _ray_train() -> Any | None:
    """The context of Ray Train in its workers; None anywhere else."""
    train = sys.modules.get("ray.train")
    if train is None:
        return None
    try:
        context = train.get_context()
        return context if context.get_world_size() else None
    except Exception:  # outside of a worker, Ray raises a different error in each kind of process
        return None


def variable(name: str, environment: Mapping[str, str] | None = None) -> int | None:
    """Returns the number in an environment variable, None without it."""
    text = (os.environ if environment is None else environment).get(name)
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise OptionError(f"the environment variable {name} must be a whole number, got {text!r}") from None


@functools.cache
def _boot() -> str:
    """The number of this machine's boot, which containers on it share."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""
