"""What the trainings with Lightning share: the module, and the trainer with its checkpoints."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from rank import WORLD_SIZE

logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)


class Module(lightning.LightningModule):
    """A model whose steps are reported; loss gets the model and a batch."""

    def __init__(self, model: torch.nn.Module, loss: Callable[[Any, Any], torch.Tensor], report: Callable[[Any], None]) -> None:
        super().__init__()
        self.model = model
        self._loss, self._report = loss, report

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        self._report(batch)
        return self._loss(self.model, batch)

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=1e-3)


def fit(module: Module, loader: Any, given: argparse.Namespace, last: Path | None, epochs: int) -> None:
    """Trains with DDP, from the last checkpoint on."""
    checkpoints = ModelCheckpoint(
        given.checkpoint, filename="step-{step:06d}", auto_insert_metric_name=False, every_n_train_steps=given.every
    )
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=WORLD_SIZE,
        strategy="ddp",
        max_epochs=epochs,
        callbacks=[checkpoints],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, loader, ckpt_path=last, weights_only=False)
