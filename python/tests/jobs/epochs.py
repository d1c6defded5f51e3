"""Trains on the same epoch in several ways: with our loader, and with torch's and 0, 2 and 4 workers.

Then it trains some steps from a state on, and reports the state after them.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from rank import RANK, Model, Report, group, ids, loss, same_on_all
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

import shardfeed.torch

SEED = 7


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("uri")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--ways", default="own,torch-0,torch-2,torch-4")
    parser.add_argument("--go-on", type=Path, help="the state from where a part begins")
    parser.add_argument("--steps", type=int, help="how many steps it has; else all to the end")
    parser.add_argument("--save", type=Path, help="the state behind it")
    arguments = parser.parse_args()
    report = Report()
    with group():
        step = trainer(report)
        for way in filter(None, arguments.ways.split(",")):
            dataset = open_dataset(arguments)
            batches = WAYS[way](dataset)
            report("length", way=way, steps=len(batches), rows=dataset.size)
            for epoch in range(2 if way == "persistent" else 1):
                train(batches, step, way, epoch)
            if way.startswith("own"):
                torch.distributed.barrier()
                report("audit", way=way, audit=dataset.stats()["audit"])
        if arguments.save:
            part(arguments, step, report)


def open_dataset(arguments: argparse.Namespace) -> shardfeed.torch.StreamingDataset:
    columns = ["id", "x", "label"]
    return shardfeed.torch.StreamingDataset(arguments.uri, batch_size=arguments.batch_size, columns=columns, seed=SEED, with_row_valid=True)


WAYS: dict[str, Callable[[Any], Any]] = {
    "own": shardfeed.torch.DataLoader,
    "own-2": lambda dataset: shardfeed.torch.DataLoader(dataset, num_workers=2),
    "torch-0": lambda dataset: DataLoader(dataset, batch_size=None),
    "torch-2": lambda dataset: DataLoader(dataset, batch_size=None, num_workers=2),
    "torch-4": lambda dataset: DataLoader(dataset, batch_size=None, num_workers=4),
    "persistent": lambda dataset: DataLoader(dataset, batch_size=None, num_workers=2, persistent_workers=True),
}


def trainer(report: Report) -> Callable[..., None]:
    model = DistributedDataParallel(Model())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step(batch: dict[str, Any], **where: Any) -> None:
        optimizer.zero_grad()
        loss(model, batch).backward()  # waits for all ranks: one that has fewer steps hangs the others
        optimizer.step()
        report("step", **where, ids=ids(batch))

    return step


def train(batches: Iterable[dict[str, Any]], step: Callable[..., None], way: str, epoch: int) -> None:
    for k, batch in enumerate(batches):
        step(batch, way=way, epoch=epoch, step=k)


def part(arguments: argparse.Namespace, step: Callable[..., None], report: Report) -> None:
    loader = shardfeed.torch.DataLoader(open_dataset(arguments))
    if arguments.go_on:
        loader.load_state_dict(json.loads(arguments.go_on.read_text()))
    batches: Iterator[dict[str, Any]] = iter(loader)
    for k, batch in enumerate(batches):
        step(batch, way="part", epoch=0, step=k)
        if k + 1 == arguments.steps:
            break
    state = loader.state_dict()
    if not arguments.steps:
        torch.distributed.barrier()
        report("audit", way="part", audit=loader.dataset.stats()["audit"])
    report("state", same=same_on_all(state["shardfeed"]), state=state)
    if RANK == 0:
        arguments.save.write_text(json.dumps(state))


if __name__ == "__main__":
    main()
