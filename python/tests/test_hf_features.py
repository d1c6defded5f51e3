"""Columns that Hugging Face's library writes: images, audio and names of classes."""

from __future__ import annotations

import io
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from shardfeed import Image
from shardfeed.errors import OptionError
from shardfeed.torch import DataLoader

datasets = pytest.importorskip("datasets")

ROWS, NAMES = 20, ["cat", "dog", "an ostrich", "fish"]


def picture(i: int) -> bytes:
    out = io.BytesIO()
    Pillow.fromarray(((np.arange(30 * 40 * 3) * 7 + i) % 251).astype("uint8").reshape(30, 40, 3)).save(out, "PNG")
    return out.getvalue()


def write(file: Path, names: list[str] = NAMES) -> Path:
    one = {
        "image": datasets.Image(),
        "label": datasets.ClassLabel(names=names),
        "tags": datasets.List(datasets.ClassLabel(names=["x", "y"])),
        "views": datasets.List(datasets.Image()),
        "sound": datasets.Audio(sampling_rate=16000),
    }
    rows = {
        "image": [{"bytes": picture(i), "path": f"{i}.png"} for i in range(ROWS)],
        "label": [i % len(names) for i in range(ROWS)],
        "tags": [[0, 1][: i % 3] for i in range(ROWS)],
        "views": [[{"bytes": picture(i), "path": None}] * (i % 3) for i in range(ROWS)],
        "sound": [{"bytes": b"RIFF", "path": None}] * ROWS,
    }
    storage = {"bytes": datasets.Value("binary"), "path": datasets.Value("string")}
    plain = {**one, "sound": storage}  # encoding audio takes torchcodec, its file does not
    table = datasets.Dataset.from_dict(rows, features=datasets.Features(plain)).data.table
    features = datasets.Features(one)
    metadata = {"huggingface": json.dumps({"info": {"features": features.to_dict()}})}
    import pyarrow.parquet as pq

    pq.write_table(table.replace_schema_metadata(metadata), file)
    return file


def options(tmp_path: Path, **more: Any) -> dict[str, Any]:
    return {"batch_size": ROWS, "cache_dir": tmp_path / "cache", **more}


def test_labels_and_pictures(runtime: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet")
    with DataLoader(file, **options(tmp_path, images=Image(size=16))) as loader:
        batch = next(iter(loader))
        assert loader.schema["label"].labels == tuple(NAMES)
        assert loader.schema["tags"].children[0].labels == ("x", "y")
        assert loader.schema["image"].labels == ()
    assert batch["image"]["bytes"].shape[0] == ROWS and batch["image"]["bytes"].dtype.is_floating_point is False
    with DataLoader(file, **options(tmp_path, images={"image.bytes": Image(size=16), "views.bytes": Image(size=16)})) as loader:
        again = next(iter(loader))
    assert (batch["image"]["bytes"] == again["image"]["bytes"]).all()
    with DataLoader(file, **options(tmp_path, images={"*": Image(size=16), "image.bytes": Image(size=8)})) as loader:
        assert next(iter(loader))["image"]["bytes"].shape != batch["image"]["bytes"].shape


def test_pictures_of_any_size_need_one(runtime: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet")
    with pytest.raises(OptionError, match=r'column "image.bytes" has files of type Image, of any size; give options with a size'):
        DataLoader(file, **options(tmp_path, images="auto"))
    with pytest.raises(OptionError, match="no schema declares a column"):
        DataLoader(file, **options(tmp_path, columns=["label"], images=Image(size=8)))


def test_shards_with_other_classes_have_no_labels(runtime: Path, tmp_path: Path) -> None:
    write(tmp_path / "a.parquet")
    write(tmp_path / "b.parquet", NAMES[::-1])
    with DataLoader(tmp_path, **options(tmp_path)) as loader:
        assert loader.schema["label"].labels == ()
        assert loader.schema["tags"].children[0].labels == ("x", "y")


def test_the_command_shows_them(engine_binary: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet")
    shown = subprocess.run([engine_binary, "schema", str(file)], capture_output=True, text=True, check=True).stdout
    assert "4 classes: cat, dog, an ostrich, fish" in shown and "bytes: Image" in shown and "bytes: Audio" in shown
