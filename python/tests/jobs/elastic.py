"""A training loop under agents that come and go: begin as torch's users do, checkpoint, go on."""

from __future__ import annotations

import json
import os
import time

import torch
import torch.distributed as dist
from rank import RANK, Report, arguments, ids, newest, steps_of

import shardfeed.torch
from shardfeed._engine import _launcher


def meet(stays: bool) -> None:
    """Meets the other ranks, as a training step does."""
    try:
        dist.all_reduce(torch.zeros(1))
    except RuntimeError:
        if stays:
            time.sleep(600)
        raise


def main() -> None:
    given = arguments()
    given.checkpoint.mkdir(parents=True, exist_ok=True)
    report = Report()
    dist.init_process_group("gloo")
    life = os.environ["MASTER_PORT"]  # another one after each restart
    loader = shardfeed.torch.DataLoader(
        given.uri, batch_size=given.batch_size, columns=["id"], seed=given.seed, with_row_valid=True, timeout=60
    )
    last = newest(given.checkpoint)
    if last is not None:
        loader.load_state_dict(json.loads(last.read_text()))
    first = steps_of(last) if last else 0
    report("begins", life=life, step=first, world=dist.get_world_size(), attempt=_launcher.attempt())
    for step, batch in enumerate(loader, first):
        if step == first:
            report("reads", life=life, engine=loader.dataset._engine_pid)
        meet(given.stays)
        report("step", life=life, step=step, ids=ids(batch))
        if RANK == 0 and (step + 1) % given.every == 0:
            new = given.checkpoint / "new"
            new.write_text(json.dumps(loader.state_dict()))
            new.rename(given.checkpoint / f"step-{step + 1:06}")
        time.sleep(given.pause)
    report("done", life=life)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
