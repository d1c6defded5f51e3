"""Rows of every feature of Hugging Face's library, written by it, are the rows that it reads."""

from __future__ import annotations

import datetime as dt
import decimal
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pillow

from shardfeed import Image, StreamingDataset
from shardfeed.torch import DataLoader

datasets = pytest.importorskip("datasets")

ROWS = 23


def picture(i: int) -> bytes:
    out = io.BytesIO()
    Pillow.fromarray(((np.arange(6 * 5 * 3) * 7 + i) % 251).astype("uint8").reshape(6, 5, 3)).save(out, "PNG")
    return out.getvalue()


def media(i: int) -> dict[str, Any]:
    return {"bytes": picture(i), "path": f"{i}.png" if i % 2 else None}


def value(kind: str) -> Any:
    return datasets.Value(kind)


def array(shape: tuple[int, ...], dtype: str, i: int) -> Any:
    return (np.arange(np.prod(shape)) % 100 + i).astype(dtype).reshape(shape).tolist()


DAY, NOON = dt.date(2020, 2, 28), dt.datetime(2020, 2, 28, 12, 0, 0, 123000)

# The feature of each column, and its value in row i.
COLUMNS: dict[str, tuple[Any, Any]] = {
    "bool": (lambda: value("bool"), lambda i: i % 3 == 0),
    **{k: (lambda k=k: value(k), lambda i: i % 100) for k in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")},
    **{k: (lambda k=k: value(k), lambda i: i / 4) for k in ("float16", "float32", "float64")},
    **{k: (lambda k=k: value(k), lambda i: f"text é {i}" if i % 4 else None) for k in ("string", "large_string")},
    **{k: (lambda k=k: value(k), lambda i: b"\x00\xff" * (i % 3)) for k in ("binary", "large_binary")},
    "date": (lambda: value("date32"), lambda i: DAY + dt.timedelta(i)),
    "time": (lambda: value("time64[us]"), lambda i: dt.time(i, 1, 2, 345)),
    "at": (lambda: value("timestamp[ms]"), lambda i: NOON + dt.timedelta(hours=i)),
    "utc": (lambda: value("timestamp[us, tz=UTC]"), lambda i: NOON.replace(tzinfo=dt.timezone.utc) + dt.timedelta(hours=i)),
    "decimal": (lambda: value("decimal128(20, 4)"), lambda i: decimal.Decimal(i).scaleb(-4) if i % 5 else None),
    "label": (lambda: datasets.ClassLabel(names=["cat", "dog", "an ostrich"]), lambda i: i % 3),
    "list": (lambda: datasets.List(value("int32")), lambda i: [*range(i % 4)] if i % 5 else None),
    "sized": (lambda: datasets.List(value("float32"), length=3), lambda i: [i / 2, i + 1, -i]),
    "large list": (lambda: datasets.LargeList(value("string")), lambda i: [f"{i}"] * (i % 3)),
    "sequence": (lambda: datasets.Sequence(value("int64")), lambda i: [i] * (i % 4)),
    "of structs": (lambda: datasets.Sequence({"a": value("int32"), "b": value("string")}), lambda i: {"a": [i] * 2, "b": [f"{i}", None]}),
    "nested": (
        lambda: {"deep": {"tags": datasets.List(datasets.ClassLabel(names=["x", "y"])), "d": value("date32")}, "n": value("int8")},
        lambda i: {"deep": {"tags": [i % 2] * (i % 3), "d": DAY}, "n": i},
    ),
    "lists": (lambda: datasets.List(datasets.List(value("int16"))), lambda i: [[i], [], [1, 2]][: i % 4]),
    "2d": (lambda: datasets.Array2D((2, 3), "float32"), lambda i: array((2, 3), "float32", i)),
    "3d": (lambda: datasets.Array3D((2, 1, 3), "uint8"), lambda i: array((2, 1, 3), "uint8", i)),
    "4d": (lambda: datasets.Array4D((1, 2, 3, 2), "int64"), lambda i: array((1, 2, 3, 2), "int64", i)),
    "5d": (lambda: datasets.Array5D((2, 1, 2, 1, 2), "float64"), lambda i: array((2, 1, 2, 1, 2), "float64", i)),
    "any rows": (lambda: datasets.Array2D((None, 2), "int32"), lambda i: array((i % 3 + 1, 2), "int32", i)),
    "translation": (lambda: datasets.Translation(languages=["en", "fr"]), lambda i: {"en": f"e{i}", "fr": f"f{i}"}),
    "image": (lambda: datasets.Image(decode=False), media),
    "images": (lambda: datasets.List(datasets.Image(decode=False)), lambda i: [media(i)] * (i % 3)),
    "sound": (lambda: datasets.Audio(decode=False), lambda i: {"bytes": b"RIFF%d" % i, "path": f"{i}.wav"}),
}
SHAPES = {"2d": (2, 3), "3d": (2, 1, 3), "4d": (1, 2, 3, 2), "5d": (2, 1, 2, 1, 2), "sized": (3,)}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What Dataset.to_parquet writes. Audio is cast, as only its own encoder needs torchcodec."""
    features = {name: feature() for name, (feature, _) in COLUMNS.items()}
    plain = {**features, "sound": {"bytes": value("binary"), "path": value("string")}}
    rows = {name: [of(i) for i in range(ROWS)] for name, (_, of) in COLUMNS.items()}
    made = datasets.Dataset.from_dict(rows, features=datasets.Features(plain)).cast(datasets.Features(features))
    path = tmp_path_factory.mktemp("features") / "all.parquet"
    made.to_parquet(path, batch_size=7)
    return path


def plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("shuffle", [False, True])
def test_rows_are_the_librarys(runtime: Path, tmp_path: Path, file: Path, shuffle: bool) -> None:
    theirs = datasets.Dataset.from_parquet(str(file), cache_dir=str(tmp_path / "hf"))
    assert {name: type(f) for name, f in theirs.features.items()} == {name: type(feature()) for name, (feature, _) in COLUMNS.items()}
    want = sorted(plain(list(theirs)), key=lambda row: row["utc"])
    ours = StreamingDataset(file, batch_size=5, shuffle=shuffle, tail="short")
    got = sorted((plain(row) for batch in ours for row in batch.to_pylist()), key=lambda row: row["utc"])
    assert len(got) == len(want) == ROWS
    for name in COLUMNS:
        assert [row[name] for row in got] == [row[name] for row in want], name


def test_shapes_and_names(runtime: Path, file: Path) -> None:
    with DataLoader(file, batch_size=5, shuffle=False, images={"*": Image(size=(6, 5)), "images.bytes": Image(size=4)}) as loader:
        schema, batch = loader.schema, next(iter(loader))
    for name, shape in SHAPES.items():
        assert tuple(batch[name].shape) == (5, *shape), name
    assert schema["label"].labels == ("cat", "dog", "an ostrich")
    pictures = batch["image"]["bytes"]
    assert tuple(pictures.shape) == (5, 3, 6, 5)
    assert batch["sound"]["path"][3] == "3.wav"
    for i in range(5):
        whole = np.asarray(Pillow.open(io.BytesIO(picture(i))))
        assert (pictures[i].numpy() == whole.transpose(2, 0, 1)).all(), i
