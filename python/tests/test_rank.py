"""Rank, world size and job, from arguments, environment and process group."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import shardfeed
from shardfeed import errors
from shardfeed._engine import _connected, _launcher, _rank

NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT", "PMI_RANK", "PMI_SIZE")
FAMILIES = ("SHARDFEED_JOB", "SHARDFEED_PROCESS_JOB", "TORCHELASTIC_", "SLURM_", "OMPI_", "MV2_")


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name in NAMES or name.startswith(FAMILIES):
            monkeypatch.delenv(name)
    for module in ("ray", "ray.train", "jax", "torch.distributed"):
        monkeypatch.delitem(sys.modules, module, raising=False)


class Group:
    """Stands for torch.distributed."""

    def __init__(self, initialized: bool):
        self.is_available = lambda: True
        self.is_initialized = lambda: initialized
        self.get_rank = lambda: 5
        self.get_world_size = lambda: 6


@pytest.mark.parametrize(
    ("given", "environment", "group", "want"),
    [
        ((None, None), {}, None, (0, 1)),
        ((1, 2), {"RANK": "3", "WORLD_SIZE": "4"}, True, (1, 2)),
        ((None, None), {"RANK": "3", "WORLD_SIZE": "4"}, True, (3, 4)),
        ((None, None), {"RANK": "3"}, True, (5, 6)),
        ((None, None), {}, False, (0, 1)),
        ((None, None), {"RANK": "", "WORLD_SIZE": ""}, None, (0, 1)),
    ],
)
def test_resolve(monkeypatch: pytest.MonkeyPatch, given, environment, group, want) -> None:  # type: ignore[no-untyped-def]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    if group is None:
        monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)
    else:
        monkeypatch.setitem(sys.modules, "torch.distributed", Group(group))
    assert _rank.resolve(*given) == want


@pytest.mark.parametrize(
    ("given", "environment", "says"),
    [
        ((2, 2), {}, "rank must be at least 0 and below world_size 2, got 2"),
        ((-1, 2), {}, "got -1"),
        ((0, 0), {}, "world_size must be at least 1, got 0"),
        ((1, None), {}, "belong together"),
        ((None, 2), {}, "belong together"),
        ((None, None), {"RANK": "one", "WORLD_SIZE": "2"}, "RANK must be a whole number, got 'one'"),
    ],
)
def test_what_cannot_be(monkeypatch: pytest.MonkeyPatch, given, environment, says) -> None:  # type: ignore[no-untyped-def]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(errors.OptionError, match=says):
        _rank.resolve(*given)


def test_torch_is_not_imported() -> None:
    code = "import sys, shardfeed, shardfeed._engine._connection; from shardfeed._engine import _rank; _rank.resolve(None, None); "
    code += "print([m for m in ('torch', 'pyarrow', 'pandas') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_local_world_size(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _launcher.local_world_size() == 0
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert _launcher.local_world_size() == 4


def test_own_job() -> None:
    own = _rank.job()
    assert str(os.getpid()) in own
    child = subprocess.check_output([sys.executable, "-c", "from shardfeed._engine import _rank; print(_rank.job())"], text=True)
    assert child.strip() == own, "a child finds its parent's engine"


# What launchers set, as far as it says who a process is: two processes of one machine.
TORCHRUN = {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29400", "TORCHELASTIC_RUN_ID": "run"}
SLURM = {"SLURM_JOB_ID": "17", "SLURM_STEP_ID": "0", "SLURM_NODEID": "1", "SLURM_STEP_NUM_TASKS": "4"}
MASTER = {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500", "WORLD_SIZE": "4"}
RECORDED = {
    "torchrun": [{**TORCHRUN, "RANK": r, "GROUP_RANK": "0"} for r in "01"],
    "torchrun, two agents": [{**TORCHRUN, "RANK": r, "GROUP_RANK": r} for r in "01"],
    "torchrun, agents that count for themselves": [{**TORCHRUN, "RANK": r, "TORCHELASTIC_RESTART_COUNT": r} for r in "01"],
    "Accelerate": [{**MASTER, "RANK": r, "LOCAL_RANK": r} for r in "01"],
    "DeepSpeed": [{**MASTER, "RANK": r, "CROSS_RANK": "0", "LOCAL_SIZE": "2"} for r in "01"],
    "Ray Train with torch": [{**MASTER, "RANK": r, "LOCAL_WORLD_SIZE": "2", "ROLE_RANK": r} for r in "01"],
    "Spark's distributor": [{**TORCHRUN, "RANK": r, "GROUP_RANK": r, "LOCAL_WORLD_SIZE": "1"} for r in "01"],
    "Slurm with variables of ranks": [{**SLURM, **MASTER, "RANK": r, "SLURM_PROCID": r} for r in "01"],
    "srun": [{**SLURM, "SLURM_PROCID": r, "SLURM_LOCALID": r} for r in "01"],
    "named": [{"SHARDFEED_JOB": "mine", "RANK": r, "WORLD_SIZE": "2"} for r in "01"],
}


def job_in(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> str:
    with monkeypatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        return _rank.job()


@pytest.mark.parametrize("launcher", RECORDED)
def test_one_engine_a_machine(monkeypatch: pytest.MonkeyPatch, launcher: str) -> None:
    one, two = (job_in(monkeypatch, process) for process in RECORDED[launcher])
    assert one == two
    assert not one.startswith("process ")


@pytest.mark.parametrize(("launcher", "name"), [("torchrun", "MASTER_PORT"), ("srun", "SLURM_STEP_ID"), ("srun", "SLURM_NODEID")])
def test_another_job_has_another_engine(monkeypatch: pytest.MonkeyPatch, launcher: str, name: str) -> None:
    process = RECORDED[launcher][0]
    assert job_in(monkeypatch, process) != job_in(monkeypatch, {**process, name: "29401"})


def test_restart_counts_are_of_one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "3")
    agreed = _connected.agreement()
    assert " " not in agreed, "machines that count for themselves meet under this name"
    assert _connected.opening(agreed) == f"{agreed} 3"


TASKS = {
    "Slurm": {"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "4"},
    "MPI": {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"},
    "MVAPICH": {"MV2_COMM_WORLD_RANK": "2", "MV2_COMM_WORLD_SIZE": "4"},
    "MPICH": {"PMI_RANK": "2", "PMI_SIZE": "4"},
}


@pytest.mark.parametrize("launcher", TASKS)
def test_no_task_reads_all_rows_silently(monkeypatch: pytest.MonkeyPatch, job: str, shards: Path, launcher: str) -> None:
    for name, value in TASKS[launcher].items():
        monkeypatch.setenv(name, value)
    dataset = shardfeed.StreamingDataset(shards, batch_size=100, columns=["id"])  # a process group may begin after it
    with pytest.raises(errors.OptionError, match=r"task 2 of 4 of .*set RANK=2 and WORLD_SIZE=4 .*rank=0, world_size=1"):
        next(iter(dataset))
    given = shardfeed.StreamingDataset(shards, batch_size=100, columns=["id"], rank=0, world_size=1)
    assert len(next(iter(given))) == 1
    monkeypatch.setitem(sys.modules, "torch.distributed", Group(True))
    assert dataset.world_size == 6
    next(iter(dataset))


@pytest.mark.parametrize(
    "environment",
    [{}, {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}, {"SLURM_STEP_NUM_TASKS": "4"}, {"SLURM_NTASKS": "4", "SLURM_JOB_ID": "1"}],
)
def test_one_task_is_a_rank(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    _rank.check(None, None)


def test_spawned_workers_are_refused_in_the_trainer(monkeypatch: pytest.MonkeyPatch, job: str, shards: Path) -> None:
    from torch.utils.data import DataLoader

    import shardfeed.torch

    for name, value in TASKS["Slurm"].items():
        monkeypatch.setenv(name, value)
    dataset = shardfeed.torch.StreamingDataset(shards, batch_size=100, columns=["id"])
    with pytest.raises(errors.OptionError, match="task 2 of 4"):
        next(iter(DataLoader(dataset, batch_size=None, num_workers=1, multiprocessing_context="spawn")))


def test_contradiction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.distributed", Group(True))
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    with pytest.raises(errors.OptionError, match=r"RANK and WORLD_SIZE say rank 0 of 1, and torch's process group says rank 5 of 6: "):
        _rank.check(None, None)
    _rank.check(0, 1)
    monkeypatch.setenv("RANK", "5")
    monkeypatch.setenv("WORLD_SIZE", "6")
    _rank.check(None, None)


class Jax:
    """Stands for jax."""

    def __init__(self, begun: bool):
        self.distributed = SimpleNamespace(is_initialized=lambda: begun)
        self.process_index, self.process_count = (lambda: 1), (lambda: 2)


@pytest.mark.parametrize(("begun", "want"), [(True, (1, 2)), (False, (0, 1))])
def test_jax(monkeypatch: pytest.MonkeyPatch, begun: bool, want: tuple[int, int]) -> None:
    monkeypatch.setitem(sys.modules, "jax", Jax(begun))
    assert _rank.resolve(None, None) == want


class Ray:
    """Stands for ray in a process of a kind."""

    WORKER_MODE = 1

    def __init__(self, mode: int, group: str | None, worker: str = "w"):
        self.is_initialized = lambda: True
        context = SimpleNamespace(worker=SimpleNamespace(mode=mode), get_placement_group_id=lambda: group, get_worker_id=lambda: worker)
        self.get_runtime_context = lambda: context


def ray_job(monkeypatch: pytest.MonkeyPatch, ray: Ray, **environment: str) -> str:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "ray", ray)
        return job_in(patch, environment)


def test_jobs_under_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    leaked = {"SHARDFEED_PROCESS_JOB": "process 1 of the driver"}
    trial, again, other = (ray_job(monkeypatch, Ray(1, g, w), **leaked) for g, w in [("g", "1"), ("g", "2"), ("h", "3")])
    assert trial == again != other
    tasks = {ray_job(monkeypatch, Ray(1, None, worker), **leaked) for worker in "12"}
    assert len(tasks) == 2
    assert ray_job(monkeypatch, Ray(0, None), **leaked) == "process 1 of the driver"
    named = {ray_job(monkeypatch, Ray(1, group), SHARDFEED_JOB="mine") for group in "gh"}
    assert len(named) == 2, "trials that all have one environment"
    assert ray_job(monkeypatch, Ray(1, None), SHARDFEED_JOB="mine") == "named mine"


@pytest.mark.parametrize(("world_size", "want"), [(3, (2, 3)), (None, (0, 1)), (0, (0, 1))])
def test_ray_train(monkeypatch: pytest.MonkeyPatch, world_size: int | None, want: tuple[int, int]) -> None:
    context = SimpleNamespace(get_world_rank=lambda: 2, get_world_size=lambda: world_size, get_local_world_size=lambda: 2)
    monkeypatch.setitem(sys.modules, "ray.train", SimpleNamespace(get_context=lambda: context))
    assert _rank.resolve(None, None) == want
    assert _launcher.local_world_size() == (2 if world_size else 0)


def test_errors_survive_pickling() -> None:
    import pickle

    for kind in errors._KINDS:
        error = errors.from_failure({"kind": kind, "text": "a text", "shard": "s3://x", "row_group": 0, "details": ["d"]})
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == "a text"
        assert (again.shard, again.row_group, again.details) == ("s3://x", 0, ("d",))
        assert str(type(error)("as torch's workers raise it")) == "as torch's workers raise it"
    assert isinstance(errors.from_failure({"kind": "new"}), errors.EngineError)
