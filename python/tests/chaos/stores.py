"""Where the data of a job is: a directory, an S3 server, HDFS.

A server that is stopped and started again keeps its data and its address.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import servers

from chaos import tables


def program(name: str) -> Path:
    """A server's program: the one that CHAOS_VERSITYGW and the like name, or the installed one."""
    given = os.environ.get(f"CHAOS_{name.upper()}")
    return Path(given).absolute() if given else servers.program(name)


class Local:
    """A directory."""

    environment: Mapping[str, str] = {}

    def __init__(self, data: Path) -> None:
        self.data = str(data)


class S3:
    """An S3 server of one job."""

    def __init__(self, data: Path, root: Path) -> None:
        self._program, self._root = program("versitygw"), root
        (root / "data").mkdir(parents=True)
        client = servers.S3(servers.free_address())
        self._address, self.environment, self.data = client.address, client.environment, f"s3://{servers.BUCKET}"
        self.start()
        for name in tables.ROWS:
            client.put(data / name)

    def start(self) -> None:
        keys = {"ROOT_ACCESS_KEY": servers.KEY, "ROOT_SECRET_KEY": servers.SECRET}
        command = [*servers.UNDER_WATCH, str(self._program), "--port", self._address, "--region", "us-east-1", "--quiet"]
        command += ["posix", str(self._root / "data")]
        log = (self._root / "log").open("ab")
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, env={**os.environ, **keys})
        log.close()
        servers.wait_for_answer(f"http://{self._address}/")

    def stop(self) -> bool:
        """Kills the server, and reports whether it was running."""
        assert self._process.stdin is not None
        running = self._process.poll() is None
        self._process.stdin.close()
        self._process.wait()
        return running

    def close(self) -> None:
        self.stop()


class HDFS:
    """A namenode and a datanode that all jobs share. Stopping takes one of the two, in turn."""

    environment: Mapping[str, str] = {}

    def __init__(self, process: subprocess.Popen[str], data: Path) -> None:
        self._cluster, self._turn, self._lock = servers.HDFS(process), 0, threading.Lock()
        for name in tables.ROWS:
            self._cluster.put(data / name)
        self.data = f"hdfs://{self._cluster.namenode}"

    def stop(self) -> bool:
        """Kills one daemon, and reports whether it did: outages do not overlap."""
        if not self._lock.acquire(blocking=False):
            return False
        self._turn += 1
        self._cluster.command("killdn" if self._turn % 2 else "killnn", "0")
        return True

    def start(self) -> None:
        self._cluster.command("startdn" if self._turn % 2 else "startnn", "0")
        self._lock.release()

    def close(self) -> None:
        """Leaves the cluster to the other jobs."""


Store = Local | S3 | HDFS


@contextlib.contextmanager
def hdfs(data: Path, root: Path) -> Iterator[HDFS]:
    command = [str(program("hdfsmini")), str(root / "data"), "1", "dfs.replication=1"]
    with (root / "log").open("ab") as log, servers.running(command, stdout=subprocess.PIPE, stderr=log) as process:
        yield HDFS(process, data)
