"""The hard rival, packed: what take_once does, with one take that puts documents in the order of their blocks.

bfd is best fit by falling length over the four row groups, with a sorted list of rooms; wrapped cuts the joined documents, without a copy.
"""

import bisect

import numpy as np
import pyarrow as pa
import torch
from blocks import dense, documents
from take_once import tables


def batches(task):
    rng, packed = np.random.default_rng(task.seed), {"bfd": best_fit, "wrapped": wrapped}[task.strategy]
    for table in tables(task):
        yield from packed(table.column("token_ids").combine_chunks(), rng, task.tokens, task.batch)


def best_fit(column, rng, size, batch):
    lengths = np.minimum(np.diff(column.offsets.to_numpy()), size)
    by_length = rng.permutation(len(lengths))
    by_length = by_length[np.argsort(-lengths[by_length], kind="stable")]
    rooms, bins, block = [], 0, np.empty(len(lengths), np.int32)
    for row, length in zip(by_length.tolist(), lengths[by_length].tolist()):
        at = bisect.bisect_left(rooms, (length,))
        if at < len(rooms):
            room, into = rooms.pop(at)
        else:
            room, into, bins = size, bins, bins + 1
        bisect.insort(rooms, (room - length, into))
        block[row] = into
    block = rng.permutation(bins)[block]
    order = np.argsort(block, kind="stable")
    column = column.take(pa.array(order))
    values, ends = column.values.to_numpy(), column.offsets.to_numpy()
    first = np.searchsorted(block[order], np.arange(bins + 1))
    lengths = lengths[order]
    for b in range(0, bins, batch):
        docs = first[b : b + batch + 1]
        yield {"token_ids": dense(values, ends[docs], size), "seq_lengths": documents(lengths, docs[:-1], docs[-1])}


def wrapped(column, rng, size, batch):
    column = column.take(pa.array(rng.permutation(len(column))))
    values, ends = column.values.to_numpy(), column.offsets.to_numpy()
    starts = np.arange(0, len(values), size)
    edges = np.union1d(ends, starts)
    lengths, first = np.diff(edges), np.append(np.searchsorted(edges, starts), len(edges) - 1)
    whole = len(values) // size
    blocks = torch.from_numpy(values[: whole * size].reshape(whole, size))
    for b in range(0, whole, batch):
        e = min(b + batch, whole)
        yield {"token_ids": blocks[b:e], "seq_lengths": documents(lengths, first[b:e], first[e])}
    if whole * size < len(values):
        last = np.array([whole * size, len(values)])
        yield {"token_ids": dense(values, last, size), "seq_lengths": documents(lengths, first[whole : whole + 1], first[-1])}
