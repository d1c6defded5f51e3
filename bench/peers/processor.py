"""The processor time of a whole group of processes: of a cgroup if there is one, else of all processes with its mark."""

import contextlib
import os
import pathlib

GROUP = "SHARDFEED_BENCH_GROUP"  # the directory of the run's cgroup
MARK = "SHARDFEED_BENCH_RUN"  # what every process of the run has in its environment

_TICK = os.sysconf("SC_CLK_TCK")


def seconds():
    """User and system time of all processes of this run, ended ones included."""
    group = os.environ.get(GROUP)
    if not group:
        return _of_marked()
    directory = pathlib.Path(group)
    if (directory / "cpuacct.usage_user").exists():
        return tuple(int((directory / f"cpuacct.usage_{kind}").read_text()) / 1e9 for kind in ("user", "sys"))
    stat = dict(line.split() for line in (directory / "cpu.stat").read_text().splitlines())
    return int(stat["user_usec"]) / 1e6, int(stat["system_usec"]) / 1e6


def marked(mark):
    """The processes that carry a mark."""
    wanted = f"{MARK}={mark}".encode()
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if wanted in pathlib.Path(entry.path, "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)


def _of_marked():
    """As precise as the kernel's ticks; a process that ended counts only when its parent waited for it."""
    user = system = 0
    for pid in marked(os.environ.get(MARK, "")):
        with contextlib.suppress(OSError):
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            user += int(fields[11]) + int(fields[13])
            system += int(fields[12]) + int(fields[14])
    return user / _TICK, system / _TICK
