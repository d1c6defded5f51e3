"""A run's processes, all of them: their processor time and memory are counted together, and all end with the run."""

import contextlib
import os
import pathlib
import signal
import subprocess
import time
import uuid

import processor

VERSION_1, VERSION_2 = pathlib.Path("/sys/fs/cgroup/cpuacct"), pathlib.Path("/sys/fs/cgroup")
END_SECONDS = 10.0


class Cage:
    """A cgroup of its own where this user may make one, else processes that carry a mark in their environment."""

    def __init__(self):
        self.mark = uuid.uuid4().hex
        self.group = _made(f"shardfeed-bench-{self.mark[:12]}")

    def __enter__(self):
        return self

    def start(self, command, environment, **options):
        """Starts a process inside, in a session of its own."""
        inside = {processor.GROUP: str(self.group or ""), processor.MARK: self.mark}
        return subprocess.Popen(
            command, env={**os.environ, **environment, **inside}, start_new_session=True, preexec_fn=self._enter, **options
        )

    def _enter(self):
        if self.group:
            (self.group / "cgroup.procs").write_text(str(os.getpid()))

    def processes(self):
        if self.group:
            return [int(pid) for pid in (self.group / "cgroup.procs").read_text().split()]
        return list(processor.marked(self.mark))

    def memory(self):
        """Bytes of all processes, with shared memory counted once; and the part of it that is not mapped files."""
        total = own = 0
        for pid in self.processes():
            with contextlib.suppress(OSError):
                for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                    name, _, rest = line.partition(":")
                    if name == "Pss":
                        total += int(rest.split()[0]) << 10
                    elif name in ("Pss_Anon", "Pss_Shmem"):
                        own += int(rest.split()[0]) << 10
        return total, own

    def __exit__(self, *_):
        deadline = time.monotonic() + END_SECONDS
        while (left := self.processes()) and time.monotonic() < deadline:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        if self.group:
            with contextlib.suppress(OSError):
                self.group.rmdir()


def _made(name):
    """A new cgroup below this process's own, or None."""
    with contextlib.suppress(OSError):
        lines = [line.split(":", 2) for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()]
        for _, controllers, path in lines:
            if "cpuacct" in controllers.split(","):
                group = VERSION_1 / path.lstrip("/") / name
            elif not controllers and (VERSION_2 / "cgroup.controllers").exists():
                group = VERSION_2 / path.lstrip("/") / name
            else:
                continue
            group.mkdir()
            return group
    return None
