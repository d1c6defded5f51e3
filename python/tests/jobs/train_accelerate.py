"""A training loop with Accelerate, which saves the loader in its checkpoints.

The loader is ours, or torch's as Accelerate prepares it, or one that Accelerate would split a
second time.
"""

from __future__ import annotations

from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from rank import Model, Report, Trained, arguments, loss, newest, save, steps_of

import shardfeed.torch
from shardfeed.torch import huggingface


def main() -> None:
    given = arguments()
    report = Report()
    stateful = given.loader == "prepared"
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(use_stateful_dataloader=stateful))
    dataset = shardfeed.torch.StreamingDataset(
        given.uri, batch_size=given.batch_size, columns=["id", "x", "label"], seed=given.seed, with_row_valid=True
    )
    if given.loader == "split":
        try:
            next(iter(accelerator.prepare(torch.utils.data.DataLoader(dataset, batch_size=None))))
        except shardfeed.errors.OptionError as error:
            report("error", text=str(error))
        return
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader = prepare(accelerator, dataset, given.loader)
    model, optimizer = accelerator.prepare(model, optimizer)
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
            save(given.checkpoint, train.step, lambda directory: accelerator.save_state(str(directory)))
    report("done", stats=dataset.stats())
    accelerator.end_training()


def prepare(accelerator: Accelerator, dataset: Any, kind: str) -> Any:
    if kind == "prepared":
        return huggingface.prepare(accelerator, dataset, num_workers=2)
    loader = accelerator.prepare(shardfeed.torch.DataLoader(dataset, device=accelerator.device))
    accelerator.register_for_checkpointing(loader)
    return loader


if __name__ == "__main__":
    main()
