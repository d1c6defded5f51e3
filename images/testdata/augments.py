"""Makes augments.zip: a picture, and what torchvision's functions make of it; and the draws of
torchvision's transforms with the numbers of our streams.

python augments.py DIRECTORY

It needs pillow, numpy, torch and torchvision. cases.json lists the operations; case i is i.png.
draws.json lists the operations that torchvision's transforms choose for seeds.
"""

import io
import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from streams import Stream
from torchvision.transforms import v2
from torchvision.transforms.v2 import _augment, _auto_augment, _misc, _transform
from torchvision.transforms.v2 import functional as F

W, H = 41, 30
out = zipfile.ZipFile(Path(sys.argv[1]) / "augments.zip", "w", zipfile.ZIP_DEFLATED)
rng = np.random.default_rng(5)


def add(name, data):
    out.writestr(zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def png(t):
    f = io.BytesIO()
    Image.fromarray(t.permute(1, 2, 0).contiguous().numpy()).save(f, "PNG")
    return f.getvalue()


y, x = np.mgrid[0:H, 0:W].astype(np.float64)
smooth = np.stack([128 + 100 * np.sin(x / (9 + 3 * c)) * np.cos(y / (11 - c) + 1) for c in range(3)], -1)
smooth[H // 3 : H // 2, W // 4 : W // 2] = (250, 3, 120)
smooth += rng.normal(0, 3, smooth.shape)
picture = torch.from_numpy(smooth.clip(4, 251).astype(np.uint8)).permute(2, 0, 1).contiguous()
add("picture.png", png(picture))

cases = []


def case(result, kind, value=0.0, **more):
    add(f"{len(cases)}.png", png(result))
    cases.append({"kind": kind, "value": value, **more})


def moved(kind, value, bilinear=False, fill=(0, 0, 0)):
    how = "bilinear" if bilinear else "nearest"
    fills = list(fill) if any(fill) else None
    base = v2.RandAugment(interpolation=how, fill=fills)
    got = base._apply_image_or_video_transform(picture, kind, value, how, base._fill)
    case(got, kind, float(int(value)) if kind.startswith("Translate") else value, bilinear=bilinear, fill=fill)


for bilinear in False, True:
    for fill in (0, 0, 0), (124, 116, 104):
        for m in 0.09, -0.3, 0.99:
            moved("ShearX", m, bilinear, fill)
            moved("ShearY", m, bilinear, fill)
        for m in 9.1, -30.7:
            moved("TranslateX", m, bilinear, fill)
            moved("TranslateY", m, bilinear, fill)
        for m in 9.0, -30.0, 90.0, 135.0, -67.5:
            moved("Rotate", m, bilinear, fill)
for f in 0.1, 0.73, 1.0, 1.27, 1.9:
    case(F.adjust_brightness(picture, f), "Brightness", f)
    case(F.adjust_saturation(picture, f), "Color", f)
    case(F.adjust_contrast(picture, f), "Contrast", f)
    case(F.adjust_sharpness(picture, f), "Sharpness", f)
for f in -0.5, 0.1, 0.37:
    case(F.adjust_hue(picture, f), "Hue", f)
for bits in 0, 1, 4, 7, 8:
    case(F.posterize(picture, bits), "Posterize", bits)
for share in torch.linspace(1.0, 0.0, 31)[[0, 9, 24, 30]].tolist():
    case(F.solarize(picture, 255 * share), "Solarize", 255 * share)
case(F.solarize(picture, 128), "Solarize", 128)
case(F.autocontrast(picture), "AutoContrast")
case(F.equalize(picture), "Equalize")
case(F.invert(picture), "Invert")
case(F.rgb_to_grayscale(picture, 3), "Grayscale")
for kernel, sigma in ((3, 3), 0.8), ((23, 23), 0.1), ((23, 23), 2.0), ((9, 5), 1.3), ((45, 45), 30.0), ((1, 7), 1.0):
    case(F.gaussian_blur(picture, list(kernel), [sigma, sigma]), "Blur", sigma, kernel=kernel)
case(
    F.erase(picture, 7, 11, 20, 30, torch.tensor([1, 2, 3], dtype=torch.uint8)[:, None, None]),
    "Erase",
    rect=(11, 7, 41, 27),
    fill=(1, 2, 3),
)
add("cases.json", json.dumps(cases))


class Torch:
    """torch with the random numbers of a stream."""

    def __init__(self, stream):
        self.stream = stream

    def __getattr__(self, name):
        return getattr(torch, name)

    def rand(self, *_):
        return torch.tensor(self.stream.uniform(0, 1), dtype=torch.float64)

    def randint(self, low, high, size=None):
        low, high = (0, low) if size is None else (low, high)
        return torch.tensor(low + self.stream.below(high - low))

    def empty(self, _):
        stream = self.stream

        class Empty:
            def uniform_(self, low, high):
                return torch.tensor(stream.uniform(float(low), float(high)), dtype=torch.float64)

        return Empty()


def drawn(transform, number, seed):
    """The operations that a transform chooses with a stream."""
    ops = []
    for module in _auto_augment, _augment, _misc, _transform:
        module.torch = Torch(Stream(seed, number))
    if isinstance(transform, _auto_augment._AutoAugmentBase):

        def note(image, name, magnitude, **_):
            values = {"Brightness": 1 + magnitude, "Posterize": int(magnitude), "Solarize": 255 * magnitude}
            values |= {"Color": 1 + magnitude, "Contrast": 1 + magnitude, "Sharpness": 1 + magnitude}
            values |= {"TranslateX": int(magnitude), "TranslateY": int(magnitude)}
            if name != "Identity":
                ops.append({"kind": name, "value": values.get(name, magnitude)})
            return image

        transform._apply_image_or_video_transform = note
        transform(picture)
    elif _transform.torch.rand(1) < transform.p:
        transform._log_ratio = torch.log(torch.tensor(transform.ratio, dtype=torch.float64))
        _augment.torch = _transform.torch
        p = transform.make_params([picture])
        if p["v"] is not None:
            rect = (p["j"], p["i"], p["j"] + p["w"], p["i"] + p["h"])
            ops.append({"kind": "Erase", "rect": rect, "fill": [int(v) for v in p["v"].flatten().tolist()]})
    return ops


EACH = 40
transforms = {
    "rand_augment": (lambda: v2.RandAugment(), {}, 256),
    "rand_augment_more": (lambda: v2.RandAugment(5, 13, 20), {"num_ops": 5, "magnitude": 13, "num_magnitude_bins": 20}, 256),
    "auto_augment": (lambda: v2.AutoAugment(), {}, 512),
    "trivial_augment_wide": (lambda: v2.TrivialAugmentWide(), {}, 768),
    "random_erasing": (
        lambda: v2.RandomErasing(0.8, (0.1, 0.9), (0.2, 4.0), (9, 8, 7)),
        {"p": 0.8, "scale": [0.1, 0.9], "ratio": [0.2, 4.0], "value": [9, 8, 7]},
        2048,
    ),
}
draws = []
for name, (make, fields, number) in transforms.items():
    step = {"step": name.removesuffix("_more"), **fields}
    draws += [{"step": [step], "seed": seed, "ops": drawn(make(), number, seed)} for seed in range(EACH)]
add("draws.json", json.dumps({"width": W, "height": H, "draws": draws}))
out.close()
