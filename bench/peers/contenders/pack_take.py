"""The hard rival, packed: take_once's four row groups at a time.

bfd is best fit by falling length, with a sorted list of rooms, and copies documents once, straight
into their blocks. wrapped joins the documents, and its blocks are slices.
"""

import bisect
import itertools

import numpy as np
import torch
from blocks import dense, lengths_of
from from_arrow import parts
from take_once import tables


def batches(task):
    rng, packed = np.random.default_rng(task.seed), {"bfd": best_fit, "wrapped": wrapped}[task.strategy]
    for table in tables(task):
        documents = [v[a:b] for v, ends in map(parts, table.column("token_ids").chunks) for a, b in itertools.pairwise(ends.tolist())]
        yield from packed([documents[i] for i in rng.permutation(len(documents))], rng, task.tokens, task.batch)


def best_fit(documents, rng, size, batch):
    rooms, blocks = [], []
    for document in sorted(documents, key=len, reverse=True):
        at = bisect.bisect_left(rooms, (len(document),))
        if at < len(rooms):
            room, block = rooms.pop(at)
        else:
            room, block = size, len(blocks)
            blocks.append([])
        bisect.insort(rooms, (room - len(document), block))
        blocks[block].append(document)
    blocks = [blocks[i] for i in rng.permutation(len(blocks))]
    for b in range(0, len(blocks), batch):
        some = blocks[b : b + batch]
        lengths = np.array([len(document) for block in some for document in block])
        yield {"token_ids": dense(some, size), "seq_lengths": lengths_of(lengths, np.cumsum([0, *map(len, some)]))}


def wrapped(documents, rng, size, batch):
    values = np.concatenate(documents)
    starts = np.arange(0, len(values), size)
    edges = np.union1d(np.cumsum([0, *map(len, documents)]), starts)
    lengths, first = np.diff(edges), np.append(np.searchsorted(edges, starts), len(edges) - 1)
    whole = len(values) // size
    blocks = torch.from_numpy(values[: whole * size].reshape(whole, size))
    for b in range(0, whole, batch):
        end = min(b + batch, whole)
        yield {"token_ids": blocks[b:end], "seq_lengths": lengths_of(lengths, first[b : end + 1])}
    if whole < len(starts):
        yield {"token_ids": dense([[values[whole * size :]]], size), "seq_lengths": lengths_of(lengths, first[whole:])}
