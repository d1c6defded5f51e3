#!/usr/bin/env python3
"""hub_ranks.py WAY ADDRESS RANKS EPOCHS BATCH BUFFER: ranks of a machine train on shuffled epochs.

Each way ends in batches of torch tensors, every byte of which is read. BUFFER is the rows that a
rank mixes. WAY is one of

    shardfeed
    datasets           streamed as its documentation shows
    datasets-large     the same with requests of up to 128 MiB, and one read ahead
    download-datasets  the hub's own client downloads all files at once, 16 at a time; datasets
                       converts them to Arrow, and mixes rows of shuffled shards of these
    download-pyarrow   the same download; each rank then reads shuffled row groups by pyarrow, and
                       mixes their rows

Imports are not counted. All ranks wait for each other after an epoch; a line reports it, and a line
of standard input lets them continue. The last line has the figures.
"""

import json
import multiprocessing
import os
import sys
import time

import measure

MEMORY = "1GiB"  # of a rank of ours, as machines with eight devices have


def shardfeed_epochs(address, rank, ranks, batch, buffer, together):
    from shardfeed.torch import DataLoader, Ragged

    def tensors(batch):
        return [t for v in batch.values() for t in ([v.values, v.offsets] if isinstance(v, Ragged) else [v])]

    loader = DataLoader(address, batch_size=batch, shuffle_buffer=buffer * ranks, seed=1, memory=MEMORY)
    while True:
        yield ((tensors(b), len(b["doc_id"])) for b in loader)


def datasets_epochs(address, rank, ranks, batch, buffer, together, large=False):
    import datasets
    import pyarrow as pa
    import pyarrow.dataset

    more = {}
    if large:
        cache = pa.CacheOptions(prefetch_limit=1, range_size_limit=128 << 20)
        more["fragment_scan_options"] = pyarrow.dataset.ParquetFragmentScanOptions(cache_options=cache)
    yield from mixed(datasets.load_dataset(address, split="train", streaming=True, **more), rank, ranks, batch, buffer)


def mixed(rows, rank, ranks, batch, buffer):
    """Epochs of an iterable data set, in Arrow: its own format torch has a tensor for each row of a list."""
    from datasets.distributed import split_dataset_by_node

    rows = split_dataset_by_node(rows.shuffle(seed=1, buffer_size=buffer), rank, ranks).with_format("arrow")
    epoch = 0
    while True:
        rows.set_epoch(epoch)
        yield ((table_tensors(t), len(t)) for t in rows.iter(batch))
        epoch += 1


def first_by_rank_0(rank, together, make):
    """What make returns. The other ranks call it when rank 0 has, and find what it kept."""
    made = make(True) if rank == 0 else None
    together.wait()
    return make(False) if made is None else made


def downloaded(address, rank, together):
    """The files on the disk. One rank downloads them; the others would only ask the hub for the same."""
    import glob

    from huggingface_hub import snapshot_download

    directory = first_by_rank_0(
        rank, together, lambda first: snapshot_download(address, repo_type="dataset", max_workers=16, local_files_only=not first)
    )
    return sorted(glob.glob(f"{directory}/**/*.parquet", recursive=True))


SHARDS_OF_RANK = 8


def download_datasets_epochs(address, rank, ranks, batch, buffer, together):
    import datasets

    files = downloaded(address, rank, together)

    def load(first):
        return datasets.load_dataset("parquet", data_files=files, split="train", num_proc=os.cpu_count() if first else None)

    rows = first_by_rank_0(rank, together, load)
    yield from mixed(rows.to_iterable_dataset(num_shards=SHARDS_OF_RANK * ranks), rank, ranks, batch, buffer)


def download_pyarrow_epochs(address, rank, ranks, batch, buffer, together):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = [pq.ParquetFile(f, memory_map=True) for f in downloaded(address, rank, together)]
    groups = [(f, g) for f in files for g in range(f.num_row_groups)]

    def tables(draw):
        waiting, rows = [], 0
        for i in draw.permutation(len(groups))[rank::ranks]:
            file, group = groups[i]
            waiting.append(file.read_row_group(group, use_threads=False))
            rows += len(waiting[-1])
            if rows >= buffer:
                yield pa.concat_tables(waiting)
                waiting, rows = [], 0
        if waiting:
            yield pa.concat_tables(waiting)

    def batches(draw):
        for table in tables(draw):
            table = table.take(draw.permutation(len(table))).combine_chunks()
            yield from (table.slice(at, batch) for at in range(0, len(table), batch))

    epoch = 0
    while True:
        yield ((table_tensors(t), len(t)) for t in batches(np.random.default_rng(epoch)))  # the same on all ranks: they divide one order
        epoch += 1


def table_tensors(table):
    """The tensors of a table without nulls, a list's values and offsets among them."""
    import torch

    found = []
    for column in table.columns:
        for chunk in column.chunks:
            arrays = [chunk.flatten(), chunk.offsets] if hasattr(chunk, "offsets") else [chunk]
            found += [torch.from_numpy(a.to_numpy(zero_copy_only=False)) for a in arrays]
    return found


IMPORTS = {"shardfeed": "shardfeed.torch", "download-pyarrow": "pyarrow.parquet"}
WAYS = {
    "shardfeed": shardfeed_epochs,
    "datasets": datasets_epochs,
    "datasets-large": lambda *given: datasets_epochs(*given, large=True),
    "download-datasets": download_datasets_epochs,
    "download-pyarrow": download_pyarrow_epochs,
}


def run(*given):
    """Runs a rank. If it fails, the others stop waiting for it."""
    try:
        train(*given)
    finally:
        for barrier in given[-3:-1]:
            barrier.abort()


def train(way, address, rank, ranks, epochs, batch, buffer, barrier, together, results):
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks)}
    for name in (IMPORTS.get(way, "datasets"), "huggingface_hub", "torch"):
        __import__(name)
    if "datasets" in way:
        sys.modules["datasets"].disable_progress_bars()
    sys.modules["torch"].set_num_threads(1)
    barrier.wait()
    began, first, rows = time.perf_counter(), None, 0
    each = WAYS[way](address, rank, ranks, batch, buffer, together)
    for _ in range(epochs):
        for tensors, n in next(each):
            rows += n
            for tensor in tensors:
                measure.touch(tensor.numpy())
            first = first or time.perf_counter() - began
        barrier.wait()
        barrier.wait()
    results.put((rows, first))
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
    print(json.dumps({"start": True}), flush=True)
    seconds = 0.0
    for epoch in range(epochs):
        began = time.perf_counter()
        barrier.wait()
        seconds += time.perf_counter() - began
        print(json.dumps({"epoch": epoch, "seconds": seconds}), flush=True)
        sys.stdin.readline()
        barrier.wait()
    rows, firsts = zip(*(results.get() for _ in processes))
    print(json.dumps({"rows": sum(rows), "first_seconds": max(firsts)}), flush=True)
    for process in processes:
        process.join()


if __name__ == "__main__":
    main()
