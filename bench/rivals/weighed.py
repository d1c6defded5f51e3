"""For programs that mix sources: the weights, and the largest error of a source's share."""

import numpy as np

NUMBERS = (2, 3, 5, 20)  # of sources
LANES = (8, 64)


def weights(sources, seed):
    return np.random.default_rng([seed, sources]).uniform(1, 10, sources)


def worst(taken, weights, window):
    """The largest error in percent: over any window of samples, and over all sources."""
    wanted = window * weights / weights.sum()
    error = 0.0
    for source, share in enumerate(wanted):
        before = np.concatenate([[0], np.cumsum(taken == source)])
        error = max(error, np.abs(before[window:] - before[:-window] - share).max())
    return 100 * error / window
