"""A hand-written training loop with checkpoints, over our loader or another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from rank import RANK, Model, Report, Trained, arguments, group, loss, newest, save, steps_of
from torch.nn.parallel import DistributedDataParallel

import shardfeed.torch

COLUMNS = ["id", "x", "label"]


def stateful(workers: int) -> Callable[[Any], Any]:
    def make(dataset: Any) -> Any:
        from torchdata.stateful_dataloader import StatefulDataLoader

        return StatefulDataLoader(dataset, batch_size=None, num_workers=workers)

    return make


LOADERS: dict[str, Callable[[Any], Any]] = {
    "own": shardfeed.torch.DataLoader,
    "own-2": lambda dataset: shardfeed.torch.DataLoader(dataset, num_workers=2),
    "stateful-0": stateful(0),
    "stateful-2": stateful(2),
}


def main() -> None:
    given = arguments()
    report = Report()
    part = f"rank-{RANK}.pt"
    mine = part if given.loader.startswith("stateful") else "rank-0.pt"  # the state of our loader is the same on all ranks
    with group():
        dataset = shardfeed.torch.StreamingDataset(
            given.uri, batch_size=given.batch_size, columns=COLUMNS, seed=given.seed, with_row_valid=True
        )
        loader = LOADERS[given.loader](dataset)
        model = DistributedDataParallel(Model())
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        last = newest(given.checkpoint)
        if last is not None:
            before = torch.load(last / mine, weights_only=True)
            model.load_state_dict(before["model"])
            loader.load_state_dict(before["loader"])
        train = Trained(report, steps_of(last) if last else 0, given.pause)
        for batch in loader:
            optimizer.zero_grad()
            loss(model, batch).backward()
            optimizer.step()
            train(batch)
            if train.step % given.every == 0:
                state = {"model": model.state_dict(), "loader": loader.state_dict()}
                save(given.checkpoint, train.step, lambda directory, state=state: torch.save(state, directory / part))
        report("done", stats=dataset.stats())


if __name__ == "__main__":
    main()
