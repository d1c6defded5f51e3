"""One rank of the job in the pictures: job.py ADDRESS DIRECTORY."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist
from shardfeed.torch import DataLoader

WORLD = 2
STEP = 0.008  # seconds of the model
BATCH = 32
TRACED = 60  # steps


def main(address: str, root: Path) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    dist.init_process_group("gloo", init_method=f"file://{root}/meeting", rank=int(os.environ["RANK"]), world_size=WORLD)
    options = {"batch_size": BATCH, "memory": "16MiB", "shuffle_buffer": 512, "cache_limit": "12MiB", "tail": "drop"}
    with DataLoader(address, **options) as loader:
        for epoch in range(1_000_000):
            if epoch == 1:
                loader.trace(root / "trace.json", steps=TRACED)
            for _ in loader:
                time.sleep(STEP)
                dist.all_reduce(torch.zeros(1))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
