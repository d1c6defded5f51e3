"""How workers start, and what is said when they cannot, or have ended."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
from multiprocessing import forkserver, resource_tracker
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch

from ... import _overlong
from ...errors import OptionError

WHERE = "{the batch}"  # in the text of an ended worker: the batch


def context_of(given: Any) -> Any:
    """The context by which workers start. The default is forkserver if the system has it: workers then
    share the pages of torch, and threads and CUDA of the trainer do not matter to them.
    """
    if given is not None and not isinstance(given, str):
        return given
    methods = multiprocessing.get_all_start_methods()
    name = given or ("forkserver" if "forkserver" in methods else "spawn")
    context: Any = multiprocessing.get_context(name)
    if name == "forkserver":
        _preload(context)
    return context


def _preload(context: Any) -> None:
    """Has the fork server import torch once, for all workers, unless it runs or has a list."""
    server = getattr(forkserver, "_forkserver", None)
    if getattr(server, "_forkserver_fd", None) is None and getattr(server, "_preload_modules", None) == ["__main__"]:
        context.set_forkserver_preload(["shardfeed.torch._worker"])


def start(process: Any) -> None:
    """Starts a process that an interrupt from the terminal does not reach.

    It would print a traceback while it imports. run ignores interrupts, and lets them in then. A
    fork server gets the mask when it starts, and gives it to its processes.
    """
    method = process._start_method
    if method == "fork":
        return process.start()
    resource_tracker.ensure_running()  # it unblocks interrupts when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        if method == "spawn":
            return process.start()
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    process.start()  # it waits for the server


def check(context: Any, parts: dict[str, Any]) -> None:
    """Refuses to start workers that could not run, or could not get the functions."""
    if getattr(multiprocessing.process.current_process(), "_inheriting", False):
        raise RuntimeError(
            'this program starts workers while a worker of its own imports it: put what it does under `if __name__ == "__main__":`, or '
            "give num_workers=0"
        )
    if multiprocessing.process.current_process().daemon:
        raise OptionError("a worker process cannot have workers of its own: give num_workers=0 there")
    if context.get_start_method() != "fork":
        _check_importable(parts)
        return
    current = threading.current_thread()
    threads = [thread.name for thread in threading.enumerate() if thread is not current and thread.name != _overlong.THREAD]
    if threads or torch.cuda.is_initialized():
        why = f"this process has threads ({', '.join(threads[:4])})" if threads else "CUDA is in use"
        raise OptionError(
            f"multiprocessing_context='fork' is not safe here, as {why}: a forked worker may hang. Leave it out, which starts workers by "
            "forkserver"
        )


def _check_importable(parts: dict[str, Any]) -> None:
    """Refuses functions that a worker could not import: workers have the program's file, not a
    notebook or typed lines.
    """
    main = sys.modules.get("__main__")
    if getattr(main, "__file__", None) or getattr(main, "__spec__", None) is not None:
        return
    for name, part in parts.items():
        if getattr(part, "__module__", None) == "__main__" and hasattr(part, "__qualname__"):
            raise OptionError(f"{name} ({part.__qualname__}) cannot be sent to worker processes. {_NOTEBOOK}")


def cannot_send(error: BaseException, parts: dict[str, Any]) -> OptionError:
    """The error for functions that cannot be pickled."""
    culprit = "map, collate_fn or worker_init_fn"
    for name, part in parts.items():
        try:
            ForkingPickler.dumps(part)
        except RuntimeError:  # such as a lock, which is pickled only while a process starts
            continue
        except Exception as e:
            culprit, error = f"{name} ({getattr(part, '__qualname__', type(part).__name__)})", e
            break
    return OptionError(
        f"{culprit} cannot be sent to worker processes: {error}. Lambdas and functions within functions cannot: write it at the top level "
        "of a module. Or give threads=K in place of num_workers, which needs no pickle"
    )


_NOTEBOOK = (
    "Workers import functions by their names, and those of a notebook or of the interpreter exist only in this process: write them in a "
    "file beside it (%%writefile transforms.py), and import them. Or give threads=K in place of num_workers"
)


def hint(text: str) -> str:
    """What to do when a worker could not find a function."""
    return _NOTEBOOK if "Can't get attribute" in text and ("__main__" in text or "__mp_main__" in text) else ""


def end_of(name: str, code: int | None, *, heard: bool) -> str:
    """Describes how a worker has ended."""
    if not heard and code is not None and code > 0:
        return (
            f"{name} ended with exit code {code} before its first result: its own message is above. Workers import the program's main "
            'module: what it does must stand under `if __name__ == "__main__":`'
        )
    resume = "Continue with load_state_dict(loader.state_dict())"
    if code is None or code >= 0:
        return f"{name} ended with exit code {code} at {WHERE}: map or collate_fn must not end the process. {resume}"
    known = {s.value: s.name for s in signal.Signals}
    how, why = known.get(-code, f"signal {-code}"), _SIGNALS.get(-code, "something outside has stopped it")
    return f"{name} was killed by {how} at {WHERE}; {why}. {resume}"


_SIGNALS: dict[int, str] = {
    signal.SIGKILL: "the machine may have run out of memory (see dmesg): fewer workers or smaller batches take less",
    signal.SIGSEGV: "native code that map or collate_fn uses has crashed: PYTHONFAULTHANDLER=1 shows where",
    signal.SIGABRT: "native code that map or collate_fn uses has given up: its own message is above",
}
