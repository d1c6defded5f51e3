"""An epoch on nodes with caches of their own: what ranks read, and what their nodes fetched."""

from __future__ import annotations

import torch
import torch.distributed as dist
from rank import Report, arguments, ids

import shardfeed.torch


def main() -> None:
    given = arguments()
    report = Report()
    dist.init_process_group("gloo")
    loader = shardfeed.torch.DataLoader(
        given.uri, batch_size=given.batch_size, columns=["id", "payload"], seed=given.seed, lanes=8, with_row_valid=True, timeout=120
    )
    for step, batch in enumerate(loader):
        report("step", step=step, ids=ids(batch))
    dist.all_reduce(torch.zeros(1))  # all ranks of the node have read
    figures = loader.stats()
    report("fetched", engine=loader.dataset._engine_pid, cache=figures["cache"], storage=figures["storage"], seats=figures["seats"])
    dist.all_reduce(torch.zeros(1))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
