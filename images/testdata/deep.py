"""Makes deep.zip: pictures of 16 bits of several writers, and what their readers and torch make of them.

python deep.py DIRECTORY

It needs numpy, opencv-python-headless, pypng, tifffile, imagecodecs, torch and torchvision. want/NAME is the
samples of NAME as its writer's library reads them, little-endian; cases.json lists the results of
scaled.png, whose samples are case/NUMBER, rounded from torch's floats.
"""

import io
import json
import sys
import zipfile
from pathlib import Path

import cv2
import numpy as np
import png
import tifffile
import torch
from streams import Stream, crop
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2 import functional as F

W, H = 41, 29
out = zipfile.ZipFile(Path(sys.argv[1]) / "deep.zip", "w", zipfile.ZIP_DEFLATED)


def add(name, data):
    out.writestr(zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def picture(channels, seed=1):
    """Smooth, with edges that make filters overshoot, and lower bytes that matter."""
    y, x = np.mgrid[0:H, 0:W].astype(np.float64)
    a = np.stack([32768 + 32767 * np.sin(x / (5 + 3 * c) + c) * np.cos(y / (7 - c) + seed) for c in range(channels)], -1)
    a[H // 3 : H // 2 + 1, W // 4 : W // 2 + 1] = [65535, 0, 40, 9999][:channels]
    return a.clip(0, 65535).astype(np.uint16)


def both(name, data, want):
    add(name, data)
    add(f"want/{name}", np.ascontiguousarray(want).astype("<u2").tobytes())


def opencv(name, a):
    """A file of OpenCV, whose channels are in the order BGR."""
    order = {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[a.shape[-1]]
    ok, data = cv2.imencode(Path(name).suffix, np.ascontiguousarray(a[..., order]))
    assert ok
    back = cv2.imdecode(data, cv2.IMREAD_UNCHANGED).reshape(a.shape)[..., order]
    both(name, data.tobytes(), back)


def pypng(name, a, **options):
    f = io.BytesIO()
    png.Writer(W, H, bitdepth=16, greyscale=a.shape[-1] < 3, alpha=a.shape[-1] in (2, 4), **options).write(f, a.reshape(H, -1))
    w, h, rows, info = png.Reader(bytes=f.getvalue()).asDirect()
    both(name, f.getvalue(), np.vstack([np.uint16(row) for row in rows]).reshape(h, w, info["planes"]))


def tiff(name, a, **options):
    f = io.BytesIO()
    a = a[..., 0] if a.shape[-1] == 1 else a
    tifffile.imwrite(f, a, photometric="minisblack" if a.ndim == 2 else "rgb", **options)
    both(name, f.getvalue(), tifffile.imread(io.BytesIO(f.getvalue())))


gray, pair, rgb, rgba = (picture(n) for n in (1, 2, 3, 4))
opencv("cv2-gray.png", gray)
opencv("cv2-rgb.png", rgb)
opencv("cv2-rgba.png", rgba)
opencv("cv2-gray.tiff", gray)
opencv("cv2-rgb.tiff", rgb)
pypng("pypng-gray.png", gray)
pypng("pypng-gray-alpha.png", pair)
pypng("pypng-rgb.png", rgb, interlace=True)
pypng("pypng-rgba.png", rgba, interlace=True)
pypng("pypng-rgb-transparent.png", rgb, transparent=tuple(int(v) for v in rgb[0, 0]))
pypng("pypng-gray-transparent.png", gray, transparent=int(gray[0, 0, 0]))
for order, end in {"<": "little", ">": "big"}.items():
    for kind, a in {"gray": gray, "rgb": rgb, "rgba": rgba}.items():
        extra = {"extrasamples": ["unassalpha"]} if kind == "rgba" else {}
        tiff(f"tifffile-{kind}-{end}.tiff", a, byteorder=order, **extra)
        tiff(f"tifffile-{kind}-{end}-tiles.tiff", a, byteorder=order, tile=(32, 16), compression="zlib", **extra)
        tiff(f"tifffile-{kind}-{end}-lzw.tiff", a, byteorder=order, rowsperstrip=7, compression="lzw", predictor=True, **extra)
tiff("tifffile-rgb-packbits.tiff", rgb, compression="packbits", rowsperstrip=1)
tiff("tifffile-rgba-associated.tiff", rgba, extrasamples=["assocalpha"])


def random_resized(seed, height, width, how):
    left, top, w, h = crop(Stream(seed, 1), W, H, (0.08, 1.0), (3 / 4, 4 / 3))
    flip = Stream(seed, 2).uniform(0, 1) < 0.5

    def change(t):
        t = F.resized_crop(t, top, left, h, w, [height, width], how)
        return F.horizontal_flip(t) if flip else t

    return change, {"crop": "random_resized", "flip": 0.5, "size": [height, width]}


def letterbox(height, width, how, fill):
    r = min(height / H, width / W)
    w, h = round(W * r), round(H * r)
    left, top = round((width - w) / 2 - 0.1), round((height - h) / 2 - 0.1)

    def change(t):
        t, around = F.resize(t, [h, w], how), [left, top, width - w - left, height - h - top]
        return torch.cat([F.pad(t[:3], around, fill=fill / 65535), F.pad(t[3:], around, fill=1.0)])

    return change, {"crop": "letterbox", "size": [height, width], "fill": [fill] * 3}


scaled = picture(4, 5)
opencv("scaled.png", scaled)
whole = torch.from_numpy(scaled.astype(np.float64) / 65535).permute(2, 0, 1)
names = {"bilinear": InterpolationMode.BILINEAR, "bicubic": InterpolationMode.BICUBIC, "nearest": InterpolationMode.NEAREST}
cases = []
for name, how in {**names, "nearest-exact": InterpolationMode.NEAREST_EXACT}.items():
    todo = [(seed, *random_resized(seed, 24, 20, how)) for seed in range(4)]
    todo += [(seed, *random_resized(seed, 50, 61, how)) for seed in range(4, 6)]
    todo += [(0, (lambda t, how=how: F.resize(t, [9, 11], how)), {"size": [9, 11]})]
    todo += [(0, (lambda t, how=how: F.center_crop(F.resize(t, [26], how), [20, 24])), {"crop": "center", "resize": 26, "size": [20, 24]})]
    todo += [(0, (lambda t: t), {"size": [H, W]})]
    todo += [(0, *letterbox(40, 90, how, 13107)), (0, *letterbox(64, 30, how, 65535))]
    for seed, change, options in todo:
        samples = (65535 * change(whole).clamp(0, 1)).round().contiguous().numpy()
        add(f"case/{len(cases)}", samples.astype("<u2").tobytes())
        cases.append({"seed": seed, "options": {**options, "interpolation": name}})
add("cases.json", json.dumps(cases))
out.close()
