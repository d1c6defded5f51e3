"""The jobs of test_torch_cuda.py on a real device, and how it page-locks memory (make test-gpu).

With SHARDFEED_GPU=require a machine without a device fails the tests.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pictures
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fakecuda import Host

import shardfeed

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.gpu

EARLY = ["break", "del", "exception", "interrupt"]


@pytest.fixture(scope="module")
def host(runtime: Path, shards: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    if not torch.cuda.is_available():
        message = "there is no CUDA device here"
        pytest.fail(message) if os.environ.get("SHARDFEED_GPU") == "require" else pytest.skip(message)
    keep = shardfeed.StreamingDataset(shards, batch_size=1, cache=False)  # the engine
    host = Host(tmp_path_factory.mktemp("gpu"), fake=False)
    yield host
    host.close()
    del keep


@pytest.fixture
def data(shards: Path) -> str:
    return str(shards)


@pytest.fixture
def large(tmp_path: Path) -> str:
    """Batches of several MB, whose copies take a while."""
    table = pa.table({"id": range(64_000), "text": ["x" * 4000] * 64_000})
    pq.write_table(table, tmp_path / "large.parquet", row_group_size=4000, compression="zstd")
    return str(tmp_path)


@pytest.mark.parametrize("given, pinned", [({}, [True]), ({"slots": 3}, [True]), ({"num_workers": 2}, [True])])
def test_batches(host, data, given, pinned):
    """The ring that is page-locked is the engine's sealed memfd."""
    answer = host.run("whole", data, given, 2).answer
    assert answer["same"] and answer["pinned"] == pinned and answer["on"] == ["cuda:0"]


def test_large_batches(host, large):
    answer = host.run("whole", large, {"batch_size": 2000}, 2, {"batch_size": 2000}).answer
    assert answer == {"same": True, "pinned": [True], "on": ["cuda:0"], "copied_out": 0}


def test_little_memory_may_be_locked(host, data):
    """RLIMIT_MEMLOCK does not limit the driver.

    Where it does, batches come nevertheless, with a warning.
    """
    answer = host.run("little_locked", data, 64 << 10).answer
    assert answer["same"] and (answer["pinned"] == [True]) == (answer["said"] == [])


@pytest.mark.parametrize("prefetch", [0, 2])
def test_training_reads_batches_that_were_dropped(host, data, prefetch):
    assert host.run("late_training", data, True, prefetch, 20_000_000).answer


@pytest.mark.parametrize("how", EARLY)
def test_left_early(host, data, how):
    assert host.run("left_early", data, how, {}).answer == {"same": True, "ring_gone": True}


@pytest.mark.parametrize("how", ["whole", "break"])
def test_trainers_that_copy_themselves(host, data, how):
    assert host.run("pinned_only", data, how).answer == {"same": True, "pinned": True, "again": 32}


@pytest.mark.parametrize(
    "job, arguments",
    [("resumed", [0]), ("resumed", [2]), ("functions", [0]), ("functions", [2]), ("objects", []), ("forked", []), ("interrupted", [25])],
)
def test_the_same_numbers(host, data, job, arguments):
    assert host.run(job, data, *arguments).answer


def test_two_loaders(host, data):
    last = torch.cuda.device_count() - 1
    assert host.run("two_loaders", data, ["cuda:0", f"cuda:{last}"]).answer


def test_an_error_is_forgotten(host):
    assert host.run("forgets").answer


@pytest.mark.parametrize("given", [{}, {"device": None, "pin_memory": True}])
def test_a_program_that_ends_with_copies_on_their_way(host, data, given):
    host.run("ends", data, given)


@pytest.mark.parametrize("share", [None, 0.5])
def test_jpegs(runtime, tmp_path, host, share):
    """nvJPEG's pixels are near the ones of the engine's decoder, and in the same rows."""
    shards = pictures.write(tmp_path / "pictures", pictures.many(48))
    images = {"size": [20, 24], "crop": "random_resized", "flip": 0.5, "reducing_gap": None}
    decoding = Host(tmp_path, fake=False, jobs="jpeg.py")
    try:
        answer = decoding.run("loaded", str(shards), {"image_device": "cuda", "image_cpu_share": share}, images, 2).answer
    finally:
        decoding.close()
    assert answer["same"] and answer["said"] == [] and answer["state"]
    assert answer["on_device"] > 0 and answer["mean"] < 1.5
