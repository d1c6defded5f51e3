"""A training loop of Accelerate's: everything is prepared, and its checkpoints hold the loader."""

from __future__ import annotations

import torch
from accelerate import Accelerator
from rank import Model, Report, Trained, arguments, loss, newest, save, steps_of

import shardfeed.torch


def main() -> None:
    given = arguments()
    report = Report()
    accelerator = Accelerator(cpu=True)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader = shardfeed.torch.DataLoader(
        given.uri, batch_size=given.batch_size, columns=["id", "x", "label"], seed=given.seed, device=accelerator.device
    )
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    accelerator.register_for_checkpointing(loader)
    last = newest(given.checkpoint)
    if last is not None:
        accelerator.load_state(str(last))
    train = Trained(report, steps_of(last) if last else 0, given.pause)
    for batch in loader:
        optimizer.zero_grad()
        accelerator.backward(loss(model, batch))
        optimizer.step()
        train(batch)
        if train.step % given.every == 0:
            save(given.checkpoint, train.step, lambda path: accelerator.save_state(str(path)))
    report("done", stats=loader.stats())
    accelerator.end_training()


if __name__ == "__main__":
    main()
