"""A program with workers of grain's mp_prefetch: URI REPORT. It writes what it saw as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import grain
import numpy as np
from absl import app

import shardfeed.grain

URI, REPORT = sys.argv[1], Path(sys.argv[2])
WORKERS = grain.MultiprocessingOptions(num_workers=2, per_worker_buffer_size=2)


def plus_nothing(batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {"id": batch["id"] + 0}


def pipeline(**options: Any) -> grain.IterDataset:
    source = shardfeed.grain.Source(URI, batch_size=100, columns=["id"], seed=7, **options)
    return source.map(plus_nothing).mp_prefetch(WORKERS)


def flat(steps: list[list[int]]) -> list[int]:
    return [i for step in steps for i in step]


def main(_: list[str]) -> None:
    batches, states, steps = iter(pipeline(epochs=2)), {}, []
    while True:
        if len(steps) in (1, 13, 41):
            states[len(steps)] = json.loads(json.dumps(batches.get_state()))
        try:
            steps.append(next(batches)["id"].tolist())
        except StopIteration:
            break
    told: dict[str, Any] = {"steps": steps, "epochs": [flat(steps[:40]), flat(steps[40:])], "resumed": {}}
    for step, state in states.items():
        again = iter(pipeline(epochs=2))
        again.set_state(state)
        told["resumed"][step] = [batch["id"].tolist() for batch in again]
    told["ranks"] = [flat([batch["id"].tolist() for batch in pipeline(rank=rank, world_size=2)]) for rank in range(2)]
    try:
        next(iter(pipeline(rank=0, world_size=2, replication=2)))
        told["replicas"] = ""
    except Exception as e:
        told["replicas"] = str(e)
    REPORT.write_text(json.dumps(told))


if __name__ == "__main__":
    app.run(main)  # grain's workers read its flags
