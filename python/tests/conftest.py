"""What the tests share: the engine's program, a runtime directory of their own, and data."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shardfeed._engine import _channel

ROOT = Path(__file__).resolve().parents[2]
GRACE_SECONDS = 1.0

# Files whose tests take the longest. They start first, so that none of the processes that share the
# files is left alone with one.
LONGEST = (
    "test_train.py",
    "test_train_examples.py",
    "test_torch_epochs.py",
    "test_ranks.py",
    "test_launcher_pages.py",
    "test_evaluation.py",
    "test_torch_cuda.py",
    "test_torch_workers.py",
    "test_torch_trainers.py",
    "test_readme.py",
    "test_torch_loader.py",
    "test_ranks_killed.py",
    "test_storage_errors.py",
)

# Children that tests start find the package too, and compile it once.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "python" / "src"), os.environ.get("PYTHONPATH")]))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.fixture(scope="session", autouse=True)
def interrupts() -> None:
    """Of this process and its children, also where the tests run in the background of a shell, which has them ignored."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def engine_binary() -> Path:
    """The engine's program, built once a run. SHARDFEED_TEST_BIN names one that is there already."""
    if given := os.environ.get("SHARDFEED_TEST_BIN"):
        return Path(given).absolute()
    program = ROOT / "bin" / "shardfeed"
    subprocess.run(["go", "build", "-o", str(program), "./cmd/shardfeed"], cwd=ROOT, check=True)
    return program


@pytest.fixture(scope="session")
def runtime(engine_binary: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A runtime directory for this run; at its end every engine that was started in it has ended, and left no socket."""
    directory = Path(tempfile.mkdtemp(prefix="shardfeed-test-"))
    old = {name: os.environ.get(name) for name in ("SHARDFEED_RUNTIME_DIR", "SHARDFEED_BIN", "SHARDFEED_GRACE", "XDG_CACHE_HOME")}
    os.environ["SHARDFEED_RUNTIME_DIR"] = str(directory / "run")
    os.environ["SHARDFEED_BIN"] = str(engine_binary)
    os.environ["SHARDFEED_GRACE"] = f"{GRACE_SECONDS:g}s"
    os.environ["XDG_CACHE_HOME"] = str(directory / "cache")
    yield directory / "run"
    for name, value in old.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    if request.session.testsfailed:  # the traceback of a failed test holds what it used
        for channel in list(_channel._open_channels):
            channel.close()
    left = wait_for_engines(directory)
    sockets = sorted(directory.glob("run/*.sock"))
    shutil.rmtree(directory, ignore_errors=True)
    assert not left, f"engines outlived their trainers: {left}"
    assert not sockets, f"engines left sockets: {sockets}"


@pytest.fixture
def hosts() -> Iterator[Path]:
    """A directory for the machines of a job, whose path leaves room for the names of sockets."""
    directory = Path(tempfile.mkdtemp(prefix="shardfeed-test-"))
    yield directory
    left = wait_for_engines(directory)
    shutil.rmtree(directory, ignore_errors=True)
    assert not left, f"engines outlived their trainers: {left}"


@pytest.fixture
def job(runtime: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """An engine for this test alone."""
    name = f"{os.getpid()} {request.node.nodeid}"
    monkeypatch.setenv("SHARDFEED_JOB", name)
    return name


@pytest.fixture(scope="session")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four shards of 1000 rows, 250 in a row group. id counts the rows; x is id / 2, label id % 7, and tokens has id % 5 items."""
    directory = tmp_path_factory.mktemp("shards")
    for k in range(4):
        ids = range(1000 * k, 1000 * (k + 1))
        table = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "x": pa.array([i / 2 for i in ids], pa.float32()),
                "label": pa.array([i % 7 for i in ids], pa.int32()),
                "text": pa.array([f"row {i}" for i in ids], pa.string()),
                "tokens": pa.array([list(range(i, i + i % 5)) for i in ids], pa.list_(pa.int32())),
            }
        )
        pq.write_table(table, directory / f"part-{k}.parquet", row_group_size=250)
    return directory


def engines(directory: Path) -> list[psutil.Process]:
    """The engines whose sockets lie below directory."""
    found = []
    for process in psutil.process_iter():
        try:
            line = process.cmdline()
        except psutil.Error:
            continue
        if "serve" in line[1:2] and any(argument.startswith(f"{directory}/") for argument in line):
            found.append(process)  # a zombie has no command line: it waits only for init
    return found


def ended(pid: int, seconds: float = 60) -> bool:
    """Waits until a process has ended. It may be a zombie for a while: that is init's affair."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


def wait_for_engines(directory: Path, seconds: float = GRACE_SECONDS + 60) -> list[psutil.Process]:
    """Waits until the engines below directory have ended; kills and returns the others."""
    gc.collect()  # data sets that only the traceback of an expected error still holds
    deadline = time.monotonic() + seconds
    while (left := engines(directory)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for process in left:
        process.kill()
    return left


@pytest.fixture
def _often() -> Iterator[None]:
    """Lets threads change all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)
