"""A rank that trains on a table that grows: it reports the rows and the snapshot of each epoch.

A commit of the table appears whenever rank 0 has taken a batch. The other ranks start an epoch
after the first of them: the table has another snapshot by then. With stop, all ranks save their
state after a batch of that epoch, and end at once.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from pathlib import Path

import torch.distributed as dist

import shardfeed.torch


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("table", "source", "reports"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--epochs", type=int, nargs=2)
    parser.add_argument("--stop", type=int, default=-1)
    given = parser.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    options = {"columns": ["id"], "batch_size": 2, "shuffle": True, "seed": 3, "with_row_valid": True, "refresh": "epoch"}
    loader = shardfeed.torch.DataLoader(f"delta+{given.table}", **options)
    state = given.reports / "state.json"
    if state.exists():
        loader.load_state_dict(json.loads(state.read_text()))
    with open(given.reports / f"{dist.get_world_size()}-{rank}", "w") as report:
        for epoch in range(*given.epochs):
            begun = given.reports / f"begun {dist.get_world_size()} {epoch}"
            while rank > 0 and epoch > given.epochs[0] and not begun.exists():
                time.sleep(0.01)
            for step, batch in enumerate(loader):
                at = loader.state_dict()
                snapshot = at["shardfeed"]["snapshot"]
                ids = batch["id"][batch["_row_valid"]].tolist()
                print(json.dumps({"epoch": epoch, "snapshot": snapshot, "ids": ids}), file=report, flush=True)
                if rank == 0:
                    grow(given.table, given.source)
                    begun.touch()
                if epoch == given.stop and step == 1:
                    if rank == 0:
                        state.write_text(json.dumps(at))
                    dist.barrier()
                    os._exit(0)
    dist.barrier()
    dist.destroy_process_group()


def grow(table: Path, source: Path) -> None:
    """Adds the next commit of the log, under its name when it is whole."""
    log = table / "_delta_log"
    following = max(int(file.stem.split(".")[0]) for file in log.glob("0*.json")) + 1
    for file in sorted((source / "_delta_log").glob(f"{following:020}.*")):
        shutil.copy(file, log / f"_{file.name}")
        os.rename(log / f"_{file.name}", log / file.name)


if __name__ == "__main__":
    main()
