"""A training with Hugging Face's Trainer, and checkpoints within an epoch that hold the loader."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from rank import Model, Report, Trained, arguments, loss

import shardfeed.torch
from shardfeed.torch.huggingface import TrainerMixin


class Trainer(TrainerMixin, transformers.Trainer):
    pass


class Net(torch.nn.Module):
    """The model as the Trainer wants it: it gets the columns and returns a loss."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Model()
        self.trained: Trained | None = None

    def forward(self, **batch: Any) -> dict[str, Any]:
        assert self.trained is not None
        self.trained(batch)
        return {"loss": loss(self.inner, batch)}


class Begun(transformers.TrainerCallback):
    """Says where the training begins."""

    def __init__(self, model: Net, report: Report) -> None:
        self.model, self.report = model, report

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.model.trained = Trained(self.report, state.global_step, given.pause)


def main() -> None:
    report = Report()
    dataset = shardfeed.torch.StreamingDataset(
        given.uri, batch_size=given.batch_size, columns=["id", "x", "label"], seed=given.seed, with_row_valid=True
    )
    model = Net()
    options = transformers.TrainingArguments(
        output_dir=str(given.checkpoint),
        use_cpu=True,
        num_train_epochs=1,
        per_device_train_batch_size=3,  # the data set knows better
        save_steps=given.every,
        save_strategy="steps",
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
    )
    trainer = Trainer(model=model, args=options, train_dataset=dataset, callbacks=[Begun(model, report)])
    whole = given.checkpoint.glob("checkpoint-*/trainer_state.json")  # what is written last
    last = max((path.parent for path in whole), key=lambda path: int(path.name.partition("-")[2]), default=None)
    trainer.train(resume_from_checkpoint=last and str(last))
    report("done", stats=dataset.stats())


if __name__ == "__main__":
    given = arguments()
    main()
