"""Ranks on nodes of some, with an engine for each node, that train epochs and compare what they got.

A rank may have a fault. A run ends at a step with its states, and another continues with them.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from rank import RANK, WORLD_SIZE, Report, group

import shardfeed.torch


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("uri")
    parser.add_argument("--node", type=int, default=1, help="ranks of a node")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--fault", default="none", choices=["none", *FAULTS, "slow"])
    parser.add_argument("--rank", type=int, default=-1, help="the rank with the fault")
    parser.add_argument("--stop", type=int, default=0, help="the step after which to report the state and to end")
    parser.add_argument("--states", type=Path, help="the state of each rank of the run before")
    parser.add_argument("--save", help="the directory of a distributed checkpoint, instead of a report")
    parser.add_argument("--load", help="the directory of one")
    parser.add_argument("--dies", action="store_true", help="the rank with the fault ends before its last batch")
    parser.add_argument("--alone", action="store_true", help="without a process group")
    given = parser.parse_args()
    node = RANK // given.node
    os.environ["SHARDFEED_JOB"] = f"{os.environ['REPORT']} node {node}"
    os.environ["LOCAL_RANK"] = str(RANK % given.node)
    os.environ["LOCAL_WORLD_SIZE"] = str(min(given.node, WORLD_SIZE - node * given.node))
    report = Report()
    log = logging.getLogger("shardfeed")
    log.setLevel(logging.INFO)
    log.addHandler(Lines(report))
    given.apart = given.alone or given.dies  # ranks do not wait for each other
    if given.alone:
        train(given, report)
        return
    with group():
        train(given, report)


def train(given: argparse.Namespace, report: Report) -> None:
    faulty = given.rank == RANK
    dataset = shardfeed.torch.StreamingDataset(given.uri, batch_size=given.batch_size, columns=["id"], seed=7, cache=False)
    dataset = dataset.map(slow if faulty and given.fault == "slow" else as_it_is)
    if given.states:
        of_ranks = json.loads(given.states.read_text())
        dataset.load_state_dict(of_ranks[min(RANK, len(of_ranks) - 1)])
    states = {"loader": shardfeed.torch.RankStates(dataset)}
    if given.load:
        dcp.load(states, checkpoint_id=given.load)
    step, steps = 0, len(dataset) if given.fault == "slow" else 0
    for _ in range(given.epochs):
        batches = iter(dataset)
        for _ in batches:
            step += 1
            if faulty and step == 3 and given.fault in FAULTS:
                FAULTS[given.fault](batches)
            if given.fault == "slow":
                dist.barrier()
                if RANK == 0 and step % steps == 0:  # it logs the waits that the others posted at the end
                    dist.barrier()
            if step == given.stop and given.save:
                dcp.save(states, checkpoint_id=given.save)
                return
            if step == given.stop:
                report("state", state=dataset.state_dict())
                if faulty and given.dies:
                    os._exit(0)
                if not given.dies:
                    return
        if not given.apart and not (given.fault == "slow" and RANK == 0):
            dist.barrier()  # as the gradients are
    keys = 0 if given.alone else dist.distributed_c10d._get_default_store().num_keys()
    verdict, end = dataset.verdict(epoch=True), time.monotonic() + 10
    while given.fault == "slow" and verdict.rank != RANK and time.monotonic() < end:  # no rank waits for the figures of others
        time.sleep(0.1)
        verdict = dataset.verdict(epoch=True)
    report("end", keys=keys, audit=dataset.stats()["audit"], line=str(verdict), rank_named=verdict.rank, host=verdict.host)
    if not given.apart:
        dist.barrier()


def skip(batches: Any) -> None:
    """A batch comes and is not handed out."""
    batches._batches.take()


def add(total: int) -> Callable[[Any], None]:
    def fault(batches: Any) -> None:
        batches.place.total += total

    return fault


def begin_earlier(batches: Any) -> None:
    """As a rank that resumed from an older state than the others, which they refuse at the start."""
    delivery = batches.place.delivery
    delivery.span = delivery.span._replace(first=delivery.span.first - 64)


def slow(batch: Any) -> Any:
    time.sleep(0.02)
    return batch


def as_it_is(batch: Any) -> Any:
    return batch


class Lines(logging.Handler):
    """Reports what shardfeed logs."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self._report = report

    def emit(self, record: logging.LogRecord) -> None:
        self._report("log", level=record.levelname, text=record.getMessage())


FAULTS = {"older": begin_earlier, "skipped": skip, "lost": add(-1), "repeated": add(1 + (1234 << 192)), "swapped": add(1234 << 192)}

if __name__ == "__main__":
    main()
