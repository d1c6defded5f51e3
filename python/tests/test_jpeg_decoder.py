"""JPEGs decoded by the fake nvJPEG on the fake CUDA runtime, whose streams are late.

The kernels are the real ones, and run on the CPU (fakecudart/).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import fakecuda
import pictures
import pytest
from fakecuda import Host

pytest.importorskip("torch")

import jpegs

SIZES = [(50, 40), (64, 64), (33, 70), (128, 20), (90, 91), (61, 47), (40, 130)]
LATE = {"copy_us": 1500, "kernel_us": 500}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    try:
        fakecuda.library()
    except fakecuda.Missing as e:
        pytest.skip(str(e))
    host = Host(tmp_path_factory.mktemp("jpeg"), fake=True, jobs="jpeg.py")
    yield host
    host.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    directory = tmp_path_factory.mktemp("files")
    paths = [directory / f"{i}.jpg" for i in range(len(SIZES))]
    for i, (path, size) in enumerate(zip(paths, SIZES)):
        path.write_bytes(pictures.encoded(pictures.drawn(i, *size)))
    return list(map(str, paths))


@pytest.fixture(scope="module")
def store(files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return jpegs.store(tmp_path_factory.mktemp("store") / "pictures", [Path(file).read_bytes() for file in files])


@pytest.mark.parametrize("given", [{}, {"cubic": True}, {"channels_last": True}])
@pytest.mark.parametrize("hardware", [0, 1])
def test_batches(host, files, store, given, hardware):
    said = host.run("batches", files, 7, given, [], [], fakenvjpeg_pictures=store, fakenvjpeg_hardware=hardware, **LATE)
    assert said.answer == {"worst": 1, "left": 0, "hardware": bool(hardware)}
    journal = said.journal.clean()
    assert journal.calls["decode"] == 7


def test_rows_of_all_kinds(host, files, store):
    said = host.run("batches", files, 5, {}, [1, 4], [0, 3], fakenvjpeg_pictures=store, **LATE)
    assert said.answer == {"worst": 1, "left": 0, "hardware": True}
    said.journal.clean()


@pytest.mark.parametrize("finished, lost", [(list(range(7)), []), ([], list(range(7)))])
def test_nothing_to_decode(host, files, store, finished, lost):
    said = host.run("batches", files, 3, {}, finished, lost, fakenvjpeg_pictures=store, **LATE)
    assert said.answer["worst"] == 0
    assert said.journal.clean().calls["decode"] == 0


def test_batches_larger_than_memory(host, files, store):
    said = host.run("small_memory", files, fakenvjpeg_pictures=store, **LATE)
    assert said.answer == {"worst": 1, "left": 0, "hardware": True}
    assert said.journal.clean().calls["decode"] > 4


def test_normalised(host, files, store):
    assert host.run("normalised", files, fakenvjpeg_pictures=store).answer < 1.2


def test_hardware_refuses_images(host, files, store):
    """From the first refusal on each image is looked at first."""
    said = host.run("refused", files, 4, fakenvjpeg_pictures=store, fakenvjpeg_refused="3:64,3:90", **LATE)
    assert said.answer == {"refused": [[]] * 4, "worst": 1, "left": 0}
    assert said.journal.clean().calls["decode"] == 8


def test_subsamplings_that_hardware_lacks(host, files, store):
    """They are not given to the hardware, and the next batch is decoded at once."""
    said = host.run("subsampled", files, fakenvjpeg_pictures=store)
    assert said.answer == {"worst": 1, "left": 0}
    assert said.journal.clean().calls["decode"] == 4


@pytest.mark.parametrize("hardware", [0, 1])
@pytest.mark.parametrize("images", [[1], [3], [6], [1, 4], [1, 2, 3, 4, 5, 6]])  # the first, the middle, the last, some, all
def test_nvjpeg_refuses_images(host, files, store, hardware, images):
    """Row 0 comes as pixels."""
    widths = [SIZES[i][0] for i in images]
    bad = ",".join(f"{backend}:{width}" for width in widths for backend in (2, 3))
    said = host.run("refused", files, 3, fakenvjpeg_pictures=store, fakenvjpeg_refused=bad, fakenvjpeg_hardware=hardware, **LATE)
    assert said.answer == {"refused": [images] * 3, "worst": int(len(images) < 6), "left": 0}
    said.journal.clean()


@pytest.mark.parametrize("status", [3, 4, 5, 6, 8, 10])
def test_a_batch_that_fails_is_decoded_in_parts(host, files, store, status):
    said = host.run("batches", files, 5, {}, [], [], fakenvjpeg_pictures=store, faults=f"nvjpegDecodeBatched:2:{status}", **LATE)
    assert said.answer == {"worst": 1, "left": 0, "hardware": True}
    said.journal.clean()


@pytest.mark.parametrize(
    "fault, error",
    [
        ("nvjpegDecodeBatched:2:2", "nvjpegDecodeBatched failed: invalid parameter (2)"),
        ("nvjpegDecodeBatchedInitialize:1:8", "nvjpegDecodeBatchedInitialize failed: internal error (8)"),
        ("cuLaunchKernel:2:719", "CUDA error 719 of cuLaunchKernel"),
        ("nvjpegJpegStateCreate:2:5", "nvjpegJpegStateCreate failed: allocator failure (5)"),
    ],
)
def test_calls_that_fail(host, files, store, fault, error):
    said = host.run("failing", files, 5, fakenvjpeg_pictures=store, faults=fault, **LATE)
    assert len(said.answer["errors"]) == 1 and error in said.answer["errors"][0]
    assert said.answer["worst"] == 1 and said.answer["left"] == 0
    said.journal.clean()


def test_memory_is_taken_once(host, files, store):
    said = host.run("steady", files, fakenvjpeg_pictures=store)
    assert said.answer == {"left": 0}
    journal = said.journal.clean()
    assert journal.calls["decode"] == 300
    assert journal.calls["cudaMalloc"] <= 4 and journal.calls["cudaHostAlloc"] <= 20 and journal.calls["cudaFree"] == 0


def test_a_slot_that_is_used_again_too_soon_is_seen(host, files, store):
    said = host.run("overwritten", files, fakenvjpeg_pictures=store, copy_us=100_000)
    assert any("was written before the copy read it" in violation for violation in said.journal.violations)


def test_a_state_that_is_used_again_too_soon_is_seen(host, files, store):
    said = host.run("not_waited_for", files, fails=True, fakenvjpeg_pictures=store, copy_us=100_000)
    assert any("while a batch of the state is decoded" in violation for violation in said.journal.violations)
