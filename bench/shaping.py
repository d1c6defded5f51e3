"""Shaped batches: packing, buckets, mixtures, feature matrices, and Python off the training thread."""

import features
import packing


def checks(directory):
    return [*packing.checks(directory), *features.checks(directory)]
