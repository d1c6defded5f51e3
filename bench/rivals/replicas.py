#!/usr/bin/env python3
"""replicas.py DIR BATCH BUFFER R STEP: one epoch by R processes that all get the same batches (replication=R), and what their engine took.

Each process waits STEP milliseconds for each batch, as for a device; with 0 it waits only for the engine, which has to wake all of them
for each batch. The processor time is the engine's; the processes' is beside it.
"""

import json
import multiprocessing
import os
import sys
import time

import shardfeed


def epoch(directory, batch, buffer, rank, replicas, step, results):
    os.environ |= {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(replicas),
        "LOCAL_WORLD_SIZE": str(replicas),
    }
    dataset = shardfeed.StreamingDataset(directory, batch_size=batch, shuffle_buffer=buffer, seed=1, replication=replicas)
    began, rows = time.process_time(), 0
    for taken in dataset:
        rows += len(taken.row_valid)
        if step:
            time.sleep(step / 1000)
    took = time.process_time() - began
    results.put((rank, rows, took, dataset.stats()))
    results.close()
    results.join_thread()


def main():
    directory, batch, buffer, replicas, step = sys.argv[1], *map(int, sys.argv[2:6])
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    began = time.perf_counter()
    ranks = [context.Process(target=epoch, args=(directory, batch, buffer, rank, replicas, step, results)) for rank in range(replicas)]
    for rank in ranks:
        rank.start()
    found = sorted((results.get() for _ in ranks), key=lambda r: r[0])
    for rank in ranks:
        rank.join()
    last = max((stats for *_, stats in found), key=lambda s: s["cpu_seconds"])
    print(
        json.dumps(
            {
                "rows": found[0][1],
                "same": len({rows for _, rows, *_ in found}) == 1,
                "seconds": time.perf_counter() - began,
                "user_seconds": last["user_seconds"],
                "system_seconds": last["system_seconds"],
                "trainer_seconds": sum(took for *_, took, _ in found),
            }
        )
    )


if __name__ == "__main__":
    main()
