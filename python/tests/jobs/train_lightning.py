"""A training with Lightning: DDP, and checkpoints within an epoch that hold the loader."""

from __future__ import annotations

import logging
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from rank import WORLD_SIZE, Model, Report, Trained, arguments, loss, newest, steps_of

import shardfeed.torch

logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)


class Module(lightning.LightningModule):
    def __init__(self, train: Trained) -> None:
        super().__init__()
        self.model = Model()
        self.train_step = train

    def training_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> torch.Tensor:
        self.train_step(batch)
        return loss(self.model, batch)

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=1e-3)


def main() -> None:
    given = arguments()
    report = Report()
    loader = shardfeed.torch.DataLoader(
        given.uri, batch_size=given.batch_size, columns=["id", "x", "label"], seed=given.seed, with_row_valid=True
    )
    last = newest(given.checkpoint)
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=WORLD_SIZE,
        strategy="ddp",
        max_epochs=1,
        callbacks=[
            ModelCheckpoint(given.checkpoint, filename="step-{step:06d}", auto_insert_metric_name=False, every_n_train_steps=given.every)
        ],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Module(Trained(report, steps_of(last) if last else 0, given.pause)), loader, ckpt_path=last, weights_only=False)
    report("done", stats=loader.stats())


if __name__ == "__main__":
    main()
