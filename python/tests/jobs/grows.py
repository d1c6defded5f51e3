"""A rank that trains on a table that grows: it reports the rows and the snapshot of each epoch.

The table gets its next snapshot when rank 0 has taken the first batch of an epoch. The other ranks
start an epoch after that: the table has another snapshot by then. With stop, all ranks save their
state after a batch of that epoch, and end at once.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import torch.distributed as dist

import shardfeed.torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from metastore import next_step


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("table")
    for name in ("steps", "log", "reports"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--epochs", type=int, nargs=2)
    parser.add_argument("--stop", type=int, default=-1)
    given = parser.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    options = {"columns": ["id"], "batch_size": 2, "shuffle": True, "seed": 3, "with_row_valid": True, "refresh": "epoch"}
    loader = shardfeed.torch.DataLoader(given.table, **options)
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
                if rank == 0 and step == 0:
                    next_step(given.steps, given.log)
                    begun.touch()
                if epoch == given.stop and step == 1:
                    if rank == 0:
                        state.write_text(json.dumps(at))
                    dist.barrier()
                    os._exit(0)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
