"""meet.py ours|seats|all|each WORLD PROCESSES: how long ranks take to agree through one store.

A rank is a client of the store, in a thread. "ours" does as the ranks of a data set do before its
first batch: of the eight ranks of a node one is such a client, and all messages of the others
through their engine are there when it starts: nodes have processors of their own for that. "seats" is
what they do where nodes exchange what their caches hold. "all" is "ours" with every rank in a
thread, and one engine for all nodes. In "each" no rank speaks for others: rank 0 asks for one rank
after another, and the others look ten times a second.
"""

import contextlib
import datetime
import faulthandler
import json
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import sys
import threading
import time
import traceback

os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"  # it logs each connection without a host's name
os.environ["RES_OPTIONS"] = "timeout:1 attempts:1"  # a client asks name servers for that name, which may lose its question

import torch.distributed as dist
from shardfeed._engine._connection import Connection
from shardfeed._engine._process import Engine
from shardfeed.torch._ranks import _agree
from shardfeed.torch._ranks._carrier import Carrier
from shardfeed.torch._ranks._meeting import ORDER, SEATS, Meeting
from shardfeed.torch._ranks._seats import Seats, _packed

NAME = "train.py:3#1"
NODE = 8  # ranks
LANES = 8  # of a rank
NAMES = "batch_size columns data epoch lanes life order position quantum rows seed shuffle_buffer spread start tail unit_rows units"
LIMIT = 150  # seconds that all ranks have to be ready, and to be done
PATIENCE = 120.0  # seconds that a rank waits for others
GRACE = 5  # seconds that a process has to end
PRINT = {name: f"{name} of the ranks" for name in (*NAMES.split(), "world_size")}


class Node:
    """In place of an engine, to which ranks have given what they have."""

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
    ranks = [Meeting(store, NAME, rank, world, PATIENCE) for rank in range(number * NODE, (number + 1) * NODE)]
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
    meeting = Meeting(store, NAME, rank, world, PATIENCE, Engine(f"node {rank // NODE}", local_world_size=NODE))
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


def serve():
    """The store. It looks up the host's name of each client before it serves the next one. The
    machine knows the name of IPv4's loopback; for the same address in IPv6 it asks name servers.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    return dist.TCPStore("127.0.0.1", port, is_master=True, wait_for_workers=False, master_listen_fd=listener.detach())


def client(port):
    limit = datetime.timedelta(seconds=PATIENCE)
    return dist.TCPStore("127.0.0.1", port, is_master=False, wait_for_workers=False, timeout=limit)


class Failed(Exception):
    """A process that could not do its part."""


class Ranks:
    """Ranks of one process, each in a thread. What they come to goes to the parent: None once all
    are ready, (seconds, seconds of processor) when all are done, or at once the text of a failure.
    """

    def __init__(self, way, numbers, world, link):
        self.way, self.numbers, self.world, self.link = way, numbers, world, link
        self.begin, self.lock = threading.Event(), threading.Lock()
        self.ready, self.took, self.cpu = 0, [], 0.0

    def run(self, parents):
        """Ends when the parent closes its end of the link, whatever the threads do. This process
        inherited that end, and earlier processes' ends.
        """
        for end in parents:
            end.close()
        faulthandler.register(signal.SIGUSR1)
        with contextlib.suppress(EOFError):
            port = self.link.recv()
            for number in self.numbers:
                threading.Thread(target=self.one, args=(number, port), daemon=True).start()
            self.link.recv()
            self.cpu = time.process_time()
            self.begin.set()
            self.link.recv()

    def one(self, rank, port):
        try:
            store = dist.PrefixStore("job", client(port))
            with self.lock:
                self.ready += 1
                if self.ready == len(self.numbers):
                    self.link.send(None)
            self.begin.wait()
            at = time.monotonic()
            self.way(store, rank, self.world)
            with self.lock:
                self.took.append(time.monotonic() - at)
                if len(self.took) == len(self.numbers):
                    self.link.send((max(self.took), time.process_time() - self.cpu))
        except BaseException:
            with self.lock:
                self.link.send(f"rank {rank}: {traceback.format_exc()}")


class Processes:
    """The processes of all ranks. They are forked while this one has no other thread, such as a
    store's, whose locks they would keep for ever.
    """

    def __init__(self, way, world, clients, count):
        context = multiprocessing.get_context("fork")
        self.of = {}  # process by link
        for k in range(count):
            numbers = list(range(clients * k // count, clients * (k + 1) // count))
            link, theirs = context.Pipe()
            process = context.Process(target=Ranks(way, numbers, world, theirs).run, args=([*self.of, link],), daemon=True)
            process.start()
            theirs.close()
            self.of[link] = process

    def tell(self, value):
        for link in self.of:
            link.send(value)

    def answers(self, what):
        """One answer of each process. Raises Failed with the first failure."""
        found, deadline = {}, time.monotonic() + LIMIT
        while missing := [link for link in self.of if link not in found]:
            there = multiprocessing.connection.wait(missing, max(0, deadline - time.monotonic()))
            if not there:
                self.show(missing[0])
                late = f"{len(missing)} of {len(self.of)} processes are not {what} after {LIMIT} s"
                raise Failed(f"{late}; the stacks above are those of one of them")
            for link in there:
                found[link] = self.answer(link)
        return list(found.values())

    def answer(self, link):
        try:
            answer = link.recv()
        except EOFError:
            self.of[link].join()
            raise Failed(f"a process ended with code {self.of[link].exitcode}") from None
        if isinstance(answer, str):
            raise Failed(answer)
        return answer

    def show(self, link):
        """Has a process write to standard error where its threads are."""
        os.kill(self.of[link].pid, signal.SIGUSR1)
        time.sleep(1)

    def end(self):
        for link in self.of:
            link.close()
        deadline = time.monotonic() + GRACE
        for process in self.of.values():
            process.join(max(0, deadline - time.monotonic()))
            process.kill()
            process.join()


def main():
    way, world, count = {"ours": ours, "seats": seats, "all": everyone, "each": each}[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])
    with contextlib.ExitStack() as stack:
        if way is everyone:
            engine = Engine()
            stack.callback(Connection(engine, None).close)
            os.environ["SHARDFEED_SOCKET"] = str(engine.socket)
        processes = Processes(way, world, world // NODE if way in (ours, seats) else world, count)
        stack.callback(processes.end)
        store = serve()
        processes.tell(store.port)
        processes.answers("ready")
        cpu = time.process_time()
        processes.tell(None)
        found = processes.answers("done")
        result = {"seconds": max(seconds for seconds, _ in found), "store_seconds": time.process_time() - cpu}
    print(json.dumps({**result, "cpu_seconds": result["store_seconds"] + sum(cpu for _, cpu in found)}))


if __name__ == "__main__":
    try:
        main()
    except Failed as e:
        sys.exit(f"meet.py: {e}")
