"""Traces: a file for Perfetto of the waits of a training."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import shardfeed  # noqa: E402
from shardfeed import _trace  # noqa: E402
from shardfeed._waited import CAUSES  # noqa: E402
from shardfeed.errors import OptionError  # noqa: E402
from shardfeed.torch import DataLoader, StreamingDataset  # noqa: E402

pytestmark = pytest.mark.usefixtures("runtime")

GIVEN: dict[str, Any] = {"batch_size": 100, "columns": ["id"], "cache": False}


def slow(batch: Any) -> Any:
    time.sleep(0.002)
    return batch


STREAMS: dict[str, Any] = {
    "numpy": lambda shards: shardfeed.StreamingDataset(shards, **GIVEN),
    "numpy, map": lambda shards: shardfeed.StreamingDataset(shards, **GIVEN).map(slow),
    "torch": lambda shards: StreamingDataset(shards, **GIVEN),
    "torch, map": lambda shards: StreamingDataset(shards, **GIVEN).map(slow),
    "loader": lambda shards: DataLoader(shards, **GIVEN),
    "loader, collate_fn": lambda shards: DataLoader(shards, collate_fn=slow, **GIVEN),
    "loader, meta": lambda shards: DataLoader(shards, device="meta", **GIVEN),
    "threads": lambda shards: DataLoader(shards, threads=1, collate_fn=slow, **GIVEN),
    "workers": lambda shards: DataLoader(shards, num_workers=1, collate_fn=slow, **GIVEN),
    "rows by number": lambda shards: DataLoader(shardfeed.MapDataset(shards, columns=["id"]), batch_size=100, collate_fn=slow),
}


def read(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    trace: dict[str, Any] = json.loads(gzip.decompress(data) if path.name.endswith(".gz") else data)
    return trace


def timed(trace: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def named(trace: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [event for event in timed(trace) if event["name"] == name]


def tracks(trace: dict[str, Any]) -> dict[int, str]:
    return {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"}


def inside(trace: dict[str, Any], outer: dict[str, Any]) -> list[dict[str, Any]]:
    begin, end = outer["ts"], outer["ts"] + outer["dur"]
    return [
        e
        for e in timed(trace)
        if e is not outer and e["tid"] == outer["tid"] and e["ts"] >= begin - 0.002 and e["ts"] + e["dur"] <= end + 0.002
    ]


@contextlib.contextmanager
def closed(stream: Any) -> Any:
    try:
        yield stream
    finally:
        if hasattr(stream, "close"):
            stream.close()


@pytest.mark.parametrize("kind", STREAMS)
def test_the_parts_of_each_next_add_up(shards, tmp_path, kind):
    with closed(STREAMS[kind](shards)) as stream:
        before = time.time_ns()
        with stream.trace(tmp_path / "run.json.gz"):
            assert sum(1 for _ in stream) == 40
        after = time.time_ns()
        wait = stream.stats()["wait"]
    trace = read(tmp_path / "run.json.gz")
    steps = named(trace, "shardfeed.next")
    assert len(steps) == 41  # with the one that found the end
    for step in steps:
        parts = inside(trace, step)
        assert {part["name"] for part in parts} <= set(CAUSES)
        assert sum(part["dur"] for part in parts) == pytest.approx(step["dur"], abs=1)
    assert sum(step["dur"] for step in steps) / 1e6 == pytest.approx(wait["seconds"], abs=1e-4)
    for cause, seconds in wait["parts"].items():
        of_cause = sum(e["dur"] for e in named(trace, cause) if tracks(trace)[e["tid"]].startswith("shardfeed next"))
        assert of_cause / 1e6 == pytest.approx(seconds, abs=1e-4)
    base = trace["baseTimeNanoseconds"]
    assert before <= base + steps[0]["ts"] * 1000 <= base + steps[-1]["ts"] * 1000 <= after
    assert trace["shardfeed"]["complete"] and {e["pid"] for e in trace["traceEvents"]} == {os.getpid()}


@pytest.mark.parametrize("kind", ["numpy", "loader", "threads", "workers", "rows by number"])
def test_batches_have_what_held_them_up(shards, tmp_path, kind):
    with closed(STREAMS[kind](shards)) as stream, stream.trace(tmp_path / "run.json"):
        assert sum(1 for _ in stream) == 40
    trace = read(tmp_path / "run.json")
    batches = named(trace, "shardfeed.batch")
    assert len(batches) == 40 == len(named(trace, "ready"))
    assert sum(batch["args"]["rows"] for batch in batches) == 4000
    assert all(batch["args"]["bytes"] >= 800 for batch in batches)
    for batch in batches:
        assert sum(part["dur"] for part in inside(trace, batch) if part["dur"]) == pytest.approx(batch["dur"], abs=1)
    for track in {batch["tid"] for batch in batches}:
        spans = [(e["ts"], e["ts"] + e["dur"]) for e in timed(trace) if e["tid"] == track and e["name"] in ("shardfeed.batch", "ready")]
        assert all(end <= begin + 0.002 for (_, end), (begin, _) in itertools.pairwise(spans))


def test_it_ends_after_its_steps(shards, tmp_path):
    with closed(DataLoader(shards, **GIVEN)) as loader:
        trace = loader.trace(tmp_path / "run.json.gz", steps=7)
        batches = iter(loader)
        for _ in range(7):
            assert not trace.over and not list(tmp_path.iterdir())
            next(batches)
        assert trace.over
        trace.stop()
        assert len(named(read(tmp_path / "run.json.gz"), "shardfeed.next")) == 7
        written = (tmp_path / "run.json.gz").read_bytes()
        next(batches)
        trace.stop()
        assert (tmp_path / "run.json.gz").read_bytes() == written


def test_a_full_trace_ends_and_says_so(shards, tmp_path, monkeypatch):
    monkeypatch.setattr(_trace, "MOST", 150)  # more than the first batch has, at most 64
    with closed(DataLoader(shards, **GIVEN)) as loader:
        trace = loader.trace(tmp_path / "run.json.gz")
        assert sum(1 for _ in loader) == 40
    assert trace.over
    trace.stop()
    written = read(tmp_path / "run.json.gz")
    assert not written["shardfeed"]["complete"]
    assert 40 <= len([e for e in timed(written) if not tracks(written)[e["tid"]].startswith("shardfeed loads")]) <= 150


def test_ranks_have_their_own_files(shards, tmp_path):
    dataset = StreamingDataset(shards, rank=1, world_size=2, **GIVEN)
    with dataset.trace(tmp_path / "run.json.gz"):
        assert sum(1 for _ in dataset) == 20
    trace = read(tmp_path / "run.rank1.json.gz")
    assert trace["distributedInfo"] == {"rank": 1, "world_size": 2}


@pytest.mark.parametrize(
    ("path", "steps", "error"),
    [
        ("run.txt", None, r"ends in .json or .json.gz, got .*run.txt"),
        (".json", None, "ends in .json or .json.gz"),
        (7, None, "ends in .json or .json.gz, got an int"),
        ("missing/run.json", None, "missing is not a directory"),
        ("run.json", 0, "steps must be a whole number of at least 1 or None, got 0"),
        ("run.json", True, "steps must be a whole number"),
        ("run.json", 2.5, "steps must be a whole number"),
    ],
)
def test_wrong_arguments(shards, tmp_path, path, steps, error):
    dataset = StreamingDataset(shards, **GIVEN)
    with pytest.raises(OptionError, match=error):
        dataset.trace(tmp_path / path if isinstance(path, str) else path, steps=steps)


PROGRAM = """
import os, signal, sys
from shardfeed.torch import DataLoader
loader = DataLoader(sys.argv[1], batch_size=100, columns=["id"], cache=False, num_workers=int(sys.argv[3]), collate_fn=dict)
if __name__ == "__main__":
    print(sum(1 for _ in loader), flush=True)
    if sys.argv[2] == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[2] == "raises":
        raise KeyError
"""


@pytest.mark.parametrize(("ends", "workers"), [("well", 0), ("well", 1), ("raises", 0), ("killed", 0)])
def test_the_environment_asks_for_one(shards, tmp_path, ends, workers):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "traces").mkdir()
    env = {**os.environ, "SHARDFEED_TRACE": str(tmp_path / "traces" / "run.json.gz")}
    done = subprocess.run(
        [sys.executable, tmp_path / "program.py", str(shards), ends, str(workers)], env=env, timeout=120, capture_output=True, text=True
    )
    assert done.stdout == "40\n", done.stderr
    end = time.monotonic() + 60
    while ends == "killed" and not (tmp_path / "traces" / "run.json.gz").exists() and time.monotonic() < end:
        time.sleep(0.05)  # another process writes it
    files = list((tmp_path / "traces").iterdir())
    assert [file.name for file in files] == ["run.json.gz"]
    trace = read(files[0])
    assert trace["shardfeed"]["complete"] == (ends != "killed")
    assert len(named(trace, "shardfeed.next")) == 41 or ends == "killed"


def test_the_training_outlives_a_full_disk(shards, tmp_path, monkeypatch, caplog):
    with closed(DataLoader(shards, **GIVEN)) as loader:
        (tmp_path / "traces").mkdir()
        trace = loader.trace(tmp_path / "traces" / "run.json.gz", steps=3)
        (tmp_path / "traces").rmdir()
        assert sum(1 for _ in loader) == 40
    for _ in range(2):
        with pytest.raises(OSError, match=r"traces.*no such file"):
            trace.stop()
    for thread in threading.enumerate():
        if thread.name == "shardfeed trace":
            thread.join()
    assert "the trace was not written" in caplog.text


@pytest.mark.parametrize("begun", [False, True])
def test_loads_have_what_held_them_up(shards, tmp_path, begun):
    """Also where the trace starts within an iteration."""
    with closed(DataLoader(shards, memory="64MiB", shuffle=False, **GIVEN)) as loader:
        batches = iter(loader)
        if begun:
            next(batches)
        with loader.trace(tmp_path / "run.json.gz"):
            assert sum(1 for _ in batches) == 40 - begun
            if begun:
                assert sum(1 for _ in loader) == 40
    trace = read(tmp_path / "run.json.gz")
    loads = named(trace, "shardfeed.load")
    places = {(load["args"]["shard"], load["args"]["row_group"]) for load in loads}
    assert len(places) == 16 and all(shard.startswith(("/", "file:")) for shard, _ in places)
    assert {load["args"]["unit"] for load in loads} == set(range(16))
    for load in loads:
        args = load["args"]
        assert (
            args["rank"] == 0 and args["rows"] == 250 and args["decoded_bytes"] >= 2000 and args["fetched_bytes"] > 0 and not args["failed"]
        )
        parts = inside(trace, load)
        assert {part["name"] for part in parts} <= {"room", "storage", "cache", "decode"} and "decode" in {part["name"] for part in parts}
        assert sum(part["dur"] for part in parts) == pytest.approx(load["dur"], abs=1)
    assert trace["shardfeed"]["complete"]


def test_a_trace_without_the_engine_is_not_complete(shards, tmp_path):
    with closed(DataLoader(shards, **GIVEN)) as loader, loader.trace(tmp_path / "run.json.gz") as trace:
        batches = iter(loader)
        next(batches)
        loader.dataset._waited.iterates(0, 1, "/missing", "d")
        trace.stop()
    written = read(tmp_path / "run.json.gz")
    assert not written["shardfeed"]["complete"] and len(named(written, "shardfeed.next")) == 1


@pytest.mark.parametrize("kind", ["numpy", "torch", "loader", "rows by number"])
def test_the_profiler_of_torch_has_next(shards, tmp_path, kind):
    """On the same clock as the trace."""
    from torch.profiler import ProfilerActivity, profile

    with closed(STREAMS[kind](shards)) as stream:
        batches = iter(stream)
        next(batches)
        with profile(activities=[ProfilerActivity.CPU]) as profiler, stream.trace(tmp_path / "run.json.gz"):
            for _ in range(5):
                next(batches)
        del batches
    profiler.export_chrome_trace(str(tmp_path / "torch.json"))
    ours, theirs = read(tmp_path / "run.json.gz"), read(tmp_path / "torch.json")
    assert len(named(theirs, "shardfeed.next")) == len(named(ours, "shardfeed.next")) == 5
    files = [str(tmp_path / name) for name in ("merged.json.gz", "run.json.gz", "torch.json")]
    subprocess.run([os.environ["SHARDFEED_BIN"], "trace", "merge", *files], check=True, timeout=60, capture_output=True)
    merged = read(tmp_path / "merged.json.gz")
    assert len(merged["traceEvents"]) == len(ours["traceEvents"]) + len(theirs["traceEvents"])
    both = sorted(named(merged, "shardfeed.next"), key=lambda e: e["ts"])
    assert {e["pid"] for e in both} == {os.getpid()}
    torchs = [e["ts"] for e in both if e["cat"] != "shardfeed"]
    apart = [abs(e["ts"] - ts) for e, ts in zip((e for e in both if e["cat"] == "shardfeed"), torchs)]
    assert min(apart) < 200  # us, of 3 on an idle machine: a busy machine may stop the program between any two clocks


def test_nvtx_has_next(monkeypatch):
    from shardfeed import _spans

    calls: list[str] = []
    monkeypatch.setattr(_spans, "_NVTX", True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda.nvtx, "range_push", calls.append)
    monkeypatch.setattr(torch.cuda.nvtx, "range_pop", lambda: calls.append("pop"))
    span = _spans.begin()
    assert span is not None
    span.end()
    assert calls == ["shardfeed.next", "pop"]
