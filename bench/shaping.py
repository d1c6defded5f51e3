"""Shaped batches: packing, buckets, mixtures, feature matrices, and Python off the training thread."""

import packing


def checks(directory):
    return list(packing.checks(directory))
