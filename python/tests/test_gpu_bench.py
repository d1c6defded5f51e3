"""The benchmark of GPUs without one: it says so; and on the fake device it runs to its end without a figure."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import fakecuda
import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench" / "gpu"

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.timeout(900)


def bench(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCH / "run.py"), "--smoke", *arguments],
        env=dict(os.environ) | env,
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.mark.skipif(torch.cuda.is_available(), reason="this is for machines without CUDA")
def test_without_a_device(tmp_path: Path) -> None:
    done = bench("--out", str(tmp_path / "records"))
    assert done.returncode == 1 and done.stderr.startswith("no CUDA device: ") and "Traceback" not in done.stderr
    assert not done.stdout and not (tmp_path / "records").exists()


def test_on_the_fake(runtime: Path, job: str, tmp_path: Path) -> None:
    try:
        library = fakecuda.library()
    except fakecuda.Missing as e:
        pytest.skip(str(e))
    out, journal = tmp_path / "records", tmp_path / "journal"
    fake = {"LD_PRELOAD": str(library), "FAKECUDART_JOURNAL": str(journal), "FAKECUDART_KERNEL_US": "100"}
    done = bench("--out", str(out), **fake)
    assert done.returncode == 0, done.stderr
    fakecuda.Journal.read(journal).clean()
    assert done.stdout.startswith("fake, ") and "nothing is measured" in done.stdout
    assert "|" not in done.stdout and done.stdout.count("ran on the fake device, no figures") == 4

    # What the tables of a device would look like.
    spec = importlib.util.spec_from_file_location("report", BENCH / "report.py")
    report = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(report)
    records = [{**json.loads(line), "device": "other"} for line in out.read_text().splitlines()]
    for part, rows in {"copies": 6, "locking": 4, "training": 4, "overlap": 3}.items():
        head, rule, *lines = report.table(part, [r for r in records if r["part"] == part]).strip().splitlines()
        assert len(lines) == rows and {line.count("|") for line in [head, rule, *lines]} == {head.count("|")}
    assert done.returncode == 0 and bench("--device", "cuda:7", **fake).stderr.startswith("no CUDA device cuda:7: there are 1")
