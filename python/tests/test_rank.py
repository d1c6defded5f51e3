"""Rank, world size and job, from arguments, environment and process group."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from shardfeed import _rank, errors

NAMES = [
    "RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "SHARDFEED_JOB",
    "SHARDFEED_PROCESS_JOB",
    "TORCHELASTIC_RUN_ID",
    "MASTER_ADDR",
    "MASTER_PORT",
    "GROUP_RANK",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_NODEID",
]


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)


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
    code = "import sys, shardfeed, shardfeed._connection; from shardfeed import _rank; _rank.resolve(None, None); "
    code += "print([m for m in ('torch', 'pyarrow', 'pandas') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_local_world_size(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _rank.local_world_size() == 0
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert _rank.local_world_size() == 4


def test_job(monkeypatch: pytest.MonkeyPatch) -> None:
    own = _rank.job()
    assert str(os.getpid()) in own
    child = subprocess.check_output([sys.executable, "-c", "from shardfeed import _rank; print(_rank.job())"], text=True)
    assert child.strip() == own, "a child finds its parent's engine"
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("SLURM_NODEID", "2")
    assert _rank.job() == "slurm 17  2"
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "run")
    monkeypatch.setenv("MASTER_PORT", "29500")
    assert _rank.job() == "torchrun run  29500 "
    monkeypatch.setenv("SHARDFEED_JOB", "mine")
    assert _rank.job() == "named mine"


def test_errors_survive_pickling() -> None:
    import pickle

    for kind in errors._KINDS:
        error = errors.from_failure({"kind": kind, "text": "a text", "shard": "s3://x", "row_group": 0, "details": ["d"]})
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == "a text"
        assert (again.shard, again.row_group, again.details) == ("s3://x", 0, ("d",))
        assert str(type(error)("as torch's workers raise it")) == "as torch's workers raise it"
    assert isinstance(errors.from_failure({"kind": "new"}), errors.EngineError)
