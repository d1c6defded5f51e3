"""Columns as contenders deliver them: tensors, lists of bytes or str, and Flat, the values of all rows and their offsets.

The work of contenders and consumers with rows is here once.
"""

from typing import NamedTuple

import numpy as np
import torch


class Flat(NamedTuple):
    """Texts, bytes or lists without a copy: row i starts at values[offsets[i] - offsets[0]]."""

    values: torch.Tensor
    offsets: torch.Tensor


def collate(rows, names):
    """Rows (tuples) as a batch. Lists become one tensor: one each would cost a worker a segment each."""
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


def tokens(batch):
    """Tokens of documents in a batch. Grain numbers documents from 1, others say their lengths."""
    if "segment_ids" in batch:
        return int(np.count_nonzero(batch["segment_ids"].numpy()))
    lengths = batch["seq_lengths"]
    return int((lengths.values if hasattr(lengths, "offsets") else lengths).sum())


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


def weight(batch):
    """Bytes of a batch of tensors and Flat."""
    parts = [part for column in batch.values() for part in ((column.values, column.offsets) if hasattr(column, "offsets") else (column,))]
    return sum(part.nbytes for part in parts)


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
        column = column.values.numpy().reshape(count(column), -1)
        return (column[:, 1:].astype(np.int64) - ord("0")) @ 10 ** np.arange(column.shape[1] - 2, -1, -1)
    return np.fromiter((int(text[1:]) for text in column), np.int64, len(column))
