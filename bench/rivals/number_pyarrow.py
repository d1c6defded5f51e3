#!/usr/bin/env python3
"""number_pyarrow.py DIR one|slices|take: random rows by number of a table in memory, 256 at a time.

`one` is a dict of each row, table.slice(row, 1).to_pylist(), as map-style data sets over pyarrow return it; `slices` joins the slices
into one table, and `take` is Table.take. Reading the table is not counted. Its chunks are joined first, which take needs to be fast.
"""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import measure

ROWS, REQUESTS = 256, {"one": 50, "slices": 200, "take": 2000}

pa.set_cpu_count(1)
pa.set_io_thread_count(1)


def stream(table, mode):
    random = np.random.default_rng(1)
    for _ in range(REQUESTS[mode]):
        rows = random.integers(0, len(table), ROWS)
        if mode == "one":
            batch = [table.slice(row, 1).to_pylist()[0] for row in rows.tolist()]
        elif mode == "slices":
            batch = pa.concat_tables([table.slice(row, 1) for row in rows.tolist()]).combine_chunks()
        else:
            batch = table.take(pa.array(rows))
        yield len(batch), 1


def columns(table):
    """The table with one chunk a column, and 64-bit offsets where 32 bits are too few."""
    try:
        return table.combine_chunks()
    except pa.ArrowInvalid:
        return table


directory, mode = sys.argv[1:3]
table = columns(pa.concat_tables([pq.read_table(path, use_threads=False) for path in measure.files(directory)]))
measure.run(f"pyarrow {mode}", stream(table, mode))
