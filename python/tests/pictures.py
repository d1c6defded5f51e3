"""Pictures for tests: drawn here, encoded by Pillow, and what Pillow makes of them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image


def drawn(seed: int, width: int, height: int) -> Image.Image:
    """Smooth areas and an edge, in colors of its own."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    rng = np.random.default_rng(seed)
    phases = rng.uniform(0, 6, 3)
    a = np.stack([128 + 100 * np.sin(x / (9 + 3 * c) + phases[c]) * np.cos(y / (11 - c) + seed) for c in range(3)], -1)
    a[height // 3 : height // 2 + 1, width // 4 : width // 2 + 1] = rng.integers(0, 256, 3)
    return Image.fromarray(a.clip(0, 255).astype(np.uint8))


def encoded(picture: Image.Image, kind: str = "JPEG") -> bytes:
    file = io.BytesIO()
    if kind == "JPEG":
        picture.save(file, "JPEG", quality=92)
    elif kind == "PNG":
        picture.save(file, "PNG")
    else:
        picture.save(file, "WEBP", lossless=True)
    return file.getvalue()


def damaged(file: bytes) -> bytes:
    """A JPEG of the same length and header, with codes in the middle that no JPEG has."""
    middle = len(file) * 3 // 4
    return file[:middle] + b"\xff\x00" * 8 + file[middle + 16 :]


def decoded(file: bytes) -> Image.Image:
    return Image.open(io.BytesIO(file)).convert("RGB")


def many(n: int, kinds: Sequence[str] = ("JPEG", "PNG", "WEBP")) -> list[bytes]:
    """Files of different sizes and formats."""
    rng = np.random.default_rng(7)
    return [encoded(drawn(i, *(int(s) for s in rng.integers(40, 160, 2))), kinds[i % len(kinds)]) for i in range(n)]


def write(directory: Path, files: Sequence[bytes | None], shards: int = 2, row_group: int = 8, name: str = "img") -> Path:
    """Shards with the columns id, name and label, which is id % 3."""
    directory.mkdir(parents=True, exist_ok=True)
    each = -(-len(files) // shards)
    for k in range(shards):
        part = range(k * each, min(len(files), (k + 1) * each))
        table = pa.table(
            {
                "id": pa.array(part, pa.int64()),
                name: pa.array([files[i] for i in part], pa.binary()),
                "label": pa.array([i % 3 for i in part], pa.int64()),
            }
        )
        pq.write_table(table, directory / f"part-{k}.parquet", row_group_size=row_group)
    return directory


def resized(picture: Image.Image, height: int, width: int, filter: Image.Resampling = Image.Resampling.BILINEAR) -> np.ndarray:
    return np.asarray(picture.resize((width, height), filter))


def centered(picture: Image.Image, resize: int, size: int) -> np.ndarray:
    """torchvision's Resize(resize) and CenterCrop(size)."""
    width, height = picture.size
    short, long = sorted((width, height))
    sides = (resize, resize * long // short)
    height, width = sides if height <= width else sides[::-1]
    a = resized(picture, height, width)
    top, left = round((height - size) / 2), round((width - size) / 2)
    return a[top : top + size, left : left + size]
