#!/usr/bin/env python3
"""hub_ranks.py WAY ADDRESS RANKS EPOCHS BATCH BUFFER: ranks of a machine stream shuffled epochs.

WAY is shardfeed; datasets, streamed as its documentation shows; datasets-large, with requests of up
to 128 MiB and one read ahead; download-datasets, where the hub's own client downloads all files at
once, 16 at a time, before datasets reads them from the disk; or download-pyarrow, where each rank
then reads its share of the files by pyarrow, in file order. BUFFER is the rows that a rank mixes. Every byte of each batch is
read. Imports are not counted. All ranks wait for each other after an epoch; a line reports it, and
a line of standard input lets them continue. The last line has the figures.
"""

import json
import multiprocessing
import os
import sys
import time

import measure


def shardfeed_epochs(address, rank, ranks, batch, buffer, together):
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


def datasets_epochs(address, rank, ranks, batch, buffer, together, large=False, files=()):
    import datasets
    import pyarrow as pa
    import pyarrow.dataset
    from datasets.distributed import split_dataset_by_node

    datasets.disable_progress_bars()
    more = {}
    if large:
        cache = pa.CacheOptions(prefetch_limit=1, range_size_limit=128 << 20)
        more["fragment_scan_options"] = pyarrow.dataset.ParquetFragmentScanOptions(cache_options=cache)
    if files:
        more["data_files"] = list(files)
    rows = datasets.load_dataset("parquet" if files else address, split="train", streaming=True, **more)
    rows = split_dataset_by_node(rows.shuffle(seed=1, buffer_size=buffer), rank, ranks).with_format("arrow")
    epoch = 0
    while True:
        rows.set_epoch(epoch)
        yield ((table_arrays(t), len(t)) for t in rows.iter(batch))
        epoch += 1


def downloaded(address, rank, together):
    """The files on the disk. One rank downloads them; the others would only ask the hub for the same."""
    import glob

    from huggingface_hub import snapshot_download

    def ask(offline):
        return snapshot_download(address, repo_type="dataset", max_workers=16, local_files_only=offline)

    directory = ask(False) if rank == 0 else None
    together.wait()
    return sorted(glob.glob(f"{directory or ask(True)}/**/*.parquet", recursive=True))


def download_datasets_epochs(address, rank, ranks, batch, buffer, together):
    yield from datasets_epochs(address, rank, ranks, batch, buffer, together, files=downloaded(address, rank, together))


def download_pyarrow_epochs(address, rank, ranks, batch, buffer, together):
    import pyarrow as pa
    import pyarrow.parquet as pq

    mine = downloaded(address, rank, together)[rank::ranks]
    while True:
        batches = (b for file in mine for b in pq.ParquetFile(file, memory_map=True).iter_batches(batch))
        yield ((table_arrays(pa.Table.from_batches([b])), len(b)) for b in batches)


def table_arrays(table):
    import pyarrow as pa

    return [
        memoryview(pa.py_buffer(b)) for name in table.column_names for chunk in table[name].chunks for b in chunk.buffers() if b is not None
    ]


IMPORTS = {"datasets-large": "datasets", "download-datasets": "datasets", "download-pyarrow": "pyarrow.parquet"}
WAYS = {
    "shardfeed": shardfeed_epochs,
    "datasets": datasets_epochs,
    "datasets-large": lambda *given: datasets_epochs(*given, large=True),
    "download-datasets": download_datasets_epochs,
    "download-pyarrow": download_pyarrow_epochs,
}


def run(way, address, rank, ranks, epochs, batch, buffer, barrier, together, results):
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks)}
    for name in (IMPORTS.get(way, way), "huggingface_hub"):
        __import__(name)
    barrier.wait()
    rows = 0
    each = WAYS[way](address, rank, ranks, batch, buffer, together)
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
    barrier, together, results = context.Barrier(ranks + 1), context.Barrier(ranks), context.Queue()
    given = ranks, epochs, batch, buffer, barrier, together, results
    processes = [context.Process(target=run, args=(way, address, rank, *given)) for rank in range(ranks)]
    for process in processes:
        process.start()
    barrier.wait()
    seconds, ends = 0.0, []
    for epoch in range(epochs):
        began = time.perf_counter()
        barrier.wait()
        seconds += time.perf_counter() - began
        ends.append(seconds)
        print(json.dumps({"epoch": epoch, "seconds": seconds}), flush=True)
        sys.stdin.readline()
        barrier.wait()
    print(json.dumps({"rows": sum(results.get() for _ in processes), "seconds": seconds, "ends": ends}), flush=True)
    for process in processes:
        process.join()


if __name__ == "__main__":
    main()
