"""A process with torch imported, which ranks are forked from.

A line of JSON on standard input gives what a rank is to do, and its environment. The answers are
the process id and, on a line of its own with the same id, the exit status.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback

from insight import trainer


def main() -> None:
    os.environ.pop("LD_PRELOAD", None)  # what is started from here needs no fake
    for line in sys.stdin:
        given = json.loads(line)
        child = os.fork()
        if child == 0:
            _run(given)
        threading.Thread(target=_wait, args=(given["id"], child)).start()


def _wait(number: str, child: int) -> None:
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.write(1, f"{number} {status}\n".encode())


def _run(given: dict) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(given["environment"])
    output = os.open(given["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    status = 1
    try:
        trainer.train(given)
        status = 0
    except BaseException:
        traceback.print_exc()
    os._exit(status)


if __name__ == "__main__":
    main()
