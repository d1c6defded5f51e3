"""Shaped batches: packing, buckets, mixtures, feature matrices, and Python in workers."""

import buckets
import features
import mixtures
import packing
import workers


def checks(directory):
    return [line for noun in (packing, buckets, features, mixtures, workers) for line in noun.checks(directory)]
