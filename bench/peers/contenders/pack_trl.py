"""TRL's pack_dataset over a stream of Hugging Face datasets.

Blocks come as Arrow lists, the cheapest way, and are padded here.
"""

import itertools

import datasets
from blocks import dense, lengths_of
from datasets import load_dataset
from from_arrow import parts
from trl import pack_dataset

datasets.disable_progress_bars()


def batches(task):
    stream = load_dataset("parquet", data_files=task.files, split="train", streaming=True, columns=["token_ids"])
    packed = pack_dataset(stream.shuffle(seed=task.seed, buffer_size=task.buffer), task.tokens, strategy=task.strategy)
    for table in packed.with_format("arrow").iter(task.batch):
        values, edges = parts(table.column("token_ids"))
        blocks = [[values[a:b]] for a, b in itertools.pairwise(edges.tolist())]
        yield {"token_ids": dense(blocks, task.tokens), "seq_lengths": lengths_of(*parts(table.column("seq_lengths")))}
