"""Evaluates on all ranks so that each row counts once: torchmetrics adds up over the ranks, or
Accelerate gathers predictions.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

import torch
import torchmetrics
from accelerate import Accelerator
from rank import Report

import shardfeed.torch
from shardfeed.torch import huggingface

CLASSES = 7


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("uri")
    parser.add_argument("batch_sizes", type=int, nargs="+")
    given = parser.parse_args()
    report = Report()
    accelerator = Accelerator(cpu=True)
    for batch_size in given.batch_sizes:
        options = {"columns": ["id", "x", "label"], "shuffle": False, "with_row_valid": True, "cache": False}
        dataset = shardfeed.torch.StreamingDataset(given.uri, batch_size=batch_size, **options)
        loader = shardfeed.torch.DataLoader(dataset)
        report("found", way="torchmetrics", size=batch_size, **added_up(loader))
        report("found", way="own loader", size=batch_size, **gathered(accelerator, accelerator.prepare(loader)))
        report("found", way="prepared", size=batch_size, **gathered(accelerator, huggingface.prepare(accelerator, dataset, num_workers=1)))
    accelerator.end_training()


def predict(batch: dict[str, Any]) -> torch.Tensor:
    """The model: it is wrong about every third row."""
    return (batch["label"] + (batch["id"] % 3 == 0)) % CLASSES


def added_up(batches: Iterable[dict[str, Any]]) -> dict[str, Any]:
    accuracy = torchmetrics.classification.MulticlassAccuracy(CLASSES, average="micro")
    mean, rows = torchmetrics.MeanMetric(), torchmetrics.SumMetric()
    steps = 0
    for batch in batches:
        real = shardfeed.torch.drop_padding(batch)
        steps += 1
        if real is not None:
            accuracy.update(predict(real), real["label"])
            mean.update(real["x"])
            rows.update(len(real["id"]))
    return {"steps": steps, "accuracy": accuracy.compute().item(), "mean": mean.compute().item(), "rows": int(rows.compute())}


def gathered(accelerator: Accelerator, batches: Iterable[dict[str, Any]]) -> dict[str, Any]:
    right, x, steps = [], [], 0
    for batch in batches:
        every = {"right": predict(batch) == batch["label"], "x": batch["x"], "_row_valid": batch["_row_valid"]}
        real = shardfeed.torch.drop_padding(accelerator.gather_for_metrics(every))
        steps += 1
        assert real is not None
        right.append(real["right"])
        x.append(real["x"])
    found = torch.cat(right)
    return {"steps": steps, "accuracy": found.float().mean().item(), "mean": torch.cat(x).mean().item(), "rows": len(found)}


if __name__ == "__main__":
    main()
