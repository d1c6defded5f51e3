"""The nodes of a job: an engine and a cache for each, on one machine."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from chaos import leftovers

SMALL = "8M"  # the disk of a cache that is filled
NAMES = 400  # files and directories of such a disk


@dataclass(frozen=True)
class Node:
    """Where the engine of some ranks has its socket and its cache."""

    runtime: Path
    cache: Path
    small: bool = False  # the cache is a disk of its own

    @property
    def environment(self) -> dict[str, str]:
        return {"SHARDFEED_RUNTIME_DIR": str(self.runtime), "SHARDFEED_CACHE_DIR": str(self.cache)}

    def engines(self) -> list[psutil.Process]:
        return leftovers.engines(self.runtime)

    def mount(self) -> None:
        """Mounts an empty disk for the cache."""
        command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL},nr_inodes={NAMES},mode=700", "tmpfs", str(self.cache)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)

    def unmount(self) -> None:
        """Takes the disk away, also from processes that have its files open."""
        subprocess.run(["umount", "-l", str(self.cache)], check=True)

    def remount(self, how: str) -> bool:
        """Makes the disk "ro" or "rw", and reports whether it did: open files prevent "ro"."""
        return subprocess.run(["mount", "-o", f"remount,{how}", str(self.cache)], stderr=subprocess.DEVNULL).returncode == 0


@contextlib.contextmanager
def made(directory: Path, count: int, small: bool) -> Iterator[list[Node]]:
    """Nodes whose directories are below one of a job."""
    nodes = [Node(directory / f"run{k}", directory / f"cache{k}", small) for k in range(count)]
    with contextlib.ExitStack() as stack:
        for node in nodes:
            node.cache.mkdir(mode=0o700)
            if small:
                node.mount()
                stack.callback(node.unmount)
        yield nodes


def has_disks(directory: Path) -> bool:
    """Whether this process may mount disks, for caches that are filled."""
    directory.mkdir(mode=0o700)
    try:
        with made(directory, 1, small=True):
            return True
    except (OSError, subprocess.CalledProcessError):
        return False


def has_tracer() -> bool:
    """Whether strace is installed."""
    return shutil.which("strace") is not None
