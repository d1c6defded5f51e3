"""Runs a contender as a process of its own, on given cores, and measures its cost."""

import contextlib
import json
import os
import pty
import subprocess
import sys

MEMORY_UNIT = 1 << 10 if sys.platform == "linux" else 1  # of ru_maxrss


class Failed(Exception):
    """A contender that didn't end well, with what it said."""


def run(contender, cores, environment=None):
    """The contender's JSON with cpu_seconds, and peak_rss_bytes of the whole process unless it has them."""
    return finish(contender, start(contender, cores, environment))


def start(contender, cores, environment=None):
    """Starts it; the cores are a set of their numbers."""
    return subprocess.Popen(
        contender.command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )


def finish(contender, process):
    out, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise Failed(f"{' '.join(contender.command)}: exit {process.returncode}: {errors.decode(errors='replace')[-1000:]}")
    result = json.loads(out)
    if contender.whole:
        result |= {"user_seconds": usage.ru_utime, "system_seconds": usage.ru_stime}
    result["cpu_seconds"] = result["user_seconds"] + result["system_seconds"]
    result.setdefault("peak_rss_bytes", usage.ru_maxrss * MEMORY_UNIT)
    return result


def on_a_terminal(contender, environment=None):
    """What it shows to a person: its standard error is a terminal."""
    ours, its = pty.openpty()
    process = subprocess.Popen(contender.command, stdout=subprocess.DEVNULL, stderr=its, env={**os.environ, **(environment or {})})
    os.close(its)
    screen = b""
    with contextlib.suppress(OSError), os.fdopen(ours, "rb", buffering=0) as terminal:  # its end is an error of the last read
        while part := terminal.read(1 << 16):
            screen += part
    if process.wait() != 0:
        raise Failed(f"{' '.join(contender.command)}: exit {process.returncode}: {screen.decode(errors='replace')[-1000:]}")
    return screen
