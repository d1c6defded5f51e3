#!/usr/bin/env python3
"""filter_hf.py DIR COLUMN LIMIT BATCH BUFFER: a shuffled stream of the rows where COLUMN < LIMIT, by Hugging Face datasets.

It takes Arrow tables in this process, the cheapest way that it has, and reads every byte of each. The filter is pyarrow's, so it also
leaves out row groups by their statistics.
"""

import sys

import datasets
import pyarrow as pa

import measure

datasets.disable_progress_bars()


def stream(directory, column, limit, batch, buffer):
    rows = datasets.load_dataset(
        "parquet", data_files=measure.files(directory), split="train", streaming=True, filters=[(column, "<", int(limit))]
    )
    rows = rows.shuffle(seed=1, buffer_size=int(buffer))
    for table in rows.with_format("arrow").iter(int(batch)):
        for chunk in (chunk for name in table.column_names for chunk in table[name].chunks):
            for memory in (b for b in chunk.buffers() if b is not None):
                measure.touch(pa.py_buffer(memory))
        yield len(table), 1


measure.run("datasets " + datasets.__version__, stream(*sys.argv[1:6]))
