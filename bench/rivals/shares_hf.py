#!/usr/bin/env python3
"""shares_hf.py SAMPLES WINDOW SEED: how exactly interleave_datasets keeps probabilities."""

import json
import sys

import datasets
import numpy as np

import weighed

samples, window, seed = map(int, sys.argv[1:4])
errors = []
for number in weighed.NUMBERS:
    weights = weighed.weights(number, seed)
    p = weights / weights.sum()
    rows = np.ceil(samples * p * 1.2).astype(int)  # enough of each
    sources = [datasets.Dataset.from_dict({"source": np.full(n, i)}) for i, n in enumerate(rows)]
    mixed = datasets.interleave_datasets(sources, probabilities=p.tolist(), seed=seed).with_format("numpy")
    errors.append(weighed.worst(mixed["source"][:samples], weights, window))
print(json.dumps({"percent": max(errors)}))
