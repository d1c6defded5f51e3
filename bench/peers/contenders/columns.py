"""Columns as contenders deliver them: tensors, lists of bytes or str, and Flat, the values of all rows with where each begins.

What every contender does with Arrow and with rows is here once, and so is what the consumer does.
"""

import itertools
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch


class Flat(NamedTuple):
    """Texts, bytes or lists without a copy: row i is values[offsets[i]:offsets[i + 1]]. The first offset may be above 0."""

    values: torch.Tensor
    offsets: torch.Tensor


def parts(column):
    """A column of Arrow as (values, offsets) of numpy, offsets None where the values are of one width. Nulls become NaN."""
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0)
    kind = column.type
    if pa.types.is_list(kind):
        return column.values.to_numpy(zero_copy_only=False), column.offsets.to_numpy()
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        _, offsets, values = column.buffers()
        return np.frombuffer(values, np.uint8), np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    return column.to_numpy(zero_copy_only=False), None


def of_arrow(table):
    """An Arrow table as a batch, without a copy where Arrow allows it."""
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    out = {}
    for name, column in zip(table.column_names, table.columns):
        values, offsets = parts(column)
        if offsets is None:
            out[name] = torch.from_numpy(values)
        else:
            out[name] = Flat(torch.from_numpy(values[offsets[0] : offsets[-1]]), torch.from_numpy(offsets - offsets[0]))
    return out


def as_rows(table):
    """The columns of an Arrow table as sequences of row values: str, bytes, numbers, an array of its own for each list."""
    for column in table.columns:
        if pa.types.is_list(column.type):
            values, offsets = parts(column)
            yield [values[a:b].copy() for a, b in itertools.pairwise(offsets)]
        elif pa.types.is_string(column.type) or pa.types.is_binary(column.type):
            yield column.to_pylist()
        else:
            yield parts(column)[0]


def collate(rows, names):
    """Rows (tuples) as a batch. Lists become one tensor and their lengths: a tensor for each would cost a worker a segment each."""
    out = {}
    for name, values in zip(names, zip(*rows)):
        first = values[0]
        if isinstance(first, (str, bytes)):
            out[name] = list(values)
        elif isinstance(first, np.ndarray):
            ends = np.cumsum([0, *map(len, values)], dtype=np.int32)
            out[name] = Flat(torch.from_numpy(np.concatenate(values)), torch.from_numpy(ends))
        elif isinstance(first, torch.Tensor) and first.dim():
            ends = np.cumsum([0, *map(len, values)], dtype=np.int32)
            out[name] = Flat(torch.cat(values), torch.from_numpy(ends))
        elif isinstance(first, torch.Tensor):
            out[name] = torch.stack(values)
        else:
            out[name] = torch.from_numpy(np.asarray([np.nan if v is None else v for v in values] if None in values else values))
    return out


def collate_dicts(rows):
    """Rows (dicts) as a batch."""
    return collate([row.values() for row in rows], rows[0])


def count(column):
    """Rows of a column."""
    return len(column.offsets) - 1 if hasattr(column, "offsets") else len(column)


def touch(batch):
    """The consumer: reads every byte of a batch, with as little work as possible."""
    for column in batch.values():
        if isinstance(column, torch.Tensor):
            read(column)
        elif hasattr(column, "offsets"):
            read(column.values)
            read(column.offsets)
        else:
            (b"" if isinstance(column[0], bytes) else "").join(column)


SMALL = 1 << 16  # bytes; below, a copy into the caches of the core is the quickest way to read


def read(tensor):
    array = tensor.numpy()
    if array.nbytes <= SMALL:
        array.tobytes()
    else:
        array.reshape(-1).view(np.uint8).max()


def row_numbers(column):
    """The numbers of the rows: of a column of numbers, or of texts like N00000012345."""
    if isinstance(column, torch.Tensor):
        return column.numpy().astype(np.int64)
    if hasattr(column, "offsets"):
        raw = column.values[int(column.offsets[0]) : int(column.offsets[-1])].numpy()
        column = raw.reshape(count(column), -1)
        return (column[:, 1:].astype(np.int64) - ord("0")) @ 10 ** np.arange(column.shape[1] - 2, -1, -1)
    return np.fromiter((int(text[1:]) for text in column), np.int64, len(column))
