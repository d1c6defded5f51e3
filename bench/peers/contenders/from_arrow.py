"""What contenders do with Arrow: columns without a copy, batches, rows."""

import itertools

import numpy as np
import pyarrow as pa
import torch
from columns import Flat


def is_list(kind):
    return pa.types.is_list(kind) or pa.types.is_large_list(kind)


def is_text(kind):
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def is_bytes(kind):
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind)


def parts(column):
    """A column of Arrow as (values, offsets) of numpy, offsets None where the values are of one width. Nulls become NaN."""
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0)
    kind = column.type
    if is_list(kind):
        return column.values.to_numpy(zero_copy_only=False), column.offsets.to_numpy()
    if is_text(kind) or is_bytes(kind):
        _, offsets, values = column.buffers()
        large = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
        places = np.frombuffer(offsets, np.int64 if large else np.int32)
        return np.frombuffer(values, np.uint8), places[column.offset : column.offset + len(column) + 1]
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
        if is_list(column.type):
            values, offsets = parts(column)
            yield [values[a:b].copy() for a, b in itertools.pairwise(offsets)]
        elif is_text(column.type) or is_bytes(column.type):
            yield column.to_pylist()
        else:
            yield parts(column)[0]
