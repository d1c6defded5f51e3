"""Workers whose trainer was killed: they end, and free what the engine holds for them."""

from __future__ import annotations

import os
import sys
import threading
from multiprocessing import parent_process
from multiprocessing.connection import wait

_watching = 0  # the process that has a watch


def end_with_the_trainer() -> None:
    """Ends this process when the trainer has ended, also within a function of the user's."""
    global _watching
    parent = parent_process()
    if parent is None or _watching == os.getpid():
        return
    _watching = os.getpid()

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, name="shardfeed-parent", daemon=True).start()


def end_torch_worker() -> None:
    """Ends a torch worker of a fork server with its trainer.

    Torch's own watch waits for the fork server to end, and the fork server for its workers.
    """
    torch = sys.modules.get("torch.utils.data")
    parent = parent_process()
    if torch is not None and torch.get_worker_info() is not None and parent is not None and parent.pid != os.getppid():
        end_with_the_trainer()
