"""Trainers that are killed at any moment, on a machine that has more to do than it can: the others go on, and nothing outlives the last."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from conftest import engines

from shardfeed import StreamingDataset

ROWS = 4000
TRAINERS = 100
AT_ONCE = 6
LONGEST = 2.5  # seconds until a trainer is killed
PATIENCE = 90.0  # seconds that anything may take on a busy machine

TRAINER = """
    import faulthandler, multiprocessing, os, signal, sys
    import shardfeed

    faulthandler.register(signal.SIGUSR1)

    def read(dataset, epochs):
        for _ in range(epochs):
            assert sorted(i for batch in dataset for i in batch["id"].tolist()) == list(range(4000))

    dataset = shardfeed.StreamingDataset(sys.argv[1], batch_size=16)
    if sys.argv[2] == "forks":
        iterator = iter(dataset)
        next(iterator)
        children = [multiprocessing.get_context("fork").Process(target=read, args=(dataset, 2), daemon=True) for _ in range(2)]
        for child in children:
            child.start()
        for _ in iterator:
            pass
        for child in children:
            child.join()
            assert child.exitcode == 0
    elif sys.argv[2] == "restless":
        for _ in range(50):
            for batch in dataset:
                break
    read(dataset, 3)
"""


@pytest.fixture
def place(runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime directory for this test alone, below that of the run."""
    monkeypatch.setenv("SHARDFEED_JOB", "kills")
    path = runtime.parent / str(abs(hash(tmp_path)) % 10**9)
    monkeypatch.setenv("SHARDFEED_RUNTIME_DIR", str(path))
    return path


@pytest.fixture
def _busy() -> Iterator[None]:
    """Processes that want all processors."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))]
    yield
    for process in spinning:
        process.kill()
        process.wait()


def stacks(place: Path) -> str:
    """What the engines are doing. It ends them."""
    for engine in engines(place):
        with contextlib.suppress(psutil.NoSuchProcess):
            engine.send_signal(signal.SIGQUIT)
    time.sleep(2)
    return "\n".join(f"{log}:\n{log.read_text(errors='replace')[-200_000:]}" for log in place.glob("*.log"))


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("_busy")
def test_trainers_that_are_killed(place: Path, shards: Path) -> None:
    dice = random.Random(int(os.environ.get("SHARDFEED_TEST_SEED", time.time_ns() % 10**6)))
    print(f"dice {dice.random()}")
    plan = [(dice.choice(["reads", "restless", "forks"]), dice.choice([None, dice.random() * LONGEST])) for _ in range(TRAINERS)]

    def train(kind: str, killed_after: float | None) -> str:
        command = [sys.executable, "-c", textwrap.dedent(TRAINER), str(shards), kind]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as trainer:
            try:
                trainer.wait(PATIENCE if killed_after is None else killed_after)
            except subprocess.TimeoutExpired:
                if killed_after is None:
                    trainer.send_signal(signal.SIGUSR1)
                    said = stacks(place)
                    trainer.kill()
                    return f"a trainer ({kind}) stands still:\n{trainer.communicate()[1]}\n{said}"
                with contextlib.suppress(ProcessLookupError):
                    (os.kill if kind == "forks" else os.killpg)(trainer.pid, signal.SIGKILL)  # its children go on alone
                return ""
            assert trainer.stderr is not None
            return "" if trainer.returncode == 0 else trainer.stderr.read()

    with ThreadPoolExecutor(AT_ONCE) as lanes:
        failed = [words for words in lanes.map(lambda what: train(*what), plan) if words]
    assert not failed, "\n\n".join(failed)
    assert sum(batch.rows for batch in StreamingDataset(shards, batch_size=16)) == ROWS
    gc.collect()
    deadline = time.monotonic() + PATIENCE
    while engines(place) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not engines(place), stacks(place)
    assert {path.suffix for path in place.iterdir()} <= {".lock", ".log"}
