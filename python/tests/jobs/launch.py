"""Starts the ranks of jobs as torchrun does, forked from a process that has torch imported already.

A line of JSON on standard input gives a job: program, arguments, environment, directory, ranks, the
file of its output and that of its exit code. The answer is the process id of its launcher, which
holds the job's store and whose children are the ranks.
"""

from __future__ import annotations

import ast
import contextlib
import gc
import json
import os
import random
import runpy
import signal
import struct
import sys
from pathlib import Path
from typing import Any

PORT = struct.Struct("i")


def preload(program: Path) -> bool:
    """Imports what a program imports, except for what has to see the job's environment: rank.py, the
    package, and files that import these. Returns whether the program itself is none of them.
    """
    whole = program.stem != "rank"
    for node in ast.parse(program.read_text()).body:
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        beside = [path for name in names if (path := Path(__file__).with_name(f"{name}.py")).exists()]
        if all(preload(path) for path in beside) and not any(name.partition(".")[0] == "shardfeed" for name in names):
            exec(compile(ast.Module([node], []), str(program), "exec"), {})
        else:
            whole = False
    return whole


def serve() -> Path | None:
    """Returns in the ranks alone, with their program; elsewhere it ends with the standard input."""
    signal.signal(signal.SIGCHLD, reap)
    for line in sys.stdin:
        job = json.loads(line)
        program = Path(job["program"])
        preload(Path(__file__).with_name("rank.py"))
        preload(program)
        gc.collect()
        gc.freeze()
        launcher = os.fork()
        if not launcher and launch(job):
            return program
        print(launcher, flush=True)
    return None


def reap(*_: object) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def launch(job: dict[str, Any]) -> bool:
    """Starts the ranks and waits for them. Returns in the ranks alone."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.chdir(job["directory"])
    os.environ.clear()
    os.environ.update(job["environment"])
    for name, flags, targets in [(os.devnull, os.O_RDONLY, [0]), (job["output"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, [1, 2])]:
        opened = os.open(name, flags)
        for target in targets:
            os.dup2(opened, target)
        os.close(opened)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - the old one has read the jobs ahead
    ports, told = os.pipe()
    count, ranks = job["ranks"], set()
    for rank in range(count):
        pid = os.fork()
        if not pid:
            become(rank, count, PORT.unpack(os.read(ports, PORT.size))[0])
            os.close(ports)
            os.close(told)
            sys.argv = [job["program"], *job["arguments"]]
            return True
        ranks.add(pid)
    failed = wait(ranks, told, count)
    Path(job["exit"]).write_text(str(int(failed)))
    os._exit(failed)


def become(rank: int, count: int, port: int) -> None:
    """Sets what torchrun sets for a rank."""
    ranks = {"RANK": rank, "LOCAL_RANK": rank, "ROLE_RANK": rank, "GROUP_RANK": 0}
    sizes = {"WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "ROLE_WORLD_SIZE": count, "GROUP_WORLD_SIZE": 1}
    elastic = {"RUN_ID": "job", "RESTART_COUNT": 0, "MAX_RESTARTS": 0, "USE_AGENT_STORE": True}
    own = {**ranks, **sizes, **{f"TORCHELASTIC_{name}": value for name, value in elastic.items()}}
    own |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "ROLE_NAME": "default"}
    os.environ.update({name: str(value) for name, value in own.items()})
    random.seed()


def wait(ranks: set[int], told: int, count: int) -> bool:
    """Holds the store of the ranks until all have ended. It reports whether one failed, which ends
    all.
    """
    from torch.distributed import TCPStore

    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    os.write(told, PORT.pack(store.port) * count)
    failed = False
    while ranks:
        pid, status = os.wait()
        ranks.discard(pid)
        if status and not failed:
            failed = True
            print(f"rank {pid} failed (exitcode: {os.waitstatus_to_exitcode(status)})", flush=True)
            for other in ranks:
                os.kill(other, signal.SIGKILL)
    return failed


if __name__ == "__main__" and (program := serve()):
    sys.path.insert(0, str(program.parent))
    runpy.run_path(str(program), run_name="__main__")
