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


def test_text_killed_on_two_ranks_and_resumed_on_three(runtime: Path, tmp_path: Path) -> None:
    """Each step has the blocks of a run that nobody kills."""
    line = "torchrun --nproc-per-node {} examples/pretrain_text.py testdata/shop --column title --checkpoint /tmp/gpt.pt{}\n"
    assert line.format(2, " --pause 0.2 & launcher=$!") in commands() and line.format(3, "") in commands()

    def said(job: Job) -> dict[int, str]:
        return {int(step): blocks for step, blocks in re.findall(r"step (\d+): loss \d+\.\d+, blocks (\d+)\n", job.words())}

    arguments = [SHOP, "--column", "title", "--steps", 50, "--every", 5]
    program, cache = EXAMPLES / "pretrain_text.py", {"SHARDFEED_CACHE_DIR": str(tmp_path / "cache")}
    with Job(program, 2, tmp_path / "alone", *arguments, "--checkpoint", tmp_path / "alone.pt", **cache) as alone:
        alone.wait()
    whole = said(alone)
    assert sorted(whole) == list(range(1, 51))
    arguments += ["--checkpoint", tmp_path / "killed.pt"]
    with Job(program, 2, tmp_path / "two", *arguments, "--pause", 0.1, torchrun=True, **cache) as two:
        two.until_said("\nstep 18: ")
        two.kill()
    with Job(program, 3, tmp_path / "three", *arguments, **cache) as three:
        three.wait()
    found = re.search(r"goes on behind step (\d+), on 3 ranks", three.words())
    assert found is not None, three.words()
    kept = int(found[1])
    assert kept % 5 == 0 and 15 <= kept < 50
    rest = said(three)
    assert sorted(rest) == list(range(kept + 1, 51))
    assert {step: blocks for step, blocks in said(two).items() if step <= kept} | rest == whole
    assert len(set(whole.values())) == len(whole)
