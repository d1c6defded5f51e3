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


def test_resumed_at_each_step(host, data):
    said = host.run("resumed_at_each_step", data[0], fakenvjpeg_pictures=data[1], fakenvjpeg_refused="3:90,2:90")
    assert said.answer <= 4
    said.journal.clean()


@pytest.mark.parametrize("given", [{}, {"batch_size": 1}, {"batch_size": 7, "tail": "drop"}, {"memory": "128MiB"}])
def test_two_loaders_at_once(host, data, given):
    """And a data set is read without a device after a loader with one."""
    said = host.run("shared", data[0], given, fakenvjpeg_pictures=data[1], **LATE)
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


@pytest.mark.parametrize("images", [[0], [3, 21], range(48)])
@pytest.mark.parametrize("jitter", [0, 0.4])
def test_images_that_nvjpeg_refuses(host, data, images, jitter):
    """The engine decodes them, in the same batches."""
    widths = {pictures.decoded(file).width for i, file in enumerate(pictures.many(48)) if i in images and file[:2] == b"\xff\xd8"}
    bad = ",".join(f"{backend}:{width}" for width in widths for backend in (2, 3))
    more = {"color_jitter": [jitter, jitter, jitter], "dtype": "uint8"} if jitter else {}
    said = host.run("loaded", data[0], {"image_device": "cuda"}, TRAIN | more, 2, fakenvjpeg_pictures=data[1], fakenvjpeg_refused=bad)
    answer = said.answer
    assert answer["worst"] <= (12 if jitter else 4) and answer["same"] and answer["left"] == 0
    assert 2 * len(images) // 3 <= answer["refused"] or answer["refused"] == 2
    said.journal.clean()


@pytest.fixture(scope="module")
def damaged(data, tmp_path_factory):
    """The same pictures, and four of them damaged: JPEGs that neither side decodes."""
    files = pictures.many(48)
    for i in (0, 3, 9, 30):
        files[i] = pictures.damaged(files[i])
    return str(pictures.write(tmp_path_factory.mktemp("damaged") / "shards", files))


@pytest.mark.parametrize("on_error, batches, masked", [("mask", 8, 4), ("skip", 8, 0)])
def test_damaged_files(host, data, damaged, on_error, batches, masked):
    """They are lost as without a device: in batches, masks, figures and audit."""
    said = host.run("lost", damaged, {"on_error": on_error}, fakenvjpeg_pictures=data[1], **LATE)
    answer = said.answer
    assert answer["worst"] <= 4 and answer["batches"] == [batches] * 2 and answer["errors"] == ["", ""] and answer["masked"] == masked
    assert answer["figures"][0] == answer["figures"][1] and answer["figures"][0]["lost_rows"] == 4
    assert answer["proved"] == [True, True]
    said.journal.clean()


def test_a_damaged_file_is_an_error(host, data, damaged):
    answer = host.run("lost", damaged, {"max_lost": None}, fakenvjpeg_pictures=data[1]).answer
    without, with_device = answer["errors"]
    assert "JPEG" in without and re.sub(r": rank 0, epoch 0, step \d+", "", without) == with_device


def test_too_many_lost_rows(host, data, damaged):
    answer = host.run("lost", damaged, {"on_error": "mask", "max_lost": 0.05}, fakenvjpeg_pictures=data[1]).answer
    assert all("of 48 rows of the epoch are lost, more than max_lost=0.05 allows" in error for error in answer["errors"])


@pytest.mark.parametrize("fault", ["nvjpegDecodeBatched:2:2", "cuLaunchKernel:4:719"])
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


@pytest.mark.parametrize("given", [{"image_device": "cuda"}, {"image_device": "cuda", "image_cpu_share": 0.5}, {"image_device": "auto"}])
def test_rows_by_number(host, data, given):
    said = host.run("by_number", data[0], given, {"filters": "id > 3"}, fakenvjpeg_pictures=data[1], fakenvjpeg_refused="3:90,2:90", **LATE)
    assert said.answer == {"worst": pytest.approx(2, abs=2), "said": [], "rows": 2 * 44}
    assert (said.journal.clean().calls["decode"] > 0) == (given["image_device"] != "auto")


@pytest.mark.parametrize("on_error", ["mask", "skip"])
def test_damaged_rows_by_number(host, data, damaged, on_error):
    said = host.run("by_number", damaged, {"image_device": "cuda"}, {"on_error": on_error}, fakenvjpeg_pictures=data[1], **LATE)
    assert said.answer["worst"] <= 4 and said.answer["rows"] == (96 if on_error == "mask" else 88)
    said.journal.clean()


@pytest.mark.parametrize(
    "given, said",
    [
        ({"batch_size": None}, "OptionError: image_device='cuda' decodes images on the device of the loader, and single rows have none"),
        ({"num_workers": 1}, "collate_fn and torch workers get batches before that"),
        ({"device": None}, "the loader's device is the host: give device='cuda'"),
        ({"image_device": "gpu"}, "image_device must be"),
        ({"image_device": "cpu", "image_cpu_share": 0.5}, "image_cpu_share needs image_device"),
    ],
)
def test_what_excludes_it_of_rows_by_number(host, data, given, said):
    assert said in host.run("number_errors", data[0], {"image_device": "cuda"} | given, fakenvjpeg_pictures=data[1]).answer


def test_data_sets_have_no_device(data):
    for make in (shardfeed.MapDataset, shardfeed.StreamingDataset):
        with pytest.raises(TypeError, match=r"no argument 'image_device': it belongs to shardfeed.torch.DataLoader"):
            make(data[0], image_device="cuda")


def test_functions_exclude_it(host, data):
    assert "functions of map and collate_fn" in host.run("functions", data[0], fakenvjpeg_pictures=data[1]).answer["text"]
