#!/usr/bin/env python3
"""shuffle_take.py DIR BATCH [BUFFER]: the hardest short rival of a shuffled stream, pyarrow and numpy in one process.

Random row groups fill the buffer (BUFFER of them, 4 by default), one take permutes it, and batches are slices without a copy: strings and
lists as offsets and values. The consumer reads every byte of each batch. It mixes BUFFER row groups into a batch, has no resume, no ranks
and nothing that runs beside it.
"""

import random
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import measure

pa.set_cpu_count(1)
pa.set_io_thread_count(1)


def stream(directory, batch, buffer):
    files = [pq.ParquetFile(path, memory_map=True) for path in measure.files(directory)]
    groups = [(file, group) for file in files for group in range(file.num_row_groups)]
    random.Random(1).shuffle(groups)
    rng = np.random.default_rng(1)
    for i in range(0, len(groups), buffer):
        table = pa.concat_tables([file.read_row_group(group, use_threads=False) for file, group in groups[i : i + buffer]])
        table = table.take(pa.array(rng.permutation(len(table))))
        columns = [parts(column.combine_chunks()) for column in table.columns]
        for start in range(0, len(table), batch):
            end = min(start + batch, len(table))
            for offsets, values in columns:
                if offsets is None:
                    measure.touch(values[start:end])
                else:
                    measure.touch(offsets[start : end + 1])
                    measure.touch(values[offsets[start] : offsets[end]])
            yield end - start, 1


def parts(column):
    """A column as (offsets, values), offsets None where the values are of one width."""
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0)
    if isinstance(column, pa.DictionaryArray):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return column.offsets.to_numpy(), column.values.to_numpy(zero_copy_only=False)
    if (large := pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)) or pa.types.is_string(kind) or pa.types.is_binary(kind):
        _, offsets, values = column.buffers()
        first = column.offset
        return np.frombuffer(offsets, np.int64 if large else np.int32)[first : first + len(column) + 1], np.frombuffer(values, np.uint8)
    return None, column.to_numpy(zero_copy_only=False)


buffer = int(sys.argv[3]) if len(sys.argv) > 3 else 4
measure.run(f"pyarrow take of {buffer} row groups", stream(sys.argv[1], int(sys.argv[2]), buffer))
