"""Blocks of tokens, as rivals that pack make them of flat tokens."""

import numpy as np
import torch
from columns import Flat


def dense(values, edges, size):
    """Blocks of one size: block i is values[edges[i] : edges[i + 1]], and zeros behind them."""
    out = np.empty((len(edges) - 1, size), values.dtype)
    for i in range(len(out)):
        n = edges[i + 1] - edges[i]
        out[i, :n] = values[edges[i] : edges[i + 1]]
        out[i, n:] = 0
    return torch.from_numpy(out)


def documents(lengths, first, last):
    """The lengths of the documents of each block; those of block i begin at first[i], and last is the end of all."""
    offsets = np.append(first, last)
    return Flat(torch.from_numpy(lengths[offsets[0] : offsets[-1]]), torch.from_numpy(offsets - offsets[0]))
