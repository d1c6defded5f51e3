"""The hard rival: four random row groups, one take of a permutation, slices without a copy; one process, one thread.

It mixes four row groups into a batch, has no resume, no ranks, and nothing that runs beside the training.
"""

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from columns import Flat
from from_arrow import parts

GROUPS = 4
ROWS = 4096  # of a matrix at a time: they stay in the core's caches


def batches(task):
    rng = np.random.default_rng(task.seed)
    for table in tables(task):
        if task.matrix:
            yield from matrices(table, rng.permutation(len(table)), task.batch)
            continue
        table = table.take(pa.array(rng.permutation(len(table))))
        columns = {name: parts(column) for name, column in zip(table.column_names, table.columns)}
        for start in range(0, len(table), task.batch):
            yield {name: cut(*column, start, min(start + task.batch, len(table))) for name, column in columns.items()}


def matrices(table, order, batch):
    """The columns as one matrix, some rows at a time, put straight into the shuffled order.

    That takes half the time of column by column.
    """
    matrix, start = np.empty((len(table), table.num_columns), np.float32), 0
    for some in table.to_batches(max_chunksize=ROWS):
        part = np.empty((len(some), table.num_columns), np.float32)
        for i, column in enumerate(some.columns):
            part[:, i] = column.to_numpy(zero_copy_only=False)
        matrix[order[start : start + len(some)]] = part
        start += len(some)
    matrix = torch.from_numpy(matrix)
    for start in range(0, len(table), batch):
        yield {"x": matrix[start : start + batch]}


def tables(task):
    """Tables of four random row groups each, in file order."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    files = [pq.ParquetFile(path, memory_map=True) for path in task.files]
    groups = [(file, group) for file in files for group in range(file.num_row_groups)]
    random.Random(task.seed).shuffle(groups)
    for i in range(0, len(groups), GROUPS):
        yield pa.concat_tables(
            [file.read_row_group(group, columns=task.wanted, use_threads=False) for file, group in groups[i : i + GROUPS]]
        )


def cut(values, offsets, start, end):
    if offsets is None:
        return torch.from_numpy(values[start:end])
    return Flat(torch.from_numpy(values[offsets[start] : offsets[end]]), torch.from_numpy(offsets[start : end + 1]))
