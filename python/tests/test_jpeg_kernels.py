"""The kernels that make images on a GPU: they compile, and on a CPU they give torch's pixels.

images/kernel_test.go compares them with the engine's pixels.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from shardfeed import Image  # noqa: E402
from shardfeed.torch._jpeg import _cubins, _kernels, _libraries, _rows  # noqa: E402
from shardfeed.torch._jpeg._libraries import Missing  # noqa: E402
from shardfeed.torch._jpeg._rows import Format  # noqa: E402

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize("capability", [(8, 0), (9, 0)])
def test_kernels_compile(capability):
    try:
        _libraries.nvrtc()
    except Missing as e:
        pytest.skip(str(e))
    assert _cubins.compiled(_kernels.text(), *capability).startswith(b"\x7fELF")


def test_a_gpu_that_the_compiler_does_not_know():
    with pytest.raises(Missing, match=r"there is no NVRTC|compute capability 2\.0: .*architecture"):
        _cubins.compiled(_kernels.text(), 2, 0)


def test_no_library(monkeypatch):
    monkeypatch.setenv("SHARDFEED_LIBNVJPEG", "/nowhere/libnvjpeg.so")
    _libraries.nvjpeg.cache_clear()
    with pytest.raises(Missing, match=r"cannot load the library that SHARDFEED_LIBNVJPEG names, /nowhere/libnvjpeg\.so"):
        _libraries.nvjpeg()


@pytest.fixture(scope="module")
def cpu(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if shutil.which("cc") is None:
        pytest.skip("there is no cc")
    built = tmp_path_factory.mktemp("kernels") / "kernels.so"
    text = Path(_kernels.__file__).parent / "kernel.cu"
    flags = ["-O2", "-ffp-contract=off", "-shared", "-fPIC", f'-DKERNEL_TEXT="{text}"']
    subprocess.run(["cc", *flags, HERE / "fakecudart" / "kernels.c", "-o", built, "-lm"], check=True)
    return ctypes.CDLL(str(built))


def run(cpu: ctypes.CDLL, name: str, grid: tuple[int, ...], block: tuple[int, ...], *arguments: object) -> None:
    pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(a) for a in arguments))  # type: ignore[arg-type]
    cpu.kernel_run(cpu.kernel_number(name.encode()), (ctypes.c_uint * 3)(*grid), (ctypes.c_uint * 3)(*block), pointers)


def address(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.mark.parametrize("cubic", [False, True])
@pytest.mark.parametrize("box", [(0, 0, 61, 47), (7, 3, 40, 45), (20, 20, 24, 25)])
def test_pixels_are_those_of_torch(cpu, box, cubic):
    """torchvision's resized_crop is torch's interpolate with antialias."""
    pixels = torch.randint(0, 256, (3, 47, 61), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    pixels = torch.nn.functional.avg_pool2d(pixels.float(), 5, 1, 2).round().to(torch.uint8)
    form = Format(20, 24, cubic=cubic)
    pitches, planes, size = _rows.decoded(np.array([61]), np.array([47]))
    decoded = np.zeros(int(size[0]), np.uint8)
    decoded[: 3 * int(planes[0])].reshape(3, 47, int(pitches[0]))[:, :, :61] = pixels.numpy()
    row = np.zeros((1, _rows.NUMBERS), np.int32)
    row[0, :10] = _rows.ENCODED, 61, 47, 1, *box, 24, 20
    out, table = np.zeros((3, 20, 24), np.uint8), form.elements()
    none = ctypes.c_void_p()
    run(cpu, "crop", (1, 1, 3), (32, 8, 1), address(row), address(decoded), address(out), none, none, address(table), form.numbers)
    x0, y0, x1, y1 = box
    mode = "bicubic" if cubic else "bilinear"
    want = torch.nn.functional.interpolate(pixels[None, :, y0:y1, x0:x1], (20, 24), mode=mode, antialias=True)[0]
    assert (want.int() - torch.from_numpy(out).int()).abs().max() <= 1


def test_finished_rows_and_lost_ones(cpu):
    rows = np.zeros((3, _rows.NUMBERS), np.int32)
    rows[:, _rows.KIND] = _rows.FINISHED, _rows.LOST, _rows.FINISHED
    _rows.set_places(rows, np.array([0, 2]), np.array([5, 12]))
    finished, out = np.arange(100, dtype=np.uint8), np.full((3, 7), 255, np.uint8)
    run(cpu, "place", (3, 1, 1), (4, 1, 1), address(rows), address(finished), address(out), ctypes.c_longlong(7))
    assert out.tolist() == [list(range(5, 12)), [0] * 7, list(range(12, 19))]


def test_places_of_large_batches():
    rows = np.zeros((2, _rows.NUMBERS), np.int32)
    places = np.array([3, (7 << 32) + 0xFFFFFFFE])
    _rows.set_places(rows, np.array([0, 1]), places)
    assert rows[:, _rows.PLACE : _rows.PLACE + 2].copy().view(np.int64)[:, 0].tolist() == places.tolist()


def test_elements():
    image = Image.imagenet_train(size=(8, 9), dtype="float16", layout="HWC", color_jitter=0.4)
    form = Format.of(image.spec())
    assert (form.shape, form.bytes, form.jitter) == ((8, 9, 3), 2 * 8 * 9 * 3, True)
    want = ((torch.tensor(200.0) / 255 - 0.456) / 0.224).half()
    assert torch.from_numpy(form.elements()).to(torch.int16).view(torch.float16)[1, 200] == want
    assert Format.of(Image(8).spec()).elements()[2].tolist() == list(range(256))
