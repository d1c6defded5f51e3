"""Workers that raise, end, hang or are killed; trainers that are interrupted or killed. Each is one
clear error, and nothing is left.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from conftest import ended
from test_leaks import MOST_GROWTH, at_rest, held, own, settled

torch = pytest.importorskip("torch")

from torch.utils.data import get_worker_info  # noqa: E402

from shardfeed import errors  # noqa: E402
from shardfeed.torch import DataLoader, StreamingDataset  # noqa: E402
from shardfeed.torch._workers import _pool  # noqa: E402

STEPS = 40
FAULTY = 1234  # the row at which functions fail: in step 12


@pytest.fixture(scope="module", autouse=True)
def one_engine(runtime: Path, shards: Path):
    """One engine for the module: a data set that stays open keeps it."""
    dataset = StreamingDataset(shards, batch_size=1, cache=False)
    yield
    del dataset


def opened(shards: Path, function: Callable[..., Any] | None = None, **given: Any) -> DataLoader[Any]:
    """A loader in file order, whose batches have the worker's process."""
    given = {"batch_size": 100, "shuffle": False, "columns": ["id"], "cache": False, "num_workers": 2} | given
    loader: DataLoader[Any] = DataLoader(shards, **given)
    return loader.map(function or marked)


def marked(batch: Any) -> Any:
    return {**batch, "pid": os.getpid()}


def faulty(batch: Any) -> bool:
    return bool((batch["id"] == FAULTY).any())


class Strange(Exception):
    def __init__(self, code: int, why: str) -> None:
        super().__init__(code, why)


def raises(batch: Any) -> Any:
    return {"id": batch["id"], "x": 1 / (not faulty(batch))}


def raises_key(batch: Any) -> Any:
    return {} if not faulty(batch) else batch["nothing"]


def raises_strange(batch: Any) -> Any:
    if faulty(batch):
        raise Strange(3, "so")
    return marked(batch)


def raises_local(batch: Any) -> Any:
    class Local(Exception):
        pass

    if faulty(batch):
        raise Local("of a function")
    return marked(batch)


def unsendable(batch: Any) -> Any:
    return {"id": batch["id"], "f": (lambda: None) if faulty(batch) else None}


@pytest.mark.parametrize(
    ("function", "kind", "text"),
    [
        (raises, ZeroDivisionError, "division by zero"),
        (raises_key, KeyError, "there is no column 'nothing'"),
        (raises_strange, RuntimeError, "Strange: (3, 'so')"),
        (raises_local, RuntimeError, "Local: of a function"),
        (unsendable, TypeError, "what map and collate_fn made cannot be sent to the trainer: Can't pickle local object"),
    ],
)
def test_an_error_comes_at_its_batch(shards, function, kind, text):
    with opened(shards, function) as loader:
        batches = iter(loader)
        for _ in range(12):
            next(batches)
        state = loader.state_dict()
        with pytest.raises(kind) as raised:
            next(batches)
        said = str(raised.value)
        assert text in said and "at step 12 of epoch 0" in said and re.search("worker [01] of 2", said)
        assert "Traceback" in said and (function is unsendable or "test_workers_faults.py" in said)
        assert loader.state_dict() == state
        assert loader.dataset.state_dict()["shardfeed"]["position"] == 1200
        assert len(list(batches)) == STEPS - 13, "the batches that follow"


def test_an_error_of_the_engine_comes_after_the_batches_before_it(tmp_path, shards):
    for k in range(2):
        data = bytearray((shards / f"part-{k}.parquet").read_bytes())
        if k:
            data[1000:1500] = bytes(500)
        (tmp_path / f"part-{k}.parquet").write_bytes(data)
    with opened(tmp_path) as loader:
        batches = iter(loader)
        for _ in range(10):
            next(batches)
        with pytest.raises(errors.DataError, match=r"part-1\.parquet"):
            next(batches)


def kills(batch: Any) -> Any:
    if faulty(batch):
        os.kill(os.getpid(), signal.SIGKILL)
    return marked(batch)


def ends(batch: Any) -> Any:
    if faulty(batch):
        os._exit(3)
    return marked(batch)


def leaves(batch: Any) -> Any:
    if faulty(batch):
        sys.exit(4)
    return marked(batch)


def crashes(batch: Any) -> Any:
    if faulty(batch):
        os.kill(os.getpid(), signal.SIGSEGV)
    return marked(batch)


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize(
    ("function", "text"),
    [
        (kills, "was killed by SIGKILL at step 12 of epoch 0; the machine may have run out of memory"),
        (ends, "ended with exit code 3 at step 12 of epoch 0: map or collate_fn must not end the process"),
        (leaves, "ended with exit code 4 at step 12"),
        (crashes, "was killed by SIGSEGV at step 12 of epoch 0; native code"),
    ],
)
def test_a_worker_that_ends(shards, function, text, persistent):
    with opened(shards, function, persistent_workers=persistent) as loader:
        batches = iter(loader)
        pids = {next(batches)["pid"] for _ in range(12)}
        with pytest.raises(errors.WorkerError) as raised:
            next(batches)
        assert text in str(raised.value) and "load_state_dict" in str(raised.value)
        assert list(batches) == []
        assert all(ended(pid) for pid in pids)
        state = loader.state_dict()
    with opened(shards) as loader:
        loader.load_state_dict(state)
        assert len(list(loader)) == STEPS - 12


def test_a_worker_that_is_killed_between_epochs(shards):
    with opened(shards, persistent_workers=True) as loader:
        before = {batch["pid"] for batch in loader}
        assert before == {batch["pid"] for batch in loader} and len(before) == 2
        (killed,) = [w.process for w in loader._pool.workers if w.process.pid == min(before)]
        killed.kill()
        killed.join(60)  # its first thread may be a zombie while others still have the link open
        assert killed.exitcode == -signal.SIGKILL
        after = [batch["pid"] for batch in loader]
        assert len(after) == STEPS and not set(after) & before


def hangs(batch: Any) -> Any:
    if faulty(batch):
        time.sleep(1000)
    return marked(batch)


def test_a_worker_that_hangs(shards, monkeypatch):
    monkeypatch.setattr(_pool, "_PATIENCE", 0.1)
    with opened(shards, hangs, timeout=5) as loader:
        batches = iter(loader)
        pids = {next(batches)["pid"] for _ in range(12)}
        for _ in range(2):
            with pytest.raises(
                errors.FeedTimeoutError, match=r"worker [01] of 2 .* has not finished step 12 of epoch 0 within 5 s: .*py-spy"
            ):
                next(batches)
            assert loader.state_dict() == loader.dataset.state_dict()
            assert loader.state_dict()["shardfeed"]["position"] == 1200
    assert all(ended(pid) for pid in pids)


def test_a_thread_that_hangs(shards):
    release.clear()
    with opened(shards, waits, timeout=1, num_workers=0, threads=2) as loader:
        batches = iter(loader)
        for _ in range(12):
            next(batches)
        with pytest.raises(errors.FeedTimeoutError, match="a thread has not finished step 12 of epoch 0 within 1 s"):
            next(batches)
        release.set()
        assert len(list(batches)) == STEPS - 12


release = threading.Event()


def waits(batch: Any) -> Any:
    if faulty(batch):
        release.wait(60)
    return marked(batch)


def test_an_error_in_a_thread(shards):
    with opened(shards, raises, num_workers=0, threads=3) as loader:
        batches = iter(loader)
        for _ in range(12):
            next(batches)
        with pytest.raises(ZeroDivisionError):
            next(batches)
        assert len(list(batches)) == STEPS - 13


def row_raises(row: Any) -> Any:
    if int(row["id"]) % 1000 == 234:
        raise ValueError(f"row {int(row['id'])}")
    return int(row["id"])


@pytest.mark.parametrize("given", [{"num_workers": 0}, {"num_workers": 2}, {"num_workers": 0, "threads": 2}])
def test_an_error_of_a_row(shards, given):
    """The other rows come, as without workers."""
    with opened(shards, row_raises, batch_size=None, **given) as loader:
        rows, seen, failed = iter(loader), [], []
        while True:
            try:
                seen.append(next(rows))
            except StopIteration:
                break
            except ValueError as e:
                failed.append(str(e))
                assert given == {"num_workers": 0} or loader.dataset.state_dict()["shardfeed"]["position"] == len(seen) + len(failed) - 1
        assert seen == [i for i in range(4000) if i % 1000 != 234]
        assert len(failed) == 4 and all(f"row {1000 * k + 234}" in text for k, text in enumerate(failed))


# What cannot be sent, and how workers start


def fails_to_start(worker: int) -> None:
    raise OSError(f"no database for {worker}")


def test_worker_init_fn_that_fails(shards):
    with opened(shards, worker_init_fn=fails_to_start) as loader, pytest.raises(errors.WorkerError) as raised:
        next(iter(loader))
    assert (
        re.search("worker [01] of 2", str(raised.value))
        and "failed to start" in str(raised.value)
        and "no database for" in str(raised.value)
    )


def informed(worker: int) -> None:
    info = get_worker_info()
    assert info is not None and info.id == worker
    os.environ["INFORMED"] = f"{info.id} of {info.num_workers}"


def tells(batch: Any) -> Any:
    info: Any = get_worker_info()
    return {
        "said": os.environ["INFORMED"],
        "mode": os.environ["MODE"],
        "size": info.dataset.size,
        "seed": info.seed - info.id,
        "rand": torch.rand(1),
    }


def test_worker_info(shards, monkeypatch):
    with opened(shards) as loader:
        next(iter(loader))  # starts the fork server, with the environment until here
    monkeypatch.setenv("MODE", "of now")
    with opened(shards, tells, worker_init_fn=informed) as loader:
        said = list(loader)
    assert {s["said"] for s in said} == {"0 of 2", "1 of 2"} and {s["mode"] for s in said} == {"of now"}
    assert {s["size"] for s in said} == {4000} and len({s["seed"] for s in said}) == 1
    assert len({float(s["rand"]) for s in said}) == STEPS, "workers have random numbers of their own"


def test_functions_that_cannot_be_sent(shards):
    def local(batch: Any) -> Any:
        return batch

    for function, name in ((lambda batch: batch, "<lambda>"), (local, "local")):
        with (
            opened(shards, function) as loader,
            pytest.raises(errors.OptionError, match=f"{name}.* cannot be sent to worker processes.*threads=K"),
        ):
            next(iter(loader))
    with opened(shards, lambda batch: batch, num_workers=0, threads=2) as loader:
        assert len(list(loader)) == STEPS


def python(program: str, *arguments: object, name: str | None = None, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    program = textwrap.dedent(program)
    command = [sys.executable, name] if name else [sys.executable, "-c", program]
    if name:
        Path(name).write_text(program)
    return subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True, timeout=200, stdin=subprocess.DEVNULL)


def test_a_function_of_a_notebook(shards, job):
    ran = python(
        """
        import functools, sys
        from shardfeed.torch import DataLoader
        def mine(batch):
            return batch
        for function in (mine, functools.partial(mine)):
            try:
                next(iter(DataLoader(sys.argv[1], batch_size=100, cache=False, num_workers=1, collate_fn=function)))
            except Exception as e:
                print(type(e).__name__, e)
        """,
        shards,
    )
    first, second = (line for line in ran.stdout.splitlines() if "Error" in line and not line.startswith(" ")), ran.stdout
    assert next(first).startswith(
        "OptionError collate_fn (mine) cannot be sent to worker processes. Workers import functions by their names"
    ), ran
    assert "WorkerError" in second and second.count("write them in a file") == 2, ran


def test_a_script_without_a_guard(shards, job, tmp_path):
    ran = python(
        """
        import multiprocessing, sys, time
        from shardfeed.torch import DataLoader
        if multiprocessing.current_process().name.endswith("-1"):
            time.sleep(1)  # fails after the other worker
        def mine(batch):
            return batch
        for batch in DataLoader(sys.argv[1], batch_size=100, cache=False, num_workers=2, collate_fn=mine):
            pass
        """,
        shards,
        name=str(tmp_path / "train.py"),
    )
    assert ran.returncode == 1 and ran.stderr.count("starts workers while a worker of its own imports it") == 2, ran.stderr
    assert 'must stand under `if __name__ == "__main__":`' in ran.stderr.splitlines()[-1], ran.stderr


def test_fork_beside_threads_is_refused(shards):
    with opened(shards, multiprocessing_context="fork") as loader:
        stop = threading.Event()
        thread = threading.Thread(target=stop.wait, name="of mine")
        thread.start()
        try:
            with pytest.raises(errors.OptionError, match=r"'fork' is not safe here, as this process has threads \(.*of mine.*\)"):
                next(iter(loader))
        finally:
            stop.set()
            thread.join()


START = """
    import sys
    from shardfeed.torch import DataLoader
    def mine(batch):
        return len(batch["id"])
    if __name__ == "__main__":
        for method in sys.argv[2:]:
            given = {"cache": False, "num_workers": 2, "multiprocessing_context": method}
            with DataLoader(sys.argv[1], batch_size=100, collate_fn=mine, **given) as loader:
                assert list(loader) == [100] * 40 and list(loader) == [100] * 40
        print("well")
"""


def test_every_way_to_start(shards, job, tmp_path):
    ran = python(START, shards, "fork", "spawn", "forkserver", name=str(tmp_path / "train.py"))
    assert (ran.stdout, ran.stderr) == ("well\n", "")


@pytest.mark.parametrize("seconds", [0.0, 5.0, 1000.0])
def test_a_start_waits_until_the_fork_server_has_ended(monkeypatch, seconds):
    """One that an interrupt has ended refuses, for as long as it takes to end."""
    now, started = [100.0], []

    def sleep(pause: float) -> None:
        now[0] += pause

    def start() -> None:
        if now[0] < 100 + seconds:
            raise ConnectionRefusedError
        started.append(now[0])

    monkeypatch.setattr(_pool, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    with contextlib.ExitStack() as stack:
        if seconds > 100:
            stack.enter_context(pytest.raises(ConnectionRefusedError))
        _pool._begin(SimpleNamespace(start=start, _start_method="fork"))
    assert (len(started), now[0] < 140) == (seconds < 100, True)


# Trainers that end, and iterations that are left


def test_a_trainer_that_is_killed(shards, job, tmp_path):
    program = """
        import os, signal, sys, time
        from shardfeed.torch import DataLoader
        def mine(batch):
            if batch["id"][0] == 1200:
                time.sleep(1000)
            return os.getpid()
        if __name__ == "__main__":
            batches = iter(DataLoader(sys.argv[1], batch_size=100, shuffle=False, cache=False, num_workers=2, collate_fn=mine))
            print(*{next(batches) for _ in range(12)}, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
    """
    ran = python(program, shards, name=str(tmp_path / "train.py"))
    pids = [int(word) for word in ran.stdout.split()]
    assert ran.returncode == -signal.SIGKILL and len(pids) == 2
    assert all(ended(pid) for pid in pids), "also one that is within a function"


@pytest.mark.parametrize("data", ["StreamingDataset(sys.argv[1], batch_size=100)", "shardfeed.MapDataset(sys.argv[1])"])
def test_a_killed_trainer_of_torch_workers(shards, job, tmp_path, data):
    """Workers of a fork server free the engine too: torch's own watch waits for the server."""
    program = f"""
        import os, signal, sys
        import psutil, shardfeed
        from shardfeed.torch import StreamingDataset
        from torch.utils.data import DataLoader
        if __name__ == "__main__":
            data = {data}
            size = 100 if isinstance(data, shardfeed.MapDataset) else None
            batches = iter(DataLoader(data, batch_size=size, num_workers=2, multiprocessing_context="forkserver", collate_fn=list))
            next(batches)
            print(*(child.pid for child in psutil.Process().children(recursive=True)), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
    """
    (tmp_path / "train.py").write_text(textwrap.dedent(program))
    with subprocess.Popen([sys.executable, tmp_path / "train.py", shards], stdout=subprocess.PIPE, text=True) as trainer:
        assert trainer.stdout is not None
        pids = list(map(int, trainer.stdout.readline().split()))
        assert trainer.wait(60) == -signal.SIGKILL
    left = [pid for pid in pids if not ended(pid, 30)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert pids and not left


def test_a_trainer_that_is_killed_and_leaves_a_child(shards, job, tmp_path):
    """The child has copies of the trainer's sockets, and closes them."""
    program = """
        import os, signal, sys, time
        from shardfeed.torch import DataLoader
        def mine(batch):
            return os.getpid()
        if __name__ == "__main__":
            batches = iter(DataLoader(sys.argv[1], batch_size=100, cache=False, num_workers=2, collate_fn=mine))
            pids = {next(batches) for _ in range(12)}
            child = os.fork()
            if child == 0:
                time.sleep(100)
                os._exit(0)
            print(child, *pids, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
    """
    (tmp_path / "train.py").write_text(textwrap.dedent(program))
    with subprocess.Popen([sys.executable, tmp_path / "train.py", shards], stdout=subprocess.PIPE, text=True) as trainer:
        assert trainer.stdout is not None
        child, *pids = (int(word) for word in trainer.stdout.readline().split())
        try:
            assert trainer.wait(60) == -signal.SIGKILL
            assert pids and all(ended(pid, 20) for pid in pids)
        finally:
            os.kill(child, signal.SIGKILL)


def test_an_interrupt_from_the_terminal(shards, job, tmp_path):
    program = """
        import os, signal, sys, time
        from shardfeed.torch import DataLoader
        def mine(batch):
            time.sleep(0.01)
            return os.getpid()
        if __name__ == "__main__":
            os.setpgid(0, 0)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            loader = DataLoader(sys.argv[1], batch_size=100, cache=False, num_workers=2, collate_fn=mine)
            pids = set()
            try:
                for n, pid in enumerate(loader):
                    pids.add(pid)
                    if n == 5:
                        os.killpg(0, signal.SIGINT)
            except KeyboardInterrupt:
                print(*pids)
    """
    ran = python(program, shards, name=str(tmp_path / "train.py"))
    assert (ran.returncode, ran.stderr) == (0, "") and all(ended(int(pid)) for pid in ran.stdout.split())


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_an_interrupt_while_workers_start(shards, job, tmp_path, method):
    """One traceback, of the trainer."""
    program = """
        import os, signal, sys, threading
        from shardfeed.torch import DataLoader
        def mine(batch):
            return os.getpid()
        if __name__ == "__main__":
            os.setpgid(0, 0)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            given = {"batch_size": 100, "cache": False, "multiprocessing_context": sys.argv[2]}
            loader = DataLoader(sys.argv[1], num_workers=2, collate_fn=mine, **given)
            for after in (0.1, 0.3, 0.6):
                threading.Timer(after, os.killpg, (0, signal.SIGINT)).start()
                try:
                    list(loader)
                    threading.Event().wait(10)
                except KeyboardInterrupt:
                    print("interrupted")
    """
    ran = python(program, shards, method, name=str(tmp_path / "train.py"))
    assert (ran.returncode, ran.stderr, ran.stdout.split()) == (0, "", ["interrupted"] * 3)


def left(shards: Path, how: str, persistent: bool) -> list[int]:
    loader = opened(shards, persistent_workers=persistent)
    batches = iter(loader)
    pids = [next(batches)["pid"] for _ in range(4)]
    if how == "close":
        loader.close()
    elif how == "cycle":
        cycle: list[Any] = [batches, loader]
        cycle.append(cycle)
    elif how == "error":
        try:
            raise ZeroDivisionError
        except ZeroDivisionError:
            pass
    return pids


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("how", ["close", "break", "cycle", "error"])
def test_an_iteration_that_is_left(shards, how, persistent):
    pids = left(shards, how, persistent)
    gc.collect()
    assert all(ended(pid) for pid in pids)


def slow(batch: Any) -> Any:
    time.sleep(0.002)
    return marked(batch)


@pytest.mark.parametrize("given", [{}, {"persistent_workers": True}, {"num_workers": 0, "threads": 2}])
def test_interrupts_at_any_time(shards, given):
    """Whatever an interrupt strikes, the batches until then are right, and so is the next epoch."""
    want = [list(range(k, k + 100)) for k in range(0, 4000, 100)]
    state = {"armed": False}

    def interrupt(*_: Any) -> None:
        if state["armed"]:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    pids: set[int] = set()
    try:
        with opened(shards, slow, **given) as loader:
            list(loader)
            for n in range(25):
                seen = []
                try:
                    state["armed"] = True
                    signal.setitimer(signal.ITIMER_REAL, 0.0005 + n * 0.0017)
                    for batch in loader:
                        seen.append(batch["id"].tolist())
                        pids.add(batch["pid"])
                    state["armed"] = False
                except KeyboardInterrupt:
                    state["armed"] = False
                signal.setitimer(signal.ITIMER_REAL, 0)
                assert seen == want[: len(seen)]
            loader.set_epoch(7)
            assert [batch["id"].tolist() for batch in loader] == want
    finally:
        state["armed"] = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    pids.discard(os.getpid())
    gc.collect()
    assert all(ended(pid) for pid in pids)


def gated(gate: Path, batch: Any) -> Any:
    while gate.exists():
        time.sleep(0.002)
    return marked(batch)


def test_iterations_that_are_left_while_workers_are_late(shards, tmp_path):
    """Workers keep the memory of batches of iterations that were left. A new one waits for it."""
    gate = tmp_path / "gate"
    want = [list(range(k, k + 100)) for k in range(0, 4000, 100)]
    with opened(shards, functools.partial(gated, gate), persistent_workers=True, timeout=30) as loader:
        assert [batch["id"].tolist() for batch in loader] == want
        pool = loader._pool
        loader.dataset._timeout = 0.1
        gate.touch()
        for _ in range(9):  # more than there is memory for
            batches = iter(loader)
            with contextlib.suppress(errors.FeedTimeoutError):
                next(batches)
                raise AssertionError("a batch came through the gate")
            del batches
        batches = iter(loader)
        for _ in range(2):
            with pytest.raises(errors.FeedTimeoutError, match="has not finished step"):
                next(batches)
        gate.unlink()
        batches._batches._timeout = 30  # type: ignore[attr-defined]
        assert [batch["id"].tolist() for batch in batches] == want
        loader.dataset._timeout = 30
        del batches
        assert loader._pool is pool, "the same workers"
        assert [batch["id"].tolist() for batch in loader] == want


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("how", ["next", "left"])
def test_an_interrupt_where_batches_are_handed_to_workers(shards, monkeypatch, how, persistent):
    """A batch may be lost: the iteration is over, and its state is right."""
    with opened(shards, persistent_workers=persistent) as loader:
        batches = iter(loader)
        for _ in range(5):
            next(batches)
        with monkeypatch.context() as patched:
            patched.setattr(_pool.Pool, "send", interrupted)
            with contextlib.suppress(KeyboardInterrupt):  # raises() would keep the iterator by its traceback
                list(batches)
        state = loader.state_dict()
        if how == "next":
            for _ in range(2):
                with pytest.raises(errors.ShardfeedError, match="KeyboardInterrupt ended this iteration: begin a new one"):
                    next(batches)
        del batches
        assert loader._pool is None, "no further iteration has these workers"
        loader.load_state_dict(state)
        assert [batch["id"][0] for batch in loader] == list(range(state["shardfeed"]["position"], 4000, 100))


def interrupted(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def test_a_link_that_is_collected_before_its_pool(shards):
    """The garbage collector ends what a cycle holds in any order."""
    with opened(shards, persistent_workers=True) as loader:
        next(batches := iter(loader))
        pool = batches._batches._pool
        pool.workers[0].link.close()
        batches.close()
        assert pool.closed and loader._pool is None
        assert len(list(loader)) == STEPS


@pytest.mark.parametrize("given", [{}, {"persistent_workers": True}, {"num_workers": 0, "threads": 2}])
def test_nothing_is_left_of_epochs(shards, job, given):
    """No process, thread, descriptor, ring or memory, in the trainer and in the engine."""
    trainer = psutil.Process()
    with opened(shards, larger, **given) as loader:
        engine = psutil.Process(loader.dataset._control().welcome["pid"])

        def now() -> Any:
            gc.collect()
            children = {p.pid for p in trainer.children(recursive=True)} if not given.get("persistent_workers") else set()
            return held(trainer), held(engine), trainer.num_threads(), len(children)

        def epochs() -> None:
            assert len(list(loader)) == STEPS
            for batch in loader:
                assert batch["large"].shape == (100, 100)
                break
            next(batches := iter(loader))
            cycle = [batches]
            cycle.append(cycle)  # type: ignore[arg-type]

        for _ in range(3):
            epochs()
        before = at_rest(now)
        memory = own(trainer), own(engine)
        for _ in range(6):
            epochs()
        assert settled(now, before) == before
        assert own(trainer) - memory[0] < MOST_GROWTH and own(engine) - memory[1] < MOST_GROWTH


def larger(batch: Any) -> Any:
    return {"id": batch["id"], "large": torch.ones(100, 100)}


def test_a_forked_child_leaves_the_workers_alone(shards):
    with opened(shards) as loader:
        batches = iter(loader)
        first = next(batches)
        child = os.fork()
        if child == 0:
            try:
                loader.close()
                del batches, first
                gc.collect()
            finally:
                os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert len(list(batches)) == STEPS - 1
