"""What other libraries do with lengths, as arithmetic: no data is read."""

import numpy as np


def next_fit(lengths, size):
    """torchtune's PackedDataset: a block takes documents in their order until one does not fit.

    Long ones lose their end. Returns the tokens that are left, and the number of blocks.
    """
    lengths = np.minimum(lengths, size)
    blocks, room = 0, 0
    for length in lengths.tolist():
        if length > room:
            blocks, room = blocks + 1, size
        room -= length
    return int(lengths.sum()), blocks


def buckets(lengths, budget, ranges=16):
    """tf.data's bucket_by_sequence_length: a bucket for each range, of equally many rows.

    A batch has as many rows as fit the budget at the longest of its range. It is padded to its
    longest row. Returns the padded tokens.
    """
    edges = np.unique(np.quantile(lengths, np.arange(1, ranges + 1) / ranges, method="lower"))
    held, padded = [[] for _ in edges], 0
    for length, at in zip(lengths.tolist(), np.searchsorted(edges, lengths).tolist()):
        held[at].append(length)
        if len(held[at]) == max(1, budget // int(edges[at])):
            padded += max(held[at]) * len(held[at])
            held[at] = []
    return padded + sum(max(rows) * len(rows) for rows in held if rows)
