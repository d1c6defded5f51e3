"""Petastorm on plain parquet: two threads, row groups shuffled, a shuffling queue.

petastorm:batched has no texts and no lists of unequal lengths; petastorm:dl takes the type check off, which refuses strings, and pads lists
first, which the reader wants of one length.
"""

import logging

import numpy as np
import petastorm.pytorch as torch_side
import pyarrow as pa
import pyarrow.parquet as pq
from columns import collate_dicts
from petastorm import make_batch_reader
from petastorm.transform import TransformSpec

logging.disable(logging.WARNING)

LISTS = "token_ids"
LONGEST = {"unique_id": 64, "doc_id": 2048}  # items of the sets' lists


def batches(task):
    schema = pq.read_schema(task.files[0])
    batched = task.contender.startswith("petastorm:batched")
    names = task.wanted or [f.name for f in schema if not (batched and pa.types.is_string(f.type))]
    return loader(task, names, padding(LONGEST[task.id]) if LISTS in names else None, batched)


def loader(task, names, transform, batched):
    reader = make_batch_reader(
        [f"file://{path}" for path in task.files],
        schema_fields=names,
        reader_pool_type="thread",
        workers_count=task.workers,
        results_queue_size=4,
        shuffle_row_groups=True,
        seed=task.seed,
        shard_seed=task.seed,
        num_epochs=1,
        transform_spec=transform,
    )
    if batched:
        return torch_side.BatchedDataLoader(reader, task.batch, shuffling_queue_capacity=task.buffer)
    torch_side._sanitize_pytorch_types = lambda row: None
    return torch_side.DataLoader(reader, task.batch, collate_fn=collate_dicts, shuffling_queue_capacity=task.buffer)


def padding(width):
    def padded(values):
        out = np.zeros(width, np.int32)
        out[: len(values)] = values
        return out

    def change(frame):
        frame[LISTS] = frame[LISTS].map(padded)
        return frame

    return TransformSpec(change, edit_fields=[(LISTS, np.int32, (width,), False)])
