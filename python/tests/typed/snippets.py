"""What type checkers see of the package. Lines that end in "# error" must be refused, all others accepted.

Mypy does not look into torch here, and accepts the line of pyright. This file is never run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from typing_extensions import assert_type

import shardfeed
import shardfeed.torch as sf

# What iterating yields

arrays = shardfeed.StreamingDataset("s3://bucket/table", batch_size=8, columns=["id"], tail="pad", memory="4GiB")
for batch in arrays:
    assert_type(batch, shardfeed.Batch)
    assert_type(batch.rows, int)
    assert_type(batch.state, dict[str, Any])
    assert_type(batch.valid("id"), np.ndarray)
    print(batch.row)  # error
for row in shardfeed.StreamingDataset(Path("table"), batch_size=None):
    assert_type(row, dict[str, Any])

loader = sf.DataLoader(["a.parquet", "b.parquet"], batch_size=8, device="auto", num_workers=2, seed=3)
for tensors in loader:
    assert_type(tensors, sf.Batch)
    assert_type(tensors.rows, int)
    tensors["id"].float()
assert_type(loader.schema, shardfeed.Schema)
assert_type(loader.size, int)
assert_type(loader.batch_size, "int | None")
for row in sf.DataLoader("table", batch_size=None):
    assert_type(row, dict[str, Any])
with sf.DataLoader("table", batch_size=8) as opened:
    assert_type(opened, sf.DataLoader[sf.Batch])


def rows_of(batch: sf.Batch) -> int:
    return batch.rows


def drawn(batch: sf.Batch, generator: torch.Generator) -> str:
    return str(batch.rows)


for number in sf.DataLoader("table", batch_size=8, collate_fn=rows_of):
    assert_type(number, int)
for number in loader.map(rows_of):
    assert_type(number, int)
for text in loader.map(drawn, random=True):
    assert_type(text, str)
for text in loader.map(rows_of).map(str):
    assert_type(text, str)
for number in sf.DataLoader(sf.StreamingDataset("table", batch_size=8).map(rows_of), device="cuda"):
    assert_type(number, int)
for tensors in sf.StreamingDataset("table", batch_size=8).with_valid("id"):
    assert_type(tensors, sf.Batch)
for size in arrays.map(len):
    assert_type(size, int)


def train(data: sf.DataLoader, validation: sf.StreamingDataset) -> None:
    """Both may stand without what they yield."""


train(loader, sf.StreamingDataset("table", batch_size=8))

stacked = sf.StreamingDataset(
    "table",
    batch_size=8,
    stack={"x": ["num_*"], "y": {"columns": ["a"], "dtype": torch.bfloat16, "keep": True}},
    cast={"a": "int32"},
    hash={"user": 1000},
    scale={"price": (1, 2.5)},
)
assert_type(stacked.schema["x"].features, tuple[str, ...])
shardfeed.MapDataset("table", stack={"x": ("a", "b")})
pictures = sf.DataLoader(
    "table",
    batch_size=8,
    images={
        "img": shardfeed.Image(224, crop="random_resized", color_jitter=(0.4, (0.5, 1.5)), dtype=torch.float16),
        "thumb": shardfeed.Image(),
    },
    image_decoder="turbo",
)
assert_type(shardfeed.Image.imagenet_train(size=160, flip=0), shardfeed.Image)
shardfeed.MapDataset("table", images={"img": shardfeed.Image.imagenet_eval(color_jitter={"hue": 0.1})})

# What is refused

shardfeed.StreamingDataset("table", batch_size="8")  # error
shardfeed.StreamingDataset("table", batch_size=8, colums=["id"])  # error
shardfeed.StreamingDataset("table", batch_size=8, tail="padd")  # error
shardfeed.StreamingDataset("table", batch_size=8, seed="1")  # error
shardfeed.StreamingDataset("table", batch_size=8, hash={"user": "many"})  # error
shardfeed.MapDataset("table", colums=["id"])  # error
shardfeed.MapDataset("table", tail="pad")  # error
shardfeed.MapDataset("table", memory=1.5)  # error
sf.DataLoader("table", batch_size=8, stack={"x": {"column": ["a"]}})  # error
sf.DataLoader("table", batch_size=8, images={"img": {"size": 224}})  # error
shardfeed.Image(crop="centre")  # error
shardfeed.Image.imagenet_train(sise=224)  # error
shardfeed.StreamingDataset("table")  # error
shardfeed.StreamingDataset("table", 8)  # error
sf.StreamingDataset("table", batch_size="8")  # error
sf.StreamingDataset("table", batch_size=8, colums=["id"])  # error
sf.DataLoader("table", batch_size="8")  # error
sf.DataLoader("table", batch_size=8, colums=["id"])  # error
sf.DataLoader("table", batch_size=8, num_workers="2")  # error
sf.DataLoader("table", batch_size=8, prefetch=None)  # error
sf.DataLoader("table", batch_size=8, cache_policy=7)  # error
sf.DataLoader("table")  # error
sf.DataLoader({"id": [1]}, batch_size=8)  # error
sf.DataLoader(sf.StreamingDataset("table", batch_size=8), batch_size=8)  # error: pyright
loader.map(3)  # error
loader.map(rows_of, random=True)  # error
