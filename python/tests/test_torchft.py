"""The example under torchft: make test-jax."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torchft", reason="torchft is not installed: make test-jax")

from ranks import FRUGAL
from servers import ROOT, free_address

sys.path.insert(0, str(ROOT / "examples"))

import torchft_groups

ROWS = 4000
BATCH = 100  # rows of a step, over all groups
WITHIN = 240  # seconds

Start = Callable[..., "subprocess.Popen[bytes]"]
Line = dict[str, Any]


@pytest.fixture
def start(runtime: Path, tmp_path: Path) -> Iterator[Start]:
    """Starts a program of this environment, and kills it at the end."""
    started = []
    env = {**os.environ, **FRUGAL, "PYTHONUNBUFFERED": "1"}
    env.pop("SHARDFEED_JOB", None)

    def run(name: str, *arguments: object) -> subprocess.Popen[bytes]:
        with (tmp_path / f"{name}.txt").open("ab") as output:
            process = subprocess.Popen([sys.executable, *map(str, arguments)], env=env, stdout=output, stderr=output)
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()


def lines(report: Path) -> list[Line]:
    """What a group wrote, without a line that is not complete yet."""
    text = report.read_text() if report.exists() else ""
    return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


def committed(report: Path) -> dict[int, Line]:
    """The committed steps, as the group read them."""
    found, last = {}, None
    for line in lines(report):
        if "ids" in line:
            last = line
        elif last is not None and line["committed"]:
            found[line["step"]] = last
    return found


def test_each_step_has_all_its_rows_while_groups_come_and_go(start: Start, shards: Path, tmp_path: Path) -> None:
    address = free_address()
    lighthouse = ["--min_replicas", 1, "--join_timeout_ms", 1000, "--heartbeat_timeout_ms", 5000, "--bind", address]
    start("lighthouse", Path(sys.executable).with_name("torchft_lighthouse"), *lighthouse)
    reports = [tmp_path / f"{group}.jsonl" for group in range(2)]

    def begin(group: int) -> subprocess.Popen[bytes]:
        program = [ROOT / "examples" / "torchft_groups.py", shards, "--group", group, "--lighthouse", f"http://{address}"]
        options = ["--global-batch-size", BATCH, "--steps", 1000000, "--pause", 0.02, "--report", reports[group]]
        return start(f"group-{group}", *program, *options)

    def until(groups: int, after: int) -> int:
        """Waits for seven steps of the first group with so many groups, beyond a step."""
        deadline = time.monotonic() + WITHIN
        while len(found := [step for step, line in committed(reports[0]).items() if step > after and line["groups"] == groups]) < 7:
            assert time.monotonic() < deadline, (tmp_path / "group-0.txt").read_text()[-4000:]
            time.sleep(0.1)
        return max(found)

    begin(0)
    first = until(1, -1)
    other = begin(1)
    both = until(2, first)
    other.kill()
    other.wait()
    alone = until(1, both)
    begin(1)
    last = until(2, alone)

    steps = committed(reports[0])
    assert sorted(steps) == list(range(max(steps) + 1)), "the first group takes part in each step"
    beside = {(line["step"], line["groups"]): line for line in lines(reports[1]) if "ids" in line}
    rows = []
    for step in range(last):
        line = steps[step]
        ids = [*line["ids"], *(beside[step, 2]["ids"] if line["groups"] == 2 else [])]
        assert len(ids) == BATCH
        rows += ids
    for begins in range(0, len(rows), ROWS):
        epoch = rows[begins : begins + ROWS]
        assert len(set(epoch)) == len(epoch), "each row once an epoch"
    assert {steps[step]["groups"] for step in range(last)} == {1, 2}


def test_a_step_that_is_not_committed_is_read_again(runtime: Path, shards: Path) -> None:
    feeds = [torchft_groups.Feed(str(shards), BATCH, columns=["id"], seed=7) for _ in range(2)]

    def step(groups: int) -> list[int]:
        return sorted(i for rank in range(groups) for i in feeds[rank].next(rank, groups)["id"].tolist())

    first = step(2)
    for feed in feeds:
        feed.rewind()
    assert step(1) == first
    feeds[0].commit()
    feeds[1].load_state_dict(feeds[0].state_dict())
    second = step(2)
    assert len(second) == BATCH and not set(first) & set(second)
    feeds[0].rewind()
    assert step(1) == second
    feeds[0].commit()
    rest = []
    for _ in range(ROWS // BATCH - 2):
        rest += step(1)
        feeds[0].commit()
    assert sorted(first + second + rest) == list(range(ROWS))
    assert len(step(1)) == BATCH, "the next epoch"
    with pytest.raises(ValueError, match="100 rows must divide over 3 groups"):
        feeds[0].next(0, 3)
