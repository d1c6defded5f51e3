"""Trains two steps and evaluates on all ranks with Hugging Face's Trainer, and reports what it
found.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
import transformers
from rank import Report

import shardfeed.torch
from shardfeed.torch.huggingface import TrainerMixin


class Trainer(TrainerMixin, transformers.Trainer):
    pass


class Net(torch.nn.Module):
    """Predicts the id; its loss is the mean of x."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(1, dtype=torch.float64))

    def forward(self, id: torch.Tensor, x: torch.Tensor, labels: torch.Tensor) -> dict[str, Any]:
        return {"loss": (self.scale * x).mean(), "logits": (self.scale * id)[:, None]}


def with_labels(batch: dict[str, Any]) -> dict[str, Any]:
    named = {"id": batch["id"], "x": batch["x"].double(), "labels": batch["label"]}
    return {**named, **({"_row_valid": batch["_row_valid"]} if "_row_valid" in batch else {})}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("uri")
    parser.add_argument("directory", type=Path)
    parser.add_argument("batch_sizes", type=int, nargs="+")
    given = parser.parse_args()
    report = Report()
    options = transformers.TrainingArguments(
        output_dir=str(given.directory),
        use_cpu=True,
        max_steps=2,
        learning_rate=0.0,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )

    def open_shards(batch_size: int) -> Any:
        columns = ["id", "x", "label"]
        dataset = shardfeed.torch.StreamingDataset(given.uri, batch_size=batch_size, columns=columns, with_row_valid=True, cache=False)
        return dataset.map(with_labels)

    def metrics(found: transformers.EvalPrediction) -> dict[str, Any]:
        ids = [round(float(i)) for i in found.predictions[:, 0]]
        return {"ids": sorted(ids), "labels": all(label == i % 7 for i, label in zip(ids, found.label_ids.tolist()))}

    trainer = Trainer(model=Net(), args=options, train_dataset=open_shards(given.batch_sizes[0]), compute_metrics=metrics)
    trainer.train()
    for batch_size in given.batch_sizes:
        found = trainer.evaluate(open_shards(batch_size))
        took = found["eval_runtime"]
        counts = {"rows": found["eval_samples_per_second"] * took, "steps": found["eval_steps_per_second"] * took}
        report("found", size=batch_size, ids=found["eval_ids"], labels=found["eval_labels"], loss=found["eval_loss"], **counts)
    trainer.accelerator.end_training()


if __name__ == "__main__":
    main()
