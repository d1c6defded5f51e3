"""Copies to CUDA with the real torch and engine, on a fake of CUDA's runtime whose copies are late
(fakecudart/).

Each job runs in its own process (jobs/cuda.py). The fake's journal lists page-locked memory, the
memory that each copy read, and broken rules: a source written or unlocked before its copy read it,
memory unmapped while page-locked.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import fakecuda
import pictures
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fakecuda import Host, Journal

import shardfeed

torch = pytest.importorskip("torch")

LATE = {"copy_us": 1500}
BATCHES = 32


@pytest.fixture(scope="module", autouse=True)
def one_engine(runtime: Path, shards: Path) -> Iterator[None]:
    """One engine for the module: a data set that stays open keeps it."""
    dataset = shardfeed.StreamingDataset(shards, batch_size=1, cache=False)
    yield
    del dataset


@pytest.fixture(scope="module")
def host(one_engine: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    try:
        fakecuda.library()
    except fakecuda.Missing as e:
        pytest.skip(str(e))
    host = Host(tmp_path_factory.mktemp("cuda"), fake=True)
    yield host
    host.close()


@pytest.fixture
def data(shards: Path) -> str:
    return str(shards)


def test_torch_finds_all_in_the_fake(host):
    """A call that the fake lacks would go to torch's own runtime."""

    def names(*arguments: str) -> set[str]:
        lines = subprocess.run(["nm", "-D", *map(str, arguments)], capture_output=True, text=True, check=True).stdout.splitlines()
        return {line.split()[-1] for line in lines if line}

    libraries = [
        path for name in ("c10_cuda", "torch_cuda", "torch_python") for path in Path(torch.__file__).parent.glob(f"lib/lib{name}.so")
    ]
    asked = {name.split("@")[0] for name in names("--undefined-only", *libraries) if "@libcudart" in name}
    assert len(asked) > 50
    assert not asked - names("--defined-only", fakecuda.library())


def of_the_ring(journal: Journal) -> None:
    """All copies read page-locked rings, on a stream of their own, without a copy on the host."""
    for copy in journal.to_device():
        assert copy.from_kind == "registered" and copy.stream != 0, copy
        assert any(start <= copy.source and copy.source + copy.bytes <= start + size for start, size, _ in journal.ever)
    for start, size, _ in journal.ever:
        assert any(start <= copy.source < start + size for copy in journal.to_device()), "page-locked, and no copy reads it"
    assert "cudaHostAlloc" not in journal.calls


def test_copies_are_those_of_the_ring(host, data):
    said = host.run("whole", data, {}, 2, **LATE)
    assert said.answer == {"same": True, "pinned": [True], "on": ["cuda:0"], "copied_out": 0}
    journal = said.journal.clean()
    assert len({start for start, _, _ in journal.ever}) == len(journal.ever), "each slot once for both epochs"
    of_the_ring(journal)
    assert len(journal.to_device()) == 2 * BATCHES * 7


def test_images(host, tmp_path):
    """The engine's tensors go to the device as they are."""
    said = host.run("images", str(pictures.write(tmp_path, pictures.many(40))), **LATE)
    assert said.answer == {"same": True, "pinned": [True], "on": ["cuda:0"], "copied_out": 0}
    of_the_ring(said.journal.clean())


def test_nothing_is_written_on_the_host(host, data):
    """The last copy on the host is the engine's, into its ring."""
    assert host.run("written", data, {}).answer == 0
    given = {"num_workers": 2, "slots": 64}  # enough that none is copied out because nearly all are held
    assert host.run("written", data, given).answer == 0, "workers pass on what they do not change"


def test_ten_thousand_batches(host, data):
    said = host.run("many", data)
    grown = said.answer
    assert grown["batches"] == 10_000 and grown["memory"] < 8 << 20 and grown["files"] <= 0
    assert grown["events"] < 1000, "torch keeps events for use again, as many as were pending at once: far fewer than the 8,000 batches"
    journal = said.journal.clean()
    of_the_ring(journal)
    assert journal.calls["cudaHostRegister"] <= 10 and journal.calls["cudaMalloc"] <= 2 and len(journal.to_device()) == 20_000


def test_a_slot_that_goes_back_too_soon_is_seen(host, data):
    said = host.run("given_back_at_once", data, **LATE)
    assert any("was written before the copy read it" in violation for violation in said.journal.violations)
    assert not said.answer["same"]


@pytest.mark.parametrize("prefetch", [0, 2])
@pytest.mark.parametrize("late", [{"kernel_us": 3000}, {"copy_us": 1000}])
def test_training_reads_batches_that_were_dropped(host, data, prefetch, late):
    """A batch has arrived when the training reads it at once, and is still there when it reads it
    late.
    """
    said = host.run("late_training", data, True, prefetch, **late)
    assert said.answer
    said.journal.clean()


def test_a_batch_that_is_overwritten_too_soon_is_seen(host, data):
    assert not host.run("late_training", data, False, kernel_us=3000).answer, "without record_stream its memory is used again"


def test_slow_consumer(host, data):
    said = host.run("slow_consumer", data, copy_us=1000, kernel_us=2000)
    assert said.answer
    of_the_ring(said.journal.clean())


@pytest.mark.parametrize("how", ["break", "del", "exception", "interrupt"])
def test_left_early(host, data, how):
    said = host.run("left_early", data, how, {})
    assert said.answer == {"same": True, "ring_gone": True}
    of_the_ring(said.journal.clean())


@pytest.mark.parametrize("workers", [0, 2])
def test_resumed(host, data, workers):
    said = host.run("resumed", data, workers, copy_us=500)
    assert said.answer
    said.journal.clean()


def test_batches_of_workers(host, data):
    said = host.run("whole", data, {"num_workers": 2}, **LATE)
    assert said.answer == {"same": True, "pinned": [True], "on": ["cuda:0"], "copied_out": 0}
    of_the_ring(said.journal.clean())
    said = host.run("left_early", data, "break", {"num_workers": 2})
    assert said.answer == {"same": True, "ring_gone": True}
    said.journal.clean()


@pytest.mark.parametrize("workers", [0, 2])
def test_tensors_of_functions(host, data, workers):
    said = host.run("functions", data, workers, **LATE)
    assert said.answer
    kinds = {copy.from_kind for copy in said.journal.clean().to_device()}
    assert kinds == ({"registered"} if workers else {"pinned", "registered"}), "workers write to a ring, which is page-locked too"


def test_objects_that_move_themselves(host, data):
    said = host.run("objects", data, copy_us=5000)
    assert said.answer
    said.journal.clean()


@pytest.mark.parametrize("given", [{"slots": 2, "collate_workers": 1}, {"slots": 3}, {"prefetch": 20}])
def test_few_slots(host, data, given):
    """Batches are copied out of a ring that is nearly all in use, but never to be ahead."""
    said = host.run("whole", data, given, **LATE)
    assert said.answer["same"] and (said.answer["copied_out"] == 0 or "slots" in given)
    said.journal.clean()


@pytest.fixture
def growing(tmp_path: Path) -> str:
    """Texts that are far longer in the last shard."""
    for k, length in enumerate([2, 3, 40_000]):
        table = pa.table({"id": range(1000 * k, 1000 * (k + 1)), "text": ["x" * length] * 1000})
        pq.write_table(table, tmp_path / f"part-{k}.parquet", row_group_size=250)
    return str(tmp_path)


def test_a_ring_that_grows(host, growing):
    said = host.run("grown", growing, **LATE)
    assert said.answer["same"] and len(said.answer["generations"]) > 1
    journal = said.journal.clean()
    of_the_ring(journal)
    assert journal.calls["cudaHostRegister"] >= len(said.answer["generations"])


@pytest.mark.parametrize("devices", [["cuda:0", "cuda:0"], ["cuda:0", "cuda:1"]])
def test_two_loaders(host, data, devices):
    said = host.run("two_loaders", data, devices, copy_us=500, devices=2)
    assert said.answer
    of_the_ring(said.journal.clean())
    assert {f"cuda:{device}" for _, _, device in said.journal.ever} == set(devices), "with its loader's device as the current one"


def test_memory_that_cannot_be_page_locked(host, data):
    said = host.run("refused", data, faults="cudaHostRegister:0:2", **LATE)
    assert said.answer["same"]
    assert len(said.answer["said"]) == 1 and "out of memory" in said.answer["said"][0]
    assert {copy.from_kind for copy in said.journal.clean().to_device()} == {"pinned"}


def test_rings_that_cannot_be_page_locked(host, growing):
    answer = host.run("grown", growing, faults="cudaHostRegister:0:2").answer
    assert answer["same"] and len(answer["generations"]) > 1 and len(answer["said"]) == 1, "it is said once"


def test_an_error_is_forgotten(host):
    assert host.run("forgets").answer


@pytest.mark.parametrize("fault", ["cudaMemcpyAsync:17:1", "cudaEventRecord:5:2", "cudaStreamWaitEvent:4:2", "cudaMalloc:2:2"])
def test_calls_that_fail(host, data, fault):
    said = host.run("failing", data, faults=fault)
    assert said.answer["same"]
    assert len(said.answer["errors"]) == 1 or fault.startswith("cudaMalloc"), "torch tries again with less in its cache"
    said.journal.clean()


@pytest.mark.parametrize("fault", ["cudaMemcpyAsync:16:1", "cudaStreamWaitEvent:4:2"])
def test_asked_again_after_a_failure(host, data, fault):
    said = host.run("retried", data, faults=fault, copy_us=200)
    assert said.answer == {"same": True, "errors": 1}
    said.journal.clean()


def test_interrupts_at_any_time(host, data):
    said = host.run("interrupted", data, 25, kernel_us=500)
    assert said.answer
    said.journal.clean()


@pytest.mark.parametrize("how", ["whole", "break"])
def test_trainers_that_copy_themselves(host, data, how):
    said = host.run("pinned_only", data, how, copy_us=3000)
    assert said.answer == {"same": True, "pinned": True, "again": BATCHES}
    said.journal.clean()


def test_forked_children(host, data):
    said = host.run("forked", data, **LATE)
    assert said.answer and "Traceback" not in said.text
    said.journal.clean()


@pytest.mark.parametrize("given", [{}, {"device": None, "pin_memory": True}, {"num_workers": 2}])
def test_a_program_that_ends_with_copies_on_their_way(host, data, given):
    assert host.run("ends", data, given, copy_us=20_000).journal.clean().ended
