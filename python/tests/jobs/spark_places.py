"""A driver of Spark whose TorchDistributor trains on addresses: spark_places.py TOLD, a directory with places.json.

Two processes read the first steps of each place, and then one the rest.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.ml.torch.distributor import TorchDistributor
from pyspark.sql import SparkSession


def train(places: dict[str, Any], states: dict[str, Any], steps: int, told: str) -> None:
    import torch.distributed as dist

    import shardfeed.torch

    dist.init_process_group("gloo")
    for name, (uri, options, column) in places.items():
        loader = shardfeed.torch.DataLoader(uri, batch_size=4, columns=[column], seed=3, with_row_valid=True, storage_options=options)
        if name in states:
            loader.load_state_dict(states[name])
        ids = []
        for step, batch in enumerate(loader, 1):
            ids += batch[column][batch["_row_valid"]].tolist()
            if step == steps:
                break
        line = {"name": name, "ids": ids, "state": loader.state_dict(), "engine": loader.dataset._engine_pid}
        Path(told, f"{name} {steps} {dist.get_rank()}.json").write_text(json.dumps(line))
        loader.close()
    dist.destroy_process_group()


def main() -> None:
    told = Path(sys.argv[1])
    places = json.loads((told / "places.json").read_text())
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    TorchDistributor(num_processes=2, local_mode=True, use_gpu=False).run(train, places, {}, 3, str(told))
    states = {name: json.loads((told / f"{name} 3 0.json").read_text())["state"] for name in places}
    TorchDistributor(num_processes=1, local_mode=True, use_gpu=False).run(train, places, states, 0, str(told))
    spark.stop()


if __name__ == "__main__":
    main()
