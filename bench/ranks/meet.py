"""meet.py ours|seats|all|each WORLD PROCESSES: how long ranks take to agree through one store.

A rank is a client of the store, in a thread. "ours" is what the ranks of a data set do before its
first batch: of the eight ranks of a node one is such a client, and all that the others say to it
through their engine is there when it begins: nodes have processors of their own for that. "seats" is
what they do where nodes exchange what their caches hold. "all" is "ours" with every rank in a
thread, and one engine for all nodes. In "each" no rank speaks for others: rank 0 asks for one rank
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
from shardfeed.torch._carrier import Carrier
from shardfeed.torch._meeting import ORDER, SEATS, Meeting
from shardfeed.torch._seats import Seats, _packed

NAME = "train.py:3#1"
NODE = 8  # ranks
LANES = 8  # of a rank
NAMES = "batch_size columns data epoch lanes life order position quantum rows seed shuffle_buffer spread start tail unit_rows units"
PRINT = {name: f"{name} of the ranks" for name in (*NAMES.split(), "world_size")}


class Node:
    """Stands for an engine, where ranks have given what they have."""

    def __init__(self):
        self.values, self.found, self.count = {}, {}, 0

    def put(self, values):
        self.values.update(values)

    def meet(self, *, values, found=(), wants="", **_):
        self.values.update(values)
        self.found.update(found)
        given, self.values = self.values, {}
        self.count += len(given)
        wanted = [wants] if wants and wants not in self.found else []
        return {"carries": True, "values": given, "count": self.count, "members": NODE, "found": self.found, "wanted": wanted}

    def close(self):
        pass


def node(store, number, world, exchanges):
    """All ranks of a node, the first of which goes to the store."""
    local = Node()
    ranks = [Meeting(store, NAME, rank, world, 600.0) for rank in range(number * NODE, (number + 1) * NODE)]
    for meeting in ranks[1:]:
        meeting._carrier = local
    ranks[0]._carrier = Carrier(store, local, "", NODE)
    for meeting in reversed(ranks):
        exchange(meeting, world) if exchanges else skip(meeting)
    fingerprint = {**PRINT, "seats": "0 1 2"} if exchanges else PRINT
    for meeting in ranks[1:]:
        meeting.give(ORDER, {"has": fingerprint, "claim": (meeting.rank, 1)})
    _agree.compare(ranks[0], fingerprint)


def skip(meeting):
    meeting.give(SEATS, {"order": None})
    if meeting.rank == 0:
        meeting.conclude(SEATS, {})


def exchange(meeting, world):
    lanes, number = LANES * world, meeting.rank // NODE
    first = meeting.rank % NODE == 0
    held = "A" * (lanes // 6) if meeting.leads(f"node {number:026}") else None
    own = {"node": f"node {number:026}", "order": f"{lanes} 1 {'0' * 64} {'0' * 16}", "data_rank": meeting.rank, "held": held}
    if not first:
        meeting.give(SEATS, own)
        return
    found = meeting.gather(SEATS, own, lambda there: {"seats": _packed(list(range(len(there) * LANES)))})
    assert len(Seats(found).of(None)) == lanes


def ours(store, number, world):
    node(store, number, world, False)


def seats(store, number, world):
    node(store, number, world, True)


def everyone(store, rank, world):
    meeting = Meeting(store, NAME, rank, world, 600.0, Engine(f"node {rank // NODE}", local_world_size=NODE))
    skip(meeting)
    _agree.compare(meeting, PRINT)
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
    way, world, processes = {"ours": ours, "seats": seats, "all": everyone, "each": each}[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])
    clients = world // NODE if way in (ours, seats) else world
    context = multiprocessing.get_context("fork")
    if way is everyone:
        engine = Engine()
        held = Connection(engine, None)
        os.environ["SHARDFEED_SOCKET"] = str(engine.socket)
    server = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    begin, out = context.Event(), context.Queue()
    numbers = [list(range(clients * k // processes, clients * (k + 1) // processes)) for k in range(processes)]
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
    if way is everyone:
        held.close()


if __name__ == "__main__":
    main()
