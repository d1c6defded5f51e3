"""Loaders whose images are decoded by the fake nvJPEG: the engine's draws, on the device."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import fakecuda
import jpegs
import pictures
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fakecuda import Host

import shardfeed

pytest.importorskip("torch")

LATE = {"copy_us": 800, "kernel_us": 300}
TRAIN = {"size": [20, 24], "crop": "random_resized", "flip": 0.5, "reducing_gap": None}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Shards of pictures of three formats, and what the fake nvJPEG decodes the JPEGs to."""
    directory = tmp_path_factory.mktemp("data")
    files = pictures.many(48)
    store = jpegs.store(directory / "pictures", [file for file in files if file[:2] == b"\xff\xd8"])
    return str(pictures.write(directory / "shards", files)), str(store)


@pytest.fixture(scope="module")
def host(runtime: Path, data: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    try:
        fakecuda.library()
    except fakecuda.Missing as e:
        pytest.skip(str(e))
    dataset = shardfeed.StreamingDataset(data[0], batch_size=1, cache=False)  # keeps one engine
    host = Host(tmp_path_factory.mktemp("loader"), fake=True, jobs="jpeg.py")
    yield host
    host.close()
    del dataset


@pytest.mark.parametrize("images", [TRAIN, {"size": [20, 24], "crop": "letterbox", "fill": 9, "layout": "HWC", "interpolation": "bicubic"}])
@pytest.mark.parametrize("share", [None, 0.5, 1])
def test_batches(host, data, images, share):
    said = host.run("loaded", data[0], {"image_device": "cuda", "image_cpu_share": share}, images, 2, fakenvjpeg_pictures=data[1], **LATE)
    answer = said.answer
    assert answer["worst"] <= 4 and answer["same"] and answer["said"] == [] and answer["left"] == 0 and answer["state"]
    journal = said.journal.clean()
    assert (journal.calls["decode"] > 0) == (share != 1)


@pytest.mark.parametrize("how", ["break", "del", "exception", "interrupt"])
def test_left_early(host, data, how):
    said = host.run("left_early", data[0], how, fakenvjpeg_pictures=data[1])
    assert said.answer["worst"] <= 4 and said.answer["batches"]
    said.journal.clean()


def test_training_reads_batches_that_were_dropped(host, data):
    said = host.run("late_training", data[0], fakenvjpeg_pictures=data[1], kernel_us=3000)
    assert said.answer <= 4
    said.journal.clean()


def test_resumed(host, data):
    said = host.run("resumed", data[0], fakenvjpeg_pictures=data[1], copy_us=500)
    assert said.answer <= 4
    said.journal.clean()


def test_members_of_structs(host, data, tmp_path):
    files = [Path(data[0], f"part-{k}.parquet") for k in range(2)]
    for file in files:
        table = pq.read_table(file)
        image = pa.StructArray.from_arrays([table["img"].combine_chunks(), table["id"].combine_chunks()], names=["bytes", "size"])
        pq.write_table(table.select(["id"]).append_column("image", image), tmp_path / file.name)
    said = host.run("nested", str(tmp_path), fakenvjpeg_pictures=data[1], **LATE)
    assert said.answer <= 4
    assert said.journal.clean().calls["decode"] > 0


def test_auto(host, data):
    """All images are the processors' at first, and then as many as the waits of the training say."""
    said = host.run("automatic", data[0], fakenvjpeg_pictures=data[1], **LATE)
    assert said.answer["worst"] <= 4 and said.answer["batches"] == 24
    assert 0 < said.journal.clean().calls["decode"] < 24


def test_all_is_ready_before_the_first_batch(host, data):
    """The decoder is made while the engine opens the data, and its first calls come before a batch."""
    said = host.run("early", data[0], fakenvjpeg_pictures=data[1])
    assert said.answer == [True, True]
    calls = said.journal.clean().order
    first = calls.index("decode")
    assert calls[:first].count("launch") == 10 and calls[:first].count("nvjpegJpegStateCreate") == 2
    assert {"cudaHostAlloc", "cudaMalloc"} <= set(calls[:first])


def test_kernels_are_compiled_once(host, data):
    """A file of kernels that cannot be used is made again."""
    for what, compiled in [("", 1), ("", 0), ("damaged", 1), ("", 0), ("refused", 1), ("", 0)]:
        said = host.run("kept", data[0], what, fakenvjpeg_pictures=data[1])
        assert said.answer == {"compiled": compiled, "files": 1}, what
        said.journal.clean()


def test_an_image_that_nvjpeg_refuses(host, data):
    width = pictures.decoded(pictures.many(4)[3]).width
    refused = f"3:{width},2:{width}"
    said = host.run("raised", data[0], {"image_device": "cuda"}, fakenvjpeg_pictures=data[1], fakenvjpeg_refused=refused)
    assert said.answer["error"] == "DataError"
    assert re.search(
        r"part-0.parquet: row group 0, row 3(, .*)?: column 'img': nvJPEG: nvjpegDecodeBatched failed: JPEG not supported",
        said.answer["text"],
    )
    said.journal.clean()


@pytest.mark.parametrize("fault", ["nvjpegDecodeBatched:2:6", "cuLaunchKernel:4:719"])
def test_calls_that_fail(host, data, fault):
    said = host.run("raised", data[0], {"image_device": "cuda"}, fakenvjpeg_pictures=data[1], faults=fault)
    assert said.answer["error"] in ("Failed", "RuntimeError") and fault.split(":")[0] in said.answer["text"]
    said.journal.clean()


@pytest.mark.parametrize("where", ["cuda", "auto"])
@pytest.mark.parametrize("what", [{"faults": "nvjpegCreateExV2:0:1"}, {"shardfeed_libnvjpeg": "/nowhere"}])
def test_without_nvjpeg(host, data, where, what):
    """One line, and the processors decode."""
    variables = {"fakenvjpeg_pictures": data[1]} | what
    said = host.run("raised", data[0], {"image_device": where}, **variables)
    assert said.answer["rows"] == 48 and len(said.answer["said"]) == 1
    assert said.answer["said"][0].startswith(f"image_device='{where}': the processors decode all images, since ")


@pytest.mark.parametrize(
    "given, said",
    [
        ({"device": None}, "the loader's device is the host: give device='cuda'"),
        ({"device": "cpu"}, "the loader's device is cpu: give device='cuda'"),
        ({"images": None, "image_decoder": "auto"}, "no column has images"),
        ({"num_workers": 1}, "workers, get batches before that"),
        ({"threads": 1}, "workers, get batches before that"),
        ({"batch_size": None}, "a loader of rows has none: give batch_size"),
    ],
)
def test_what_excludes_it(host, data, given, said):
    found = host.run("raised", data[0], {"image_device": "cuda"} | given, fakenvjpeg_pictures=data[1]).answer
    assert found["error"] == "OptionError" and said in found["text"]
    if given.get("batch_size", 1):
        assert host.run("raised", data[0], {"image_device": "auto"} | given, fakenvjpeg_pictures=data[1]).answer == {"rows": 48, "said": []}


def test_functions_exclude_it(host, data):
    assert "functions of map and collate_fn" in host.run("functions", data[0], fakenvjpeg_pictures=data[1]).answer["text"]
