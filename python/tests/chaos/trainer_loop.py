"""A rank under transformers' Trainer, whose checkpoints hold the data set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import transformers

from chaos import values
from chaos.trace import Trace, place
from shardfeed.torch.huggingface import TrainerMixin

STATE = "shardfeed.json"  # in a checkpoint


class Net(torch.nn.Module):
    """A line through x."""

    def __init__(self) -> None:
        super().__init__()
        self.line = torch.nn.Linear(1, 1)

    def forward(self, x: torch.Tensor, **_: Any) -> dict[str, Any]:
        return {"loss": self.line(x[:, None]).square().mean()}


class Notes(transformers.TrainerCallback):  # type: ignore[misc]
    """Notes the ends of epochs and the states in checkpoints."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def on_epoch_end(self, *_: Any, **__: Any) -> None:
        self._trace.note("end of epoch")

    def on_save(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
        if state.is_world_process_zero:
            self._trace.note("saved", **place_in(Path(args.output_dir) / f"checkpoint-{state.global_step}"))


def place_in(checkpoint: Path) -> dict[str, int]:
    return place(json.loads((checkpoint / STATE).read_text())["dataset"])


def run(stream: Any, scenario: dict[str, Any], world: int, checkpoints: Path, trace: Trace, state: Path | None) -> None:
    """Trains all remaining epochs, from a checkpoint of the Trainer's or a state of the stream."""
    resumed = state if state is not None and state.is_dir() else None
    if state is not None and resumed is None:
        stream.load_state_dict(json.loads(state.read_text()))
    trace.note("start", **(place_in(resumed) if resumed is not None else place(stream.state_dict())))

    class Trainer(TrainerMixin, transformers.Trainer):  # type: ignore[misc]
        def training_step(self, model: Any, inputs: Any, *more: Any, **given: Any) -> Any:
            trace.note("batch", rows=values.rows(scenario["stream"], inputs))
            return super().training_step(model, inputs, *more, **given)

    options = transformers.TrainingArguments(
        output_dir=str(checkpoints),
        use_cpu=True,
        ddp_backend="gloo",
        num_train_epochs=scenario["epochs"],
        save_strategy="steps",
        save_steps=scenario["save_every"],
        report_to="none",
        disable_tqdm=True,
        logging_strategy="no",
        remove_unused_columns=False,
    )
    trainer = Trainer(model=Net(), args=options, train_dataset=stream, callbacks=[Notes(trace)])
    trainer.train(resume_from_checkpoint=resumed and str(resumed))
    trace.note("done")
