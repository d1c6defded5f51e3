"""SPDL: its pipeline of two threads decodes, crops, resizes and flips with FFmpeg's libraries, which the wheel of av has."""

import importlib.util
import math
import os
import pathlib
import re
import sys

import numpy as np
import spdl.io
import torch
from image_rows import files
from image_transforms import MEAN, SIZE, STD
from spdl.pipeline import PipelineBuilder

LINKED = "SHARDFEED_BENCH_FFMPEG"  # the directory of links


def batches(task):
    mean, std = (torch.tensor(v)[:, None, None] for v in (MEAN, STD))

    def decode(row):
        data, number = row
        packets = spdl.io.demux_image(data)
        random = np.random.default_rng([task.seed, number])
        return spdl.io.decode_packets(packets, filter_desc=drawn(random, packets.width, packets.height)), number

    def collate(rows):
        pixels = spdl.io.to_torch(spdl.io.convert_frames([frames for frames, _ in rows])).permute(0, 3, 1, 2)
        if task.pixels == "float32":
            pixels = (pixels.float() / 255 - mean) / std
        return {"img_jpg": pixels, "id": torch.tensor([number for _, number in rows])}

    steps = PipelineBuilder().add_source(files(task, task.files)).pipe(decode, concurrency=task.workers)
    pipeline = steps.aggregate(task.batch).pipe(collate).add_sink(2).build(num_threads=task.workers)
    with pipeline.auto_stop():
        yield from pipeline


def drawn(random, width, height):
    """RandomResizedCrop and a flip as filters of FFmpeg, which resizes with antialiasing."""
    x, y, w, h = box(random, width, height)
    flip = "hflip," if random.random() < 0.5 else ""
    return f"crop={w}:{h}:{x}:{y}:exact=1,scale={SIZE}:{SIZE}:flags=bilinear,{flip}format=rgb24"


def box(random, width, height):
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.integers(width - w + 1), random.integers(height - h + 1), w, h
    return 0, 0, width, height


def restart():
    """The loader finds av's libraries, whose names end with hashes, by links that are there when a process starts."""
    libraries = pathlib.Path(importlib.util.find_spec("av").submodule_search_locations[0]).parent / "av.libs"
    links = pathlib.Path(os.environ["SHARDFEED_CACHE_DIR"], "ffmpeg")  # the run's own
    links.mkdir(parents=True, exist_ok=True)
    for path in libraries.glob("lib*"):
        if plain := re.fullmatch(r"(lib(?:av|sw)\w+)-[0-9a-f]+(\.so\.\d+)\..*", path.name):
            (links / "".join(plain.groups())).symlink_to(path)
    environment = os.environ | {LINKED: str(links), "LD_LIBRARY_PATH": f"{links}:{libraries}"}
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)


if LINKED not in os.environ:
    restart()
