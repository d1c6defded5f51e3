"""Columns whose codecs petastorm's schema declares: images="auto"."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image as Pillow
from servers import Storage, hdfs, s3  # noqa: F401 - fixtures

import shardfeed.torch
from shardfeed import Image, MapDataset, Npy, Source, StreamingDataset
from shardfeed.errors import DataError, OptionError, SchemaError

pytestmark = pytest.mark.usefixtures("job")

ROWS = 6
KEY = "dataset-toolkit.unischema.v1"
PICKLES = Path(__file__).parents[2] / "internal" / "unischema" / "testdata"  # petastorm made them
READ = ["id", "matrix", "packed", "mask", "picture"]


def npy(value: np.ndarray, *, compressed: bool = False) -> bytes:
    memory = io.BytesIO()
    if compressed:
        np.savez_compressed(memory, arr=value)
    else:
        np.save(memory, value)
    return memory.getvalue()


def png(pixels: np.ndarray, form: str = "PNG") -> bytes:
    memory = io.BytesIO()
    Pillow.fromarray(pixels).save(memory, form)
    return memory.getvalue()


WANT = {
    "matrix": np.arange(ROWS * 12, dtype="float32").reshape(ROWS, 3, 4),
    "packed": np.arange(ROWS * 2, dtype="int64").reshape(ROWS, 2),
    "mask": np.arange(ROWS * 5).reshape(ROWS, 5) % 3 == 0,
    "picture": (np.arange(ROWS * 240) % 251).astype("uint8").reshape(ROWS, 8, 10, 3),
}


def write(root: Path, *parts: str, pickle: bytes | None = None) -> Path:
    """A data set as petastorm lays it out, with a pickle that petastorm made."""
    table = pa.table(
        {
            "id": pa.array(range(ROWS), pa.int32()),
            "matrix": [npy(v) for v in WANT["matrix"]],
            "packed": [npy(v, compressed=True) for v in WANT["packed"]],
            "mask": [npy(v) for v in WANT["mask"]],
            "picture": [png(v) for v in WANT["picture"]],
            "points": [npy(np.zeros((i, 3))) for i in range(ROWS)],
            "photo": [png(np.zeros((i + 1, 9, 3), "uint8"), "JPEG") for i in range(ROWS)],
        }
    )
    for part in parts or ("part-0.parquet",):
        (root / part).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, root / part, row_group_size=4)
    declare(root, table.schema, (PICKLES / "protocol4.pickle").read_bytes() if pickle is None else pickle)
    return root


def declare(root: Path, schema: pa.Schema, pickle: bytes) -> None:
    pq.write_metadata(schema.with_metadata({KEY: pickle}), root / "_common_metadata")


def check(batch: Any) -> None:
    for name, want in WANT.items():
        np.testing.assert_array_equal(np.asarray(batch[name]), want)
        assert np.asarray(batch[name]).dtype == want.dtype


@pytest.mark.parametrize("pickle", [f"protocol{n}" for n in (0, 1, 2, 4)])
def test_all_columns(tmp_path: Path, pickle: str) -> None:
    write(tmp_path, pickle=(PICKLES / f"{pickle}.pickle").read_bytes())
    given: dict[str, Any] = {"columns": READ, "images": "auto"}
    (batch,) = StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False, **given)
    check(batch)
    (batch,) = shardfeed.torch.DataLoader(tmp_path, batch_size=ROWS, shuffle=False, **given)
    check(batch)
    rows = MapDataset(tmp_path, **given)
    check(rows[list(range(ROWS))])
    assert rows.schema["matrix"].shape == (3, 4)
    assert "as declared" in rows._repr_html_()


def test_partitions_and_files(tmp_path: Path) -> None:
    """The schema lies at the root, whichever of its shards are named."""
    write(tmp_path, "a=1/b=x/p.parquet", "a=2/b=y/p.parquet")
    for address in (tmp_path, tmp_path / "a=1", tmp_path / "a=2" / "b=y" / "p.parquet", f"{tmp_path}/*/*/*.parquet"):
        dataset = StreamingDataset(address, batch_size=ROWS, shuffle=False, columns=READ, images="auto")
        check(next(iter(dataset)))


@pytest.mark.parametrize("storage", ["s3", "hdfs"])
def test_servers(tmp_path: Path, storage: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    server: Storage = request.getfixturevalue(storage)
    for variable, value in server.environment.items():
        monkeypatch.setenv(variable, value)
    uri = server.put(write(tmp_path / f"peta-{storage}", "a=1/p.parquet"))
    check(next(iter(StreamingDataset(uri, batch_size=ROWS, shuffle=False, columns=READ, images="auto"))))


def test_some_columns(tmp_path: Path) -> None:
    write(tmp_path)
    given = {"matrix": "auto", "picture": Image(size=4)}
    (batch,) = StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False, images=given)
    np.testing.assert_array_equal(batch["matrix"], WANT["matrix"])
    assert batch["picture"].shape == (ROWS, 3, 4, 4)
    assert [bytes(v) for v in batch["packed"]] == [npy(v, compressed=True) for v in WANT["packed"]]
    given = {"*": "auto", "photo": Image(size=4), "points": Npy((1, 3), "float64")}
    with pytest.raises(DataError, match=r'column "points": row 0: npy: the array is float64 of shape \(0, 3\)'):
        list(StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False, images=given))


def test_pictures_of_other_sizes(tmp_path: Path) -> None:
    """A picture that is not of the declared size is an error, or a lost row, and not scaled."""
    file = write(tmp_path) / "part-0.parquet"
    table = pq.read_table(file)
    pictures = table["picture"].to_pylist()
    pictures[2] = png(np.zeros((8, 11, 3), "uint8"))
    pq.write_table(table.set_column(table.schema.get_field_index("picture"), "picture", [pictures]), file, row_group_size=4)
    given: dict[str, Any] = {"batch_size": ROWS, "shuffle": False, "columns": READ, "images": "auto"}
    with pytest.raises(
        DataError, match=r'column "picture": row 2: the picture is 11 x 8, and the column is declared as 10 x 8: give the column a size'
    ):
        list(StreamingDataset(tmp_path, **given))
    (batch,) = StreamingDataset(tmp_path, on_error="mask", with_row_valid=True, **given)
    assert sorted(batch["id"][batch.row_valid].tolist()) == [0, 1, 3, 4, 5]
    (batch,) = StreamingDataset(tmp_path, **{**given, "images": {"picture": Image(size=(8, 10))}})
    assert batch["picture"].shape == (ROWS, 3, 8, 10)


def test_sources_with_other_names(tmp_path: Path) -> None:
    sources = {
        "a": Source(write(tmp_path / "a"), rename={"matrix": "m"}),
        "b": Source(write(tmp_path / "b", pickle=(PICKLES / "restored.pickle").read_bytes()), rename={"matrix": "m"}),
    }
    batches = list(StreamingDataset(sources=sources, batch_size=ROWS, columns=["m"], images={"m": "auto"}))
    assert {b["m"].shape[1:] for b in batches} == {(3, 4)}


@pytest.mark.parametrize(
    ("images", "columns", "text"),
    [
        ("auto", None, r'column "points" is NdarrayCodec, float64 of shape \(None, 3\), and arrays of one shape become tensors'),
        ("auto", None, r'column "photo" is CompressedImageCodec, uint8 of shape \(None, None, 3\), .* give it options of its own'),
        ("auto", ["id"], "no schema declares a column"),
        ({"id": "auto"}, None, 'no schema declares column "id".*; give its shape'),
        ({"nothing": "auto"}, None, 'column "nothing" is not read'),
        ("automatic", None, "images must be a dict of Image by column.*or 'auto', got 'automatic'"),
        ({"matrix": "npy"}, None, "or 'auto', got 'npy'"),
    ],
)
def test_what_is_not_declared(tmp_path: Path, images: Any, columns: list[str] | None, text: str) -> None:
    write(tmp_path)
    with pytest.raises(OptionError, match=text):
        next(iter(StreamingDataset(tmp_path, batch_size=2, columns=columns, images=images)))


def test_a_data_set_without_a_schema(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "_common_metadata").unlink()
    with pytest.raises(OptionError, match="no schema declares a column"):
        StreamingDataset(tmp_path, batch_size=2, images="auto")
    pq.write_metadata(pa.schema([("id", pa.int32())]), tmp_path / "_common_metadata")  # Spark's own
    with pytest.raises(OptionError, match="no schema declares a column"):
        StreamingDataset(tmp_path, batch_size=2, images="auto")


def test_a_pickle_that_runs_code(tmp_path: Path) -> None:
    write(tmp_path, pickle=b"cos\nsystem\n(S'touch " + bytes(tmp_path / "ran") + b"'\ntR.")
    with pytest.raises(
        SchemaError, match=r'_common_metadata: petastorm\'s schema: it has the class "os.system", which is not petastorm\'s'
    ):
        StreamingDataset(tmp_path, batch_size=2, images="auto")
    assert not (tmp_path / "ran").exists()
    StreamingDataset(tmp_path, batch_size=2)  # which does not read it
