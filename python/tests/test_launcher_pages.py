"""The jobs of the pages about launchers, without shardfeed and with it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import DOCS, blocks, changed_lines, job, patched
from ranks import FRUGAL
from servers import free_port

pytestmark = pytest.mark.timeout(600)

MOST = 5  # changed lines
EPOCH = 32  # steps of two ranks with batches of 64 of 4000 rows
KEPT = 20  # the steps between two checkpoints
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2")


@pytest.mark.parametrize("page", ["launchers.md", "ray.md", "slurm.md", "kubernetes.md", "spark.md"])
def test_few_lines_change(page: str) -> None:
    diffs = blocks(page, "diff")
    assert diffs, f"{page} shows no diff"
    assert [changed_lines(diff) for diff in diffs if changed_lines(diff) > MOST] == []


@pytest.mark.parametrize(
    ("diff", "count"),
    [
        ("-a\n+b\n", 1),
        ("-a\n-b\n+c\n", 2),
        ("+a\n x\n-b\n", 2),
        (" x\n+a\n+b\n ...\n-c\n+d\n+e\n", 4),
    ],
)
def test_counting(diff: str, count: int) -> None:
    assert changed_lines(diff) == count


def test_a_diff_of_another_job_does_not_apply() -> None:
    assert patched("a\nb\nc\n", "-a\n+x\n ...\n c\n+d\n") == "x\nb\nc\nd\n"
    for diff in ("-d\n", "-a\n c\n", " b\n ...\n-a\n"):
        with pytest.raises(AssertionError, match="no such lines"):
            patched("a\nb\nc\n", diff)


@pytest.mark.parametrize("page", ["slurm.md", "kubernetes.md"])
def test_the_same_script_runs_under_all(page: str) -> None:
    """Slurm and Kubernetes run the script of torchrun, with the same change."""
    assert blocks(page, "diff")[0] == blocks("launchers.md", "diff")[0]
    assert "launchers.md#torchrun" in (DOCS / page).read_text()


def test_torchrun_without(runtime: Path, shards: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(script())
    assert steps_of(run(tmp_path, *TORCHRUN, "--standalone", "train.py", str(shards))) == [(epoch, EPOCH) for epoch in range(3)]


def test_torchrun_with(runtime: Path, shards: Path, tmp_path: Path) -> None:
    """Three epochs, and a second start at the last checkpoint, by Slurm's batch script."""
    (diff,) = blocks("launchers.md", "diff")
    (tmp_path / "train.py").write_text(patched(script(), diff))
    assert "datasets" not in (tmp_path / "train.py").read_text()
    assert steps_of(run(tmp_path, *TORCHRUN, "--standalone", "train.py", str(shards))) == [(epoch, EPOCH) for epoch in range(3)]
    (tmp_path / "job.sbatch").write_text(on_this_machine(job("slurm.md", "## Change the script", "bash"), shards))
    assert steps_of(run(tmp_path, "bash", "job.sbatch", **slurm(tmp_path))) == [(2, EPOCH - KEPT)]


def script() -> str:
    return job("launchers.md", "## torchrun")


def on_this_machine(batch: str, shards: Path) -> str:
    """Slurm's batch script with a table, processes and a port of this machine."""
    here = {
        "s3://bucket/table": str(shards),
        " torchrun ": f" {' '.join(TORCHRUN[:-1])} ",
        "--nproc-per-node=8": "--nproc-per-node=2",
        ":29500": f":{free_port()}",
    }
    for there, ours in here.items():
        assert there in batch
        batch = batch.replace(there, ours)
    return batch


def slurm(directory: Path) -> dict[str, str]:
    """The environment of a batch script on one node: srun starts its one task here."""
    programs = directory / "slurm"
    programs.mkdir()
    for name, body in {"srun": 'while [[ $1 == --* ]]; do shift; done; exec "$@"', "scontrol": "echo 127.0.0.1"}.items():
        (programs / name).write_text(f"#!/usr/bin/env bash\n{body}\n")
        (programs / name).chmod(0o755)
    numbers = {"SLURM_NNODES": "1", "SLURM_JOB_ID": "7", "SLURM_CPUS_PER_TASK": "2", "SLURM_JOB_NODELIST": "here"}
    return {"PATH": f"{programs}:{os.environ['PATH']}", **numbers}


def run(directory: Path, *command: str, **more: str) -> str:
    own = {"HF_HOME": str(directory / "hf"), "TRITON_CACHE_DIR": str(directory / "triton"), **more}
    own["CUDA_VISIBLE_DEVICES"] = ""  # the ranks may be more than the GPUs
    env = {k: v for k, v in (os.environ | FRUGAL | own).items() if k != "SHARDFEED_JOB"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=directory, timeout=500)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def steps_of(output: str) -> list[tuple[int, int]]:
    return [(int(epoch), int(steps)) for epoch, steps in re.findall(r"epoch (\d): (\d+) steps", output)]
