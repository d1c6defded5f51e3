"""Draws the pictures of docs/ that show programs at work. make pictures runs it.

They are a plan, a montage, and top, the page and a trace of a running job; --still leaves out the job.
It trains on two ranks from an S3 server behind a link of limited speed, with a small cache on the local
disk. Figures depend on the machine that draws.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import job
import servers
import terminal
import timeline
from insight import tables
from insight.link import Limits, Link

ROOT = Path(__file__).resolve().parents[3]
PICTURES = ROOT / "docs/pictures"
PROGRAM = ROOT / "bin/shardfeed"
SECONDS = 75.0  # of history on the page
RATE = 10 << 20  # bytes a second of the link


PLAN = "testdata/shop --shuffle --batch-size 64 --world-size 8 --nodes 4 --memory 1GiB --node-bandwidth 100MiB"
MONTAGE = "testdata/shop -n 8 --seed 7 --images img_jpg=imagenet_train,size=96 --epochs 4"


def main() -> None:
    parser = argparse.ArgumentParser(prog="pictures", description=__doc__.splitlines()[0])
    parser.add_argument("--still", action="store_true", help="only those that need no running job")
    os.chdir(ROOT)
    terminal.draw([PROGRAM, "plan", *PLAN.split()], PICTURES / "plan.svg")
    montage = [PROGRAM, "sample", *MONTAGE.split(), "--montage", PICTURES / "montage.png"]
    subprocess.run(montage, check=True, stdout=subprocess.DEVNULL)
    if not parser.parse_args().still:
        job_at_work()


def job_at_work() -> None:
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        root = Path(name)
        tables.make(root / "data")
        store = stack.enter_context(servers.s3_server())
        link = stack.enter_context(contextlib.closing(Link(store.address, Limits(rate=RATE))))
        environment = {
            **os.environ,
            **store.environment,
            "AWS_ENDPOINT_URL": link.address,
            "SHARDFEED_BIN": str(PROGRAM),
            "SHARDFEED_RUNTIME_DIR": str(root / "run"),
            "SHARDFEED_CACHE_DIR": str(root / "cache"),
            "SHARDFEED_JOB": "train-7",
            "OMP_NUM_THREADS": "1",
        }
        ranks = [stack.enter_context(_rank(rank, store.put(root / "data/plain"), root, environment)) for rank in range(job.WORLD)]
        socket = _socket(root / "run")
        page = stack.enter_context(_page(socket))
        time.sleep(SECONDS)
        for rank in ranks:
            assert rank.poll() is None, "a rank has ended"
        terminal.draw([PROGRAM, "top", "--once", "--every", "5s", "--socket", socket], PICTURES / "top.svg")
        _screenshot(page, root)
        for rank in ranks:
            rank.terminate()
            rank.wait()
        timeline.draw(root / "trace.rank0.json", PICTURES / "trace.svg")


@contextlib.contextmanager
def _rank(rank: int, address: str, root: Path, environment: dict[str, str]):
    places = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(job.WORLD)}
    with subprocess.Popen([sys.executable, job.__file__, address, str(root)], env={**environment, **places}) as process:
        try:
            yield process
        finally:
            process.kill()


def _socket(directory: Path) -> Path:
    """The engine's socket, once it listens."""
    for _ in range(600):
        if found := list(directory.rglob("*.sock")):
            return found[0]
        time.sleep(0.1)
    raise SystemExit("no engine has started")


@contextlib.contextmanager
def _page(socket: Path):
    with subprocess.Popen([PROGRAM, "page", "--socket", socket], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def _screenshot(url: str, root: Path) -> None:
    browser = subprocess.run([ROOT / "tools/server", "browser"], check=True, capture_output=True, text=True).stdout.strip()
    subprocess.run(["node", f"{browser}/show.mjs", url, str(root)], check=True, stdout=subprocess.DEVNULL)
    (PICTURES / "page.png").write_bytes((root / "1440.png").read_bytes())


if __name__ == "__main__":
    main()
