"""A driver of Spark as users write it: it converts a DataFrame, and TorchDistributor trains on it.

spark_job.py MASTER INPUT CACHE TOLD; without TOLD it converts alone, and prints what it got.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from pyspark.ml.torch.distributor import TorchDistributor
from pyspark.sql import SparkSession

import shardfeed.spark


def train(data: shardfeed.spark.Converted, told: str) -> None:
    import torch.distributed as dist

    import shardfeed.torch

    dist.init_process_group("gloo")
    loader = shardfeed.torch.DataLoader(data.uri, batch_size=64, columns=["id"], seed=3, with_row_valid=True)
    ids = [i for batch in loader for i in batch["id"][batch["_row_valid"]].tolist()]
    line = {"ids": ids, "engine": loader.dataset._engine_pid, "rows": len(data), "pid": os.getpid()}
    Path(told, f"{dist.get_rank()}.json").write_text(json.dumps(line))
    dist.destroy_process_group()


def main() -> None:
    master, source, cache, *told = sys.argv[1:]
    spark = SparkSession.builder.master(master).getOrCreate()
    data = shardfeed.spark.convert(spark.read.parquet(source).where("id >= 10"), cache, row_group_bytes="1MiB")
    for directory in told:
        local = not master.startswith("local-cluster")
        TorchDistributor(num_processes=2, local_mode=local, use_gpu=False).run(train, data, directory)
    memory = shardfeed.spark.convert(spark.createDataFrame([(1, "a")], "id long, name string"), cache)
    print(json.dumps({"uri": data.uri, "rows": len(data), "written": data.written, "memory": memory.uri}))
    spark.stop()


if __name__ == "__main__":
    main()
