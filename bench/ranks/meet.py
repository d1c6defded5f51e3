"""meet.py ours|seats|each WORLD PROCESSES: how long ranks take to agree through one store.

Each rank is a thread with a connection of its own to the store, and eight of them are a node. The
nodes share one engine here, as jobs of their own. "ours" is what the ranks of a data set
do before its first batch, "seats" what they do where nodes exchange what their caches hold, and
"each" a way without engines and without requests for many keys at once: rank 0 asks for one rank
after another, and the others look ten times a second.
"""

import json
import multiprocessing
import os
import sys
import threading
import time

os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"  # it tells of each connection without a host's name

import torch.distributed as dist
from shardfeed._connection import Connection
from shardfeed._engine import Engine
from shardfeed.torch import _agree
from shardfeed.torch._meeting import SEATS, Meeting
from shardfeed.torch._seats import Seats, _packed

NODE = 8  # ranks
LANES = 8  # of a rank
NAMES = "batch_size columns data epoch lanes life order position quantum rows seed shuffle_buffer spread start tail unit_rows units"
PRINT = {name: f"{name} of the ranks" for name in (*NAMES.split(), "world_size")}


def meeting_of(store, rank, world):
    return Meeting(store, "train.py:3#1", rank, world, 600.0, Engine(f"node {rank // NODE}", local_world_size=NODE))


def ours(store, rank, world):
    meeting = meeting_of(store, rank, world)
    meeting.give(SEATS, {"order": None})
    if rank == 0:
        meeting.conclude(SEATS, {})
    _agree.compare(meeting, PRINT)
    meeting.close()


def seats(store, rank, world):
    meeting = meeting_of(store, rank, world)
    lanes, node = LANES * world, rank // NODE
    held = "A" * (lanes // 6) if meeting.leads(f"node {node:026}") else None
    own = {"node": f"node {node:026}", "order": f"{lanes} 1 {'0' * 64} {'0' * 16}", "data_rank": rank, "held": held}
    found = meeting.gather(SEATS, own, lambda there: {"seats": _packed(list(range(len(there) * LANES)))})
    assert len(Seats(found).of(None)) == lanes
    _agree.compare(meeting, {**PRINT, "seats": "0 1 2"})
    meeting.close()


def each(store, rank, world):
    store.add(f"each/{rank}/times", 1)
    store.set(f"each/{rank}", json.dumps({"has": PRINT, "claim": [rank, 1]}))
    if rank == 0:
        for key in (f"each/{r}" for r in range(world)):
            wait(store, key)
        prints = [json.loads(store.get(f"each/{r}"))["has"] for r in range(world)]
        store.set("each/found", json.dumps([name for name in PRINT if len({p[name] for p in prints}) > 1]))
    wait(store, "each/found")
    assert json.loads(store.get("each/found")) == []


def wait(store, key):
    pause = 0.002
    while not store.check([key]):
        time.sleep(pause)
        pause = min(2 * pause, 0.1)


def process(way, port, numbers, world, begin, out):
    def one(rank):
        store = dist.PrefixStore("job", dist.TCPStore("127.0.0.1", port, is_master=False, wait_for_workers=False))
        ready.release()
        begin.wait()
        at = time.monotonic()
        way(store, rank, world)
        took.append(time.monotonic() - at)

    ready, took = threading.Semaphore(0), []
    threads = [threading.Thread(target=one, args=(n,)) for n in numbers]
    for thread in threads:
        thread.start()
    for _ in threads:
        ready.acquire()
    cpu = time.process_time()
    out.put(None)
    for thread in threads:
        thread.join()
    assert len(took) == len(numbers)
    out.put((max(took), time.process_time() - cpu))


def main():
    way, world, processes = {"ours": ours, "seats": seats, "each": each}[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])
    context = multiprocessing.get_context("fork")
    engine = Engine()
    held = Connection(engine, None)
    os.environ["SHARDFEED_SOCKET"] = str(engine.socket)
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    begin, out = context.Event(), context.Queue()
    numbers = [list(range(world * k // processes, world * (k + 1) // processes)) for k in range(processes)]
    started = [context.Process(target=process, args=(way, server.port, own, world, begin, out)) for own in numbers]
    for p in started:
        p.start()
    for _ in started:
        out.get()
    cpu = time.process_time()
    begin.set()
    found = [out.get() for _ in started]
    result = {"seconds": max(seconds for seconds, _ in found), "store_seconds": time.process_time() - cpu}
    print(json.dumps({**result, "cpu_seconds": result["store_seconds"] + sum(cpu for _, cpu in found)}))
    for p in started:
        p.join()
    held.close()


if __name__ == "__main__":
    main()
