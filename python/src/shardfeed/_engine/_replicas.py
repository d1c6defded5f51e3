"""Replicas: ranks that must see the same batches, as tensor and pipeline parallel ranks do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .._args._checks import got, is_whole, type_name
from ..errors import OptionError
from . import _launcher

_MOST_SHARED = 64  # replicas that the engine lets read one ring


class Share(NamedTuple):
    """What this process reads, and who reads the same."""

    rank: int  # among the data ranks
    world_size: int  # how many of these there are
    replication: int = 1  # ranks that claim each data rank
    replica: int = 0  # which of the replicas of this machine this process is
    replicas: int = 1  # that share each batch in memory; 1: this process has its own
    job_rank: int = 0  # of this process among all
    job_world_size: int = 1

    def agreement(self, name: str) -> str:
        """The name under which the engine compares the ranks; empty when there is one."""
        if self.job_world_size == 1:
            return ""
        alone = self.replication > 1 and self.replicas == 1
        return f"{name} replica of rank {self.job_rank % self.replication}" if alone else name

    def of_join(self) -> dict[str, int]:
        """The members of Join and Ask."""
        return {"replica": self.replica, "replicas": self.replicas, "replication": self.replication}


class Mesh(NamedTuple):
    """The data dimensions of a DeviceMesh, and this process's place in them."""

    rank: int
    world_size: int
    job_rank: int
    job_world_size: int
    same: tuple[int, ...]  # ranks at this place; empty when it is not known


def of_ranks(rank: int, world_size: int, replication: int) -> Share:
    """The share of a rank when each ``replication`` ranks in a row see the same batches."""
    if world_size % replication:
        divisors = ", ".join(str(n) for n in range(1, world_size + 1) if world_size % n == 0)
        raise OptionError(f"replication must divide the world size of {world_size} ({divisors}), got {replication}")
    first = rank // replication * replication
    share = Share(rank // replication, world_size // replication, replication, job_rank=rank, job_world_size=world_size)
    return _shared(share, range(first, first + replication))


def of_mesh(mesh: Mesh) -> Share:
    """The share of a rank in a mesh."""
    replication = mesh.job_world_size // mesh.world_size
    return _shared(Share(mesh.rank, mesh.world_size, replication, 0, 1, mesh.job_rank, mesh.job_world_size), mesh.same)


def _shared(share: Share, same: Sequence[int]) -> Share:
    """The share with the replicas that this machine runs, as far as the launcher says."""
    local = _local_ranks(share.job_rank)
    here = [rank for rank in same if rank in local]
    if len(here) < 2 or len(here) > _MOST_SHARED or share.job_rank not in here:
        return share
    return share._replace(replica=here.index(share.job_rank), replicas=len(here))


def _local_ranks(rank: int) -> range:
    """The ranks of this machine: torchrun numbers them consecutively."""
    own, local, count = (_launcher.variable(name) for name in ("RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"))
    if own != rank or local is None or count is None or not 0 <= local < count:
        return range(0)
    return range(own - local, own - local + count)


def number(value: Any) -> int:
    """How many ranks see the same batches."""
    if value is None:
        return 1
    if not is_whole(value) or value < 1:
        raise OptionError(f"replication must be a whole number of at least 1, {got(value)}")
    return int(value)


def from_mesh(mesh: Any) -> Mesh | None:
    """Reads a torch DeviceMesh, or the part of one that has only its data dimensions."""
    if mesh is None:
        return None
    if not all(hasattr(mesh, name) for name in ("mesh", "get_coordinate", "size", "device_type")):
        raise OptionError(f"mesh must be the data dimensions of a torch DeviceMesh, as mesh['dp'], got {type_name(mesh)}")
    import torch.distributed as dist

    place = mesh.get_coordinate()
    if place is None:
        raise OptionError(f"mesh has no place for this rank: its ranks are {mesh.mesh.flatten().tolist()}, and this is {dist.get_rank()}")
    rank, world_size, job = 0, int(mesh.size()), (dist.get_rank(), dist.get_world_size())
    for at, size in zip(place, mesh.mesh.shape):
        rank = rank * int(size) + int(at)
    if job[1] % world_size:
        raise OptionError(f"mesh has {world_size} places for data, which must divide the world size of {job[1]}")
    return Mesh(rank, world_size, *job, _same_place(mesh, place))


def _same_place(mesh: Any, place: Sequence[int]) -> tuple[int, ...]:
    """The ranks at the same place of the data dimensions. Torch's way to the whole mesh is not public, and may be missing."""
    try:
        names, root = mesh.mesh_dim_names, _root(mesh)
        if root is mesh:
            return ()
        data = [root.mesh_dim_names.index(name) for name in names]
        index = [place[data.index(d)] if d in data else slice(None) for d in range(root.mesh.ndim)]
        return tuple(sorted(root.mesh[tuple(index)].flatten().tolist()))
    except (AttributeError, ImportError, KeyError, TypeError, ValueError, IndexError, RuntimeError):
        return ()


def _root(mesh: Any) -> Any:
    if hasattr(mesh, "_get_root_mesh"):
        return mesh._get_root_mesh()
    from torch.distributed.device_mesh import _mesh_resources

    return _mesh_resources.get_root_mesh(mesh)
