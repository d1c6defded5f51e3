#!/usr/bin/env python3
"""shares_ours.py SAMPLES WINDOW DIR SEED: how exactly sources, the files of DIR, keep weights."""

import json
import sys

import numpy as np
import pyarrow.parquet as pq
import shardfeed

import measure
import weighed


def taken(files, weights, lanes, samples, seed):
    """The source of each sample, by the row numbers, which no two files share."""
    first = [pq.ParquetFile(path).read(["id"]).column("id").to_numpy().min() for path in files]
    order = np.argsort(first)
    sources = {f"source-{i:02d}": shardfeed.Source(path, weight=float(w)) for i, (path, w) in enumerate(zip(files, weights))}
    rows = shardfeed.StreamingDataset(
        sources=sources, epoch_size=samples, batch_size=1000, columns=["id"], lanes=lanes, seed=seed, shuffle_buffer=10_000
    )
    ids = np.concatenate([batch["id"] for batch in rows])
    return order[np.searchsorted(np.array(first)[order], ids, side="right") - 1]


def main():
    samples, window, directory, seed = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    files = measure.files(directory)
    errors = []
    for number in sorted({min(n, len(files)) for n in weighed.NUMBERS}):
        weights = weighed.weights(number, seed)
        for lanes in weighed.LANES:
            errors.append(weighed.worst(taken(files[:number], weights, lanes, samples, seed), weights, window))
    print(json.dumps({"percent": max(errors)}))


if __name__ == "__main__":
    main()
