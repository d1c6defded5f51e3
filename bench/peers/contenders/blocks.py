"""Blocks of tokens, as rivals that pack make them."""

import numpy as np
import torch
from columns import Flat


def dense(blocks, size):
    """Blocks of one size, each of the documents of a list of arrays, with zeros behind them."""
    out = np.empty((len(blocks), size), np.int32)
    for row, documents in zip(out, blocks):
        n = sum(map(len, documents))
        np.concatenate(documents, out=row[:n])
        row[n:] = 0
    return torch.from_numpy(out)


def lengths_of(lengths, first):
    """The lengths of the documents; block i has lengths[first[i] : first[i + 1]]."""
    return Flat(torch.from_numpy(lengths[first[0] : first[-1]]), torch.from_numpy(first - first[0]))
