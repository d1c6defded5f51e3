"""peers.py petastorm|ray_train|dali OUT: runs lines of docs/coming-from.md from stdin, and writes the rows that they read as JSON.

Each library has an environment of its own, without this package.
"""

import json
import sys
import tempfile
from pathlib import Path

ROWS = 1024


def petastorm(code):
    from petastorm import make_batch_reader
    from petastorm.pytorch import BatchedDataLoader

    rows = []
    names = {"make_batch_reader": make_batch_reader, "BatchedDataLoader": BatchedDataLoader}
    exec(code, {"rank": 0, "world": 1, "train": lambda batch: rows.extend(batch["id"].tolist()), **names})
    return rows


def ray_train(code):
    """The first line is the driver's, the others are a loop's."""
    import ray
    from ray.train import ScalingConfig
    from ray.train.torch import TorchTrainer

    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    driver, _, loop = code.partition("\n")
    names = {"ray": ray}
    exec(driver, names)

    def each(_):
        from ray import train

        rows = []
        exec(loop, {"train": train, "step": lambda batch: rows.extend(batch["id"].tolist())})
        read.write_text(json.dumps(rows))

    read = Path(tempfile.mkdtemp(prefix="shardfeed-peers-")) / "rows.json"
    TorchTrainer(each, datasets={"train": names["dataset"]}, train_loop_config={}, scaling_config=ScalingConfig(num_workers=1)).fit()
    return json.loads(read.read_text())


def dali(code):
    from nvidia.dali import fn, pipeline_def

    names = {"rank": 0, "world": 1, "fn": fn, "pipeline_def": pipeline_def}
    exec(code, names)
    pipeline = names["images"]()
    pipeline.build()
    return [int(label) for _ in range(ROWS // 256) for label in pipeline.run()[1].as_array().ravel()]


Path(sys.argv[2]).write_text(json.dumps(globals()[sys.argv[1]](sys.stdin.read())))
