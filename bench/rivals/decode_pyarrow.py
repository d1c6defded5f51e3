#!/usr/bin/env python3
"""decode_pyarrow.py DIR: every row group to Arrow by pyarrow, one thread."""

import sys

import pyarrow as pa
import pyarrow.parquet as pq

import measure

pa.set_cpu_count(1)
pa.set_io_thread_count(1)


def tables(directory):
    for path in measure.files(directory):
        file = pq.ParquetFile(path, memory_map=True)
        for group in range(file.num_row_groups):
            yield len(file.read_row_group(group, use_threads=False)), 1


measure.run("pyarrow " + pa.__version__, tables(sys.argv[1]))
