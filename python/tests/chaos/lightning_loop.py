"""A rank under Lightning, whose checkpoints hold the loader."""

from __future__ import annotations

import json
import logging
import warnings
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint

from chaos import values
from chaos.trace import Trace, place
from shardfeed.torch import DataLoader

warnings.simplefilter("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Module(lightning.LightningModule):
    """A line through x that notes its batches."""

    def __init__(self, kind: str, trace: Trace) -> None:
        super().__init__()
        self.line = torch.nn.Linear(1, 1)
        self._kind, self._trace = kind, trace

    def training_step(self, batch: Any, _: int) -> torch.Tensor:
        self._trace.note("batch", rows=values.rows(self._kind, batch))
        return self.line(batch["x"][:, None]).square().mean()  # type: ignore[no-any-return]

    def configure_optimizers(self) -> Any:
        return torch.optim.SGD(self.parameters(), lr=1e-9)

    def on_train_epoch_end(self) -> None:
        self._trace.note("end of epoch")

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self._trace.note("saved", **place_in(checkpoint))


def place_in(checkpoint: dict[str, Any]) -> dict[str, int]:
    (state,) = checkpoint["loops"]["fit_loop"]["state_dict"]["combined_loader"]
    return place(state)


def run(stream: Any, scenario: dict[str, Any], world: int, checkpoints: Path, trace: Trace, state: Path | None) -> None:
    """Trains all remaining epochs, from a checkpoint of Lightning's or a state of the stream."""
    resumed = state if state is not None and state.suffix == ".ckpt" else None
    loader = DataLoader(stream)
    if resumed is not None:
        trace.note("start", **place_in(torch.load(resumed, weights_only=False)))
    elif state is not None:
        loader.load_state_dict(json.loads(state.read_text()))
    if resumed is None:
        trace.note("start", **place(loader.state_dict()))
    saves = ModelCheckpoint(
        checkpoints, filename="{step:06d}", every_n_train_steps=scenario["save_every"], save_top_k=-1, save_on_train_epoch_end=None
    )
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=world,
        strategy="ddp" if world > 1 else "auto",
        max_epochs=scenario["epochs"],
        callbacks=[saves],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=str(checkpoints),
    )
    trainer.fit(Module(scenario["stream"], trace), loader, ckpt_path=resumed and str(resumed), weights_only=False)
    trace.note("done")
