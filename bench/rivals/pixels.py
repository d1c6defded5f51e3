#!/usr/bin/env python3
"""pixels.py DIR DO WHO COUNT: processor time of images, one thread.

DO is decode, uint8 or float32, WHO a library. The files of DIR are read first. uint8 and float32 are
RandomResizedCrop(224) and a flip, float32 with ImageNet's mean and deviation.
"""

import io
import itertools
import os
import pathlib
import random
import sys

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np

import measure

SIZE, MEAN, STD = 224, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def simplejpeg(do):
    """libjpeg-turbo, as directly as Python can call it."""
    from simplejpeg import decode_jpeg

    return decode_jpeg


def opencv(do):
    import cv2

    cv2.setNumThreads(1)
    return lambda data: cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)


def torchvision(do):
    """torchvision.io and tensors."""
    import torch
    from torchvision.io import decode_jpeg

    torch.set_num_threads(1)
    change = _torchvision(do)
    return lambda data: change(decode_jpeg(torch.frombuffer(bytearray(data), dtype=torch.uint8)))


def pil(do):
    """torchvision's transforms on Pillow's images, as most training scripts have them."""
    import torch
    from PIL import Image
    from torchvision.transforms import v2

    torch.set_num_threads(1)
    change = _torchvision(do, v2.PILToTensor())
    return lambda data: change(Image.open(io.BytesIO(data)).convert("RGB"))


def _torchvision(do, *tensor):
    import torch
    from torchvision.transforms import v2

    if do == "decode":
        return (lambda image: image) if not tensor else np.asarray
    floats = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)] if do == "float32" else []
    return v2.Compose([v2.RandomResizedCrop(SIZE, antialias=True), v2.RandomHorizontalFlip(), *tensor, *floats])


def albumentations(do):
    import albumentations as a
    from albumentations.pytorch import ToTensorV2

    decode = opencv(do)
    floats = [a.Normalize(MEAN, STD)] if do == "float32" else []
    change = a.Compose([a.RandomResizedCrop(size=(SIZE, SIZE)), a.HorizontalFlip(p=0.5), *floats, ToTensorV2()], seed=1)
    return lambda data: change(image=decode(data))["image"]


def ffcv(do):
    """FFCV's way: all of it decoded, OpenCV's area filter into given memory, a table for the values."""
    import cv2

    cv2.setNumThreads(1)
    decode, chance = simplejpeg(do), random.Random(1)
    small = np.empty((SIZE, SIZE, 3), np.uint8)
    table = np.stack([(np.arange(256, dtype=np.float32) / 255 - m) / s for m, s in zip(MEAN, STD)])

    def change(data):
        image = decode(data)
        x, y, w, h = box(chance, image.shape[1], image.shape[0])
        out = cv2.resize(image[y : y + h, x : x + w], (SIZE, SIZE), dst=small, interpolation=cv2.INTER_AREA)
        if chance.random() < 0.5:
            out = cv2.flip(out, 1)
        return np.stack([table[c][out[:, :, c]] for c in range(3)]) if do == "float32" else out

    return change


def spdl(do):
    """SPDL: FFmpeg decodes, crops, scales and flips."""
    import spdl.io
    from PIL import Image

    chance = random.Random(1)
    mean, std = (np.array(v, np.float32)[:, None, None] for v in (MEAN, STD))

    def change(data):
        what = "format=pix_fmts=rgb24"
        if do != "decode":
            x, y, w, h = box(chance, *Image.open(io.BytesIO(data)).size)
            flip = ",hflip" if chance.random() < 0.5 else ""
            what = f"crop={w}:{h}:{x}:{y}:exact=1,scale={SIZE}:{SIZE}:flags=bilinear{flip},{what}"
        image = spdl.io.to_numpy(spdl.io.load_image(data, filter_desc=what))
        return (image.transpose(2, 0, 1).astype(np.float32) * np.float32(1 / 255) - mean) / std if do == "float32" else image

    return change


def box(chance, width, height):
    """RandomResizedCrop's."""
    for _ in range(10):
        area, ratio = width * height * chance.uniform(0.08, 1), np.exp(chance.uniform(np.log(3 / 4), np.log(4 / 3)))
        w, h = round((area * ratio) ** 0.5), round((area / ratio) ** 0.5)
        if 0 < w <= width and 0 < h <= height:
            return chance.randint(0, width - w), chance.randint(0, height - h), w, h
    return 0, 0, width, height


def each(files, change, count):
    for data in itertools.islice(itertools.cycle(files), count):
        change(data)
        yield 1, 1


directory, do, who, count = sys.argv[1:]
files = [path.read_bytes() for path in sorted(pathlib.Path(directory).iterdir())]
change = globals()[who](do)
for data in files:  # libraries are ready afterwards
    change(data)
measure.run(who, each(files, change, int(count)))
