#!/usr/bin/env python3
"""hub_ranks.py WAY ADDRESS RANKS EPOCHS BATCH BUFFER: ranks of a machine stream shuffled epochs.

WAY is shardfeed; datasets, streamed as its documentation shows; or datasets-large, with requests of
up to 128 MiB and one read ahead. BUFFER is the rows that a rank mixes. Every byte of each batch is
read. Imports are not counted. All ranks wait for each other after an epoch; a line reports it, and
a line of standard input lets them continue. The last line has the figures.
"""

import json
import multiprocessing
import os
import sys
import time

import measure


def shardfeed_epochs(address, rank, ranks, batch, buffer):
    import shardfeed

    dataset = shardfeed.StreamingDataset(address, batch_size=batch, shuffle_buffer=buffer, seed=1)
    while True:
        yield (batch_arrays(b) for b in dataset)


def batch_arrays(batch):
    """The arrays of a batch, a list's values and offsets among them."""
    found = []
    for value in batch.values():
        found += [value] if hasattr(value, "dtype") and hasattr(value, "strides") else [value.values, value.offsets]
    return found, len(batch.row_valid)


def datasets_epochs(address, rank, ranks, batch, buffer, large=False):
    import datasets
    import pyarrow as pa
    import pyarrow.dataset
    from datasets.distributed import split_dataset_by_node

    datasets.disable_progress_bars()
    more = {}
    if large:
        cache = pa.CacheOptions(prefetch_limit=1, range_size_limit=128 << 20)
        more["fragment_scan_options"] = pyarrow.dataset.ParquetFragmentScanOptions(cache_options=cache)
    rows = datasets.load_dataset(address, split="train", streaming=True, **more)
    rows = split_dataset_by_node(rows.shuffle(seed=1, buffer_size=buffer), rank, ranks).with_format("arrow")
    epoch = 0
    while True:
        rows.set_epoch(epoch)
        yield ((table_arrays(t), len(t)) for t in rows.iter(batch))
        epoch += 1


def table_arrays(table):
    import pyarrow as pa

    return [
        memoryview(pa.py_buffer(b)) for name in table.column_names for chunk in table[name].chunks for b in chunk.buffers() if b is not None
    ]


WAYS = {
    "shardfeed": shardfeed_epochs,
    "datasets": datasets_epochs,
    "datasets-large": lambda *given: datasets_epochs(*given, large=True),
}


def run(way, address, rank, ranks, epochs, batch, buffer, barrier, results):
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks)}
    __import__(way.partition("-")[0])
    barrier.wait()
    rows = 0
    each = WAYS[way](address, rank, ranks, batch, buffer)
    for _ in range(epochs):
        for arrays, n in next(each):
            rows += n
            for array in arrays:
                measure.touch(array)
        barrier.wait()
        barrier.wait()
    results.put(rows)
    results.close()
    results.join_thread()
    sys.stdout.flush()
    os._exit(0)  # the exit code of libraries is not part of a run


def main():
    way, address, ranks, epochs, batch, buffer = *sys.argv[1:3], *map(int, sys.argv[3:7])
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(ranks + 1), context.Queue()
    processes = [context.Process(target=run, args=(way, address, r, ranks, epochs, batch, buffer, barrier, results)) for r in range(ranks)]
    for process in processes:
        process.start()
    barrier.wait()
    seconds = 0.0
    for epoch in range(epochs):
        began = time.perf_counter()
        barrier.wait()
        seconds += time.perf_counter() - began
        print(json.dumps({"epoch": epoch, "seconds": seconds}), flush=True)
        sys.stdin.readline()
        barrier.wait()
    print(json.dumps({"rows": sum(results.get() for _ in processes), "seconds": seconds}), flush=True)
    for process in processes:
        process.join()


if __name__ == "__main__":
    main()
