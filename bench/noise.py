"""Noisy neighbours: processes of low priority that copy memory on the cores that are measured."""

import contextlib
import subprocess
import sys

BYTES = 64 << 20
COPY = f"""
import os, sys
os.nice(19)
os.sched_setaffinity(0, {{int(sys.argv[1])}})
a, b = bytearray({BYTES}), bytearray({BYTES})
parent = os.getppid()
while os.getppid() == parent:
    b[:] = a
"""


@contextlib.contextmanager
def on(cores):
    """A process on each of the cores, until the end."""
    processes = [subprocess.Popen([sys.executable, "-c", COPY, str(core)]) for core in cores]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


TEXT = f"beside a process on each core that copies {BYTES >> 20} MiB again and again at the lowest priority"
