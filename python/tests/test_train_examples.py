"""The examples do what their README says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from ranks import WITHIN, Job
from servers import ROOT, S3, s3  # noqa: F401 - a fixture

pytestmark = pytest.mark.timeout(900)  # what a training takes at most is in ranks.py

EXAMPLES = ROOT / "examples"
SHOP = ROOT / "testdata" / "shop"
ROWS = 2026


def commands() -> str:
    return "\n".join(re.findall(r"```sh\n(.*?)```", (EXAMPLES / "README.md").read_text(), re.DOTALL))


def test_minimal(job: str) -> None:
    assert "python examples/minimal.py testdata/shop\n" in commands()
    ran = subprocess.run([sys.executable, EXAMPLES / "minimal.py", SHOP], capture_output=True, text=True, timeout=WITHIN)
    assert ran.returncode == 0, ran.stderr
    assert re.fullmatch(r"(epoch \d: loss \d+\.\d+\n){3}", ran.stdout)
    assert not ran.stderr


def test_tabular(job: str, tmp_path: Path) -> None:
    assert "python examples/tabular.py /tmp/tabular\n" in commands()
    ran = subprocess.run([sys.executable, EXAMPLES / "tabular.py", tmp_path / "table"], capture_output=True, text=True, timeout=WITHIN)
    assert ran.returncode == 0, ran.stderr
    assert re.fullmatch(r"x: 40 float32 columns, num_00 to num_39\n(epoch \d: loss \d+\.\d+\n){3}", ran.stdout)
    first, *_, last = map(float, re.findall(r"loss (.*)", ran.stdout))
    assert last < first
    assert not ran.stderr


def test_images(job: str, engine_binary: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.json"
    made = "shardfeed vocab testdata/shop --column label --save /tmp/labels.json\npython examples/images.py testdata/shop"
    assert f"{made} --labels /tmp/labels.json\n" in commands()
    subprocess.run([engine_binary, "vocab", SHOP, "--column", "label", "--save", labels], check=True, capture_output=True, timeout=WITHIN)
    command = [sys.executable, EXAMPLES / "images.py", SHOP, "--labels", labels, "--size", "32", "--iterations", "30"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN)
    assert ran.returncode == 0, ran.stderr
    words = r"step 0: loss \d+\.\d+\nstep 29: loss \d+\.\d+\n\d+ images a second; waited for batches \d+\.\d% of the time\n"
    assert re.fullmatch(words, ran.stdout)


def test_killed_on_two_ranks_and_resumed_on_three(runtime: Path, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    assert "torchrun --nproc-per-node 2 examples/train.py s3://bucket/shop --pause" in commands()
    assert "torchrun --nproc-per-node 3 examples/train.py s3://bucket/shop\n" in commands()
    server: S3 = request.getfixturevalue("s3")
    environment = {**server.environment, "SHARDFEED_CACHE_DIR": str(tmp_path / "cache")}
    arguments = [server.put(SHOP), "--epochs", 2, "--checkpoint", tmp_path / "checkpoint.pt"]
    with Job(EXAMPLES / "train.py", 2, tmp_path / "two", *arguments, "--pause", 0.2, torchrun=True, **environment) as two:
        two.until_said("epoch 0: loss", times=2)
        two.kill()
    assert "exactly once" not in two.words()
    with Job(EXAMPLES / "train.py", 3, tmp_path / "three", *arguments, **environment) as three:
        three.wait()
    assert (found := re.search(r"goes on in epoch 0, behind row (\d+), on 3 ranks", three.words())), three.words()
    assert 0 < int(found[1]) < ROWS
    for epoch in range(2):
        assert f"epoch {epoch}: {ROWS} rows, {ROWS} of {ROWS} exactly once" in three.words()
