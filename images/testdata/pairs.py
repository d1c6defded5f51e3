"""Makes pairs.zip: a picture, its masks and boxes, and torchvision's results for tv_tensors.

python pairs.py DIRECTORY

It needs pillow, numpy, torch and torchvision. cases.json lists the cases; the mask NAME of case
i is i/NAME.png.
"""

import io
import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from streams import Stream, crop
from torchvision import tv_tensors
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2 import functional as F

W, H = 67, 45
out = zipfile.ZipFile(Path(sys.argv[1]) / "pairs.zip", "w", zipfile.ZIP_DEFLATED)
rng = np.random.default_rng(3)


def add(name, data):
    out.writestr(zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def png(a, palette=None):
    im = Image.fromarray(a)
    if palette is not None:
        im = Image.fromarray(a, "P")
        im.putpalette(palette)
    f = io.BytesIO()
    im.save(f, "PNG")
    return f.getvalue()


rgb = rng.integers(0, 256, (H, W, 3), np.uint8)
labels = rng.integers(0, 256, (H, W), np.uint8)
few = rng.integers(0, 5, (H, W), np.uint8)
depth = rng.integers(0, 65536, (H, W), np.uint16)
masks = {"gray": labels, "palette": labels, "palette4": few, "deep": depth}
add("image.png", png(rgb))
add("gray.png", png(labels))
add("palette.png", png(labels, rng.integers(0, 256, 768, np.uint8).tobytes()))
add("palette4.png", png(few, rng.integers(0, 256, 15, np.uint8).tobytes()))
add("deep.png", png(depth))

boxes = []
for _ in range(12):
    x, y = np.sort(rng.uniform(0, W, 2)), np.sort(rng.uniform(0, H, 2))
    boxes.append([x[0], y[0], x[1], y[1]])
boxes = np.float32(boxes).astype(np.float64)
points = np.float32(rng.uniform((0, 0), (W, H), (12, 2))).astype(np.float64)
formats = {"xyxy": "XYXY", "xywh": "XYWH", "cxcywh": "CXCYWH"}


def tensors():
    """The picture, the masks and the boxes, as tv_tensors."""
    all = {"image": tv_tensors.Image(torch.from_numpy(rgb).permute(2, 0, 1).contiguous())}
    for name, a in masks.items():
        all[name] = tv_tensors.Mask(torch.from_numpy(a.astype(np.int32))[None])
    for name, kind in formats.items():
        given = torch.from_numpy(in_format(boxes, name).astype(np.float32))
        all[name] = tv_tensors.BoundingBoxes(given, format=kind, canvas_size=(H, W))
    all["xy"] = tv_tensors.KeyPoints(torch.from_numpy(points.astype(np.float32)), canvas_size=(H, W))
    return all


def in_format(b, name):
    x0, y0, x1, y1 = b.T
    return np.stack(
        {"xyxy": [x0, y0, x1, y1], "xywh": [x0, y0, x1 - x0, y1 - y0], "cxcywh": [(x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0]}[name], 1
    )


def random_resized(seed, height, width):
    left, top, w, h = crop(Stream(seed, 1), W, H, (0.08, 1.0), (3 / 4, 4 / 3))
    flip = Stream(seed, 2).uniform(0, 1) < 0.5

    def change(t):
        t = F.resized_crop(t, top, left, h, w, [height, width])
        return F.horizontal_flip(t) if flip else t

    return change, {"crop": "random_resized", "flip": 0.5, "size": [height, width]}, (left, top, left + w, top + h), flip


def center(height, width, resize):
    def change(t):
        return F.center_crop(F.resize(t, [resize]), [height, width])

    return change, {"crop": "center", "resize": resize, "size": [height, width]}, None, False


def squeezed(height, width):
    return (lambda t: F.resize(t, [height, width])), {"size": [height, width]}, (0, 0, W, H), False


def letterbox(height, width):
    """The picture in the middle, as ultralytics rounds it."""
    r = min(height / H, width / W)
    w, h = round(W * r), round(H * r)
    left, top = round((width - w) / 2 - 0.1), round((height - h) / 2 - 0.1)

    def change(t):
        fill = 255 if isinstance(t, tv_tensors.Mask) else 114
        return F.pad(F.resize(t, [h, w]), [left, top, width - w - left, height - h - top], fill=fill)

    return change, {"crop": "letterbox", "size": [height, width], "fill": [114] * 3}, None, False


def scale_jitter(seed, height, width):
    """ScaleJitter, and FixedSizeCrop of the references for detection."""
    r = Stream(seed, 1)
    factor = min(height / H, width / W) * r.uniform(0.1, 2.0)
    w, h = max(1, int(W * factor)), max(1, int(H * factor))
    part = r.uniform(0, 1)
    left, top = int(max(0, w - width) * part), int(max(0, h - height) * part)
    flip = Stream(seed, 2).uniform(0, 1) < 0.5

    def change(t):
        fill = 255 if isinstance(t, tv_tensors.Mask) else 114
        t = F.crop(F.resize(t, [h, w]), top, left, min(h, height), min(w, width))
        t = F.pad(t, [0, 0, max(0, width - w), max(0, height - h)], fill=fill)
        return F.horizontal_flip(t) if flip else t

    return change, {"crop": "scale_jitter", "flip": 0.5, "size": [height, width], "fill": [114] * 3}, None, False


cases = []
todo = [random_resized(seed, 24, 20) for seed in range(8)]
todo += [center(20, 24, 31), squeezed(20, 33), squeezed(90, 134), letterbox(64, 64), letterbox(40, 90), letterbox(33, 20)]
todo += [scale_jitter(seed, 40, 50) for seed in range(20, 28)]
seeds = [*range(8), *[0] * 6, *range(20, 28)]
for i, (change, options, box, flip) in enumerate(todo):
    got = {name: change(t) for name, t in tensors().items()}
    exact = {}
    if box is not None:
        cut = F.crop(tensors()["gray"], box[1], box[0], box[3] - box[1], box[2] - box[0])
        exact = F.resize(cut, options["size"], InterpolationMode.NEAREST_EXACT)
        exact = F.horizontal_flip(exact) if flip else exact
        add(f"{i}/exact.png", png(exact[0].numpy().astype(np.uint8)))
    for name in masks:
        a = got[name][0].numpy()
        add(f"{i}/{name}.png", png(a.astype(np.uint16 if name == "deep" else np.uint8)))
    add(f"{i}/image.png", png(got["image"].permute(1, 2, 0).contiguous().numpy()))
    case = {"seed": seeds[i], "options": options}
    for name in [*formats, "xy"]:
        t = got[name]
        case[name] = t.tolist()
        if name == "xy":
            case["xy_clipped"] = F.clamp_keypoints(t).tolist()
            continue
        clipped = F.clamp_bounding_boxes(t)
        case[name + "_clipped"] = clipped.tolist()
        if name == "xyxy":
            case["kept"] = [bool(w >= 3 and h >= 3) for w, h in (clipped[:, 2:] - clipped[:, :2]).tolist()]
    cases.append(case)
given = {name: in_format(boxes, name).astype(np.float32).tolist() for name in formats} | {"xy": points.astype(np.float32).tolist()}
add("cases.json", json.dumps({"given": given, "cases": cases}))
out.close()
