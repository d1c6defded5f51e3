"""Several images a row: lists of files, and of structs with a file as Hugging Face's List(Image())."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pictures
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import shardfeed.torch
from shardfeed import Image, MapDataset, Npy, StreamingDataset
from shardfeed.errors import DataError, OptionError

pytestmark = [pytest.mark.usefixtures("job"), pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")]

SIZE = 8
COUNTS = [2, 0, 1, 3, 2, 1]
NUMBERS = np.split(np.arange(sum(COUNTS)), np.cumsum(COUNTS)[:-1])
FILES = [pictures.encoded(pictures.drawn(i, SIZE, SIZE), "PNG") for i in range(sum(COUNTS))]
PIXELS = np.stack([np.asarray(pictures.decoded(file)) for file in FILES])
PLAIN = Image(size=SIZE, layout="HWC")
STRUCT = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def write(path: Path, **lists: Any) -> Path:
    """A table of lists of files in three forms."""
    of_rows = lists.get("rows", [[FILES[i] for i in numbers] for numbers in NUMBERS])
    columns = {
        "id": pa.array(range(len(of_rows))),
        "hf": pa.array([None if row is None else [{"bytes": file, "path": None} for file in row] for row in of_rows], pa.list_(STRUCT)),
        "files": pa.array(of_rows, pa.list_(pa.binary())),
    }
    pq.write_table(pa.table(columns), path / "a.parquet", row_group_size=4)
    return path


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return write(tmp_path)


@pytest.mark.parametrize(("column", "name"), [("hf", "hf.bytes"), ("files", "files")])
@pytest.mark.parametrize("kind", [StreamingDataset, shardfeed.torch.StreamingDataset])
def test_lists_of_tensors(table: Path, kind: Any, column: str, name: str) -> None:
    dataset = kind(table, batch_size=6, shuffle=False, images={name: PLAIN})
    assert dataset.schema[column].shape == (-1, SIZE, SIZE, 3)
    (batch,) = dataset
    assert batch[column].lengths.tolist() == COUNTS
    for row, numbers in zip(batch[column], NUMBERS):
        np.testing.assert_array_equal(np.asarray(row), PIXELS[numbers])


@pytest.mark.parametrize("kind", [StreamingDataset, shardfeed.torch.StreamingDataset])
def test_padded(table: Path, kind: Any) -> None:
    dataset = kind(table, batch_size=6, shuffle=False, columns=["hf"], images={"hf.bytes": PLAIN}, pad={"hf": 0})
    (batch,) = dataset
    assert tuple(batch["hf"].shape) == (6, 3, SIZE, SIZE, 3)
    assert batch["hf_lengths"].tolist() == COUNTS
    for i, numbers in enumerate(NUMBERS):
        np.testing.assert_array_equal(np.asarray(batch["hf"][i][: len(numbers)]), PIXELS[numbers])
        assert not batch["hf"][i][len(numbers) :].any()


def test_lists_of_one_size(tmp_path: Path) -> None:
    rows = [[FILES[0], FILES[1]], None, [FILES[2], FILES[3]]]
    pq.write_table(pa.table({"f": pa.array(rows, pa.list_(pa.binary(), 2))}), tmp_path / "a.parquet")
    (batch,) = StreamingDataset(tmp_path, batch_size=3, shuffle=False, images={"f": Image(size=SIZE, layout="HWC", dtype="float32")})
    assert batch["f"].shape == (3, 2, SIZE, SIZE, 3)
    np.testing.assert_allclose(batch["f"][[0, 2]], PIXELS[:4].reshape(2, 2, SIZE, SIZE, 3) / np.float32(255), rtol=1e-6)
    assert not batch["f"][1].any()
    assert batch.valid("f").tolist() == [True, False, True]


def test_other_ways(table: Path) -> None:
    images = {"hf.bytes": PLAIN, "files": Image(size=SIZE)}
    loader = shardfeed.torch.DataLoader(table, batch_size=3, shuffle=False, images=images, num_workers=2, collate_fn=dict)
    got = list(loader)
    assert torch.equal(torch.cat([batch["hf"].values for batch in got]), torch.from_numpy(PIXELS))
    assert torch.equal(torch.cat([batch["files"].values for batch in got]), torch.from_numpy(PIXELS).permute(0, 3, 1, 2))
    np.testing.assert_array_equal(MapDataset(table, images=images)[3]["hf"], PIXELS[NUMBERS[3]])
    for row in StreamingDataset(table, batch_size=None, images=images, seed=5):
        np.testing.assert_array_equal(row["hf"], PIXELS[NUMBERS[row["id"]]])
    (batch,) = StreamingDataset(table, batch_size=6, shuffle=False, columns=["hf"], images={"hf.bytes": PLAIN})
    arrow = batch.to_arrow()
    arrow.validate(full=True)
    assert arrow["hf"].to_pylist()[2] == PIXELS[NUMBERS[2]].tolist()


def test_null_lists_stay_null(tmp_path: Path) -> None:
    write(tmp_path, rows=[[FILES[0]], None, [], [FILES[1]]])
    (batch,) = StreamingDataset(tmp_path, batch_size=4, shuffle=False, images={"hf.bytes": PLAIN, "files": PLAIN})
    for column in ("hf", "files"):
        assert batch.valid(column).tolist() == [True, False, True, True]
        assert batch[column].lengths.tolist() == [1, 0, 0, 1]
        np.testing.assert_array_equal(batch[column].values, PIXELS[:2])


@pytest.mark.parametrize("bad", [None, b"no picture"])
def test_damaged_images(tmp_path: Path, bad: bytes | None) -> None:
    rows: list[Any] = [[FILES[i] for i in numbers] for numbers in NUMBERS]
    rows[0], rows[4] = [FILES[0], bad], [bad, FILES[7]]
    write(tmp_path, rows=rows)
    images = {"hf.bytes": PLAIN, "files": PLAIN}
    left = [1, 2, 3, 5]
    with pytest.raises(DataError, match=r"a\.parquet: row group 0, column \"(hf.bytes|files)\".*row 0: .*on_error"):
        list(StreamingDataset(tmp_path, batch_size=6, shuffle=False, images=images))
    (batch,) = StreamingDataset(tmp_path, batch_size=6, shuffle=False, images=images, on_error="skip", max_lost=1.0)
    assert batch["id"].tolist() == left
    for column in ("hf", "files"):
        assert batch[column].lengths.tolist() == [COUNTS[i] for i in left]
        np.testing.assert_array_equal(batch[column].values, PIXELS[np.concatenate([NUMBERS[i] for i in left])])
    dataset = StreamingDataset(tmp_path, batch_size=6, shuffle=False, images=images, on_error="mask", max_lost=1.0, pad={"files": 0})
    (batch,) = dataset
    assert batch["id"][batch.row_valid].tolist() == left
    assert batch["hf"].lengths.tolist() == [COUNTS[i] for i in left] + [0, 0]
    assert batch["files_lengths"].tolist() == [COUNTS[i] for i in left] + [0, 0]
    for row, i in enumerate(left):
        np.testing.assert_array_equal(batch["hf"][row], PIXELS[NUMBERS[i]])
        np.testing.assert_array_equal(batch["files"][row][: COUNTS[i]], PIXELS[NUMBERS[i]])


def test_damaged_images_of_one_size(tmp_path: Path) -> None:
    rows = [[FILES[0], FILES[1]], [FILES[2], b"x"], [FILES[4], FILES[5]]]
    pq.write_table(pa.table({"f": pa.array(rows, pa.list_(pa.binary(), 2))}), tmp_path / "a.parquet")
    (batch,) = StreamingDataset(tmp_path, batch_size=3, shuffle=False, images={"f": PLAIN}, on_error="mask", max_lost=1.0)
    assert batch.row_valid.tolist() == [True, True, False]
    np.testing.assert_array_equal(batch["f"][:2], PIXELS[[0, 1, 4, 5]].reshape(2, 2, SIZE, SIZE, 3))
    assert not batch["f"][2].any()


def test_crops_differ_within_a_list_and_repeat(table: Path) -> None:
    same = pictures.encoded(pictures.drawn(0, 40, 40), "PNG")
    write(table, rows=[[same, same, same]] * 2)
    images = {"files": Image(size=SIZE, crop="random_resized", flip=0.5)}

    def crops(**options: Any) -> dict[int, np.ndarray]:
        rows = StreamingDataset(table, batch_size=None, columns=["id", "files"], images=images, seed=3, **options)
        return {row["id"]: row["files"] for row in rows}

    first, again = crops(), crops(shuffle=False)
    assert all((first[i] == again[i]).all() for i in first)
    flat = np.concatenate([first[0], first[1]]).reshape(6, -1)
    assert len(np.unique(flat, axis=0)) == 6


def test_arrays_in_lists(tmp_path: Path) -> None:
    import io

    def npy(value: np.ndarray) -> bytes:
        memory = io.BytesIO()
        np.save(memory, value)
        return memory.getvalue()

    values = np.arange(18, dtype=np.float32).reshape(3, 2, 3)
    pq.write_table(pa.table({"m": [[npy(values[0]), npy(values[1])], [npy(values[2])]]}), tmp_path / "a.parquet")
    (batch,) = StreamingDataset(tmp_path, batch_size=2, shuffle=False, images={"m": Npy((2, 3), "float32")})
    np.testing.assert_array_equal(batch["m"].values, values)
    assert batch["m"].lengths.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("images", "message"),
    [
        ({"hf": PLAIN}, r"list<struct<bytes: binary, path: string>>; name the member that holds the file, as in \"hf.bytes\""),
        ({"hf.bytes.x": PLAIN}, "no such column is read"),
        ({"hf.bytes": PLAIN, "hf.other": PLAIN}, "lists have one image an item"),
        ({"deep.files": PLAIN}, "in a list within another column"),
    ],
)
def test_refused(tmp_path: Path, images: dict[str, Image], message: str) -> None:
    item = {"bytes": FILES[0], "other": FILES[1]} if len(images) > 1 else {"bytes": FILES[0], "path": "x"}
    pq.write_table(pa.table({"hf": [[item]], "deep": [{"files": [FILES[0]]}]}), tmp_path / "a.parquet")
    with pytest.raises(OptionError, match=message):
        StreamingDataset(tmp_path, batch_size=1, images=images)
