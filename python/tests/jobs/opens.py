"""A job whose nodes open a data set, wait until that was looked at, and read an epoch.

An error is reported in place of what comes after it, and the rank ends as if it had none: the
launcher would end the others before they say what they have.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import torch.distributed as dist
from rank import RANK, Report, ids

import shardfeed
import shardfeed.torch


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("uri")
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--options", type=json.loads, default={}, help="arguments of the data set, with those of a rank by its number")
    given = parser.parse_args()
    options = {name: value for name, value in given.options.items() if not name.isdigit()} | given.options.get(str(RANK), {})
    report = Report()
    dist.init_process_group("gloo")
    try:
        read(report, options.pop("uri", given.uri), given.batch_size, options)
    except shardfeed.ShardfeedError as e:
        report("failed", error=type(e).__name__, text=str(e))
    dist.barrier()
    dist.destroy_process_group()


def read(report: Report, uri: str, batch_size: int, options: dict[str, object]) -> None:
    given = {"columns": ["id"], "seed": 7, "timeout": 60, **options}
    loader = shardfeed.torch.DataLoader(uri, batch_size=batch_size, with_row_valid=True, **given)
    report("opened", size=loader.dataset.size)
    go = Path(os.environ["REPORT"]) / "go"
    while not go.exists():
        time.sleep(0.02)
    for step, batch in enumerate(loader):
        if step == 0:
            report("reads", engine=loader.dataset._engine_pid)
        report("step", step=step, ids=ids(batch))
    report("done")


if __name__ == "__main__":
    main()
