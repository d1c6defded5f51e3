"""A training with Lightning on a packed stream: DDP, and checkpoints that hold the loader."""

from __future__ import annotations

import logging
from typing import Any

import lightning
import packed
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from rank import WORLD_SIZE, Report, arguments, newest, steps_of

import shardfeed.torch
import shardfeed.torch.huggingface

logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)


class Module(lightning.LightningModule):
    def __init__(self, report: packed.Blocks) -> None:
        super().__init__()
        self.model = packed.model()
        self.report = report

    def training_step(self, batch: dict[str, torch.Tensor], batch_idx: int) -> torch.Tensor:
        self.report(batch["input_ids"])
        return self.model(**batch).loss

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=1e-3)


def main() -> None:
    given = arguments()
    report = Report()
    loader = shardfeed.torch.DataLoader(shardfeed.torch.huggingface.packed(given.uri, **packed.stream_arguments(given)))
    last = newest(given.checkpoint)
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=WORLD_SIZE,
        strategy="ddp",
        max_epochs=2,
        callbacks=[
            ModelCheckpoint(given.checkpoint, filename="step-{step:06d}", auto_insert_metric_name=False, every_n_train_steps=given.every)
        ],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    module = Module(packed.Blocks(report, steps_of(last) if last else 0, given.pause))
    trainer.fit(module, loader, ckpt_path=last, weights_only=False)
    report("done")


if __name__ == "__main__":
    main()
