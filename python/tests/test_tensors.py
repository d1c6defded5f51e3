"""Tensors: Arrow's extension type of one shape, and Hugging Face's arrays over lists of lists."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import shardfeed.torch
from shardfeed import MapDataset, NullWarning, StreamingDataset
from shardfeed.errors import DataError, OptionError, SchemaError

pytestmark = pytest.mark.usefixtures("job")

ROWS = 6


def tensors(values: np.ndarray, shape: Sequence[int], order: Sequence[int] | None = None, nulls: Sequence[int] = ()) -> pa.Array:
    """An array of arrow.fixed_shape_tensor, whose items lie in the order of shape."""
    mask = pa.array([i in nulls for i in range(len(values))]) if nulls else None
    items = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), int(np.prod(shape)), mask=mask)
    kind = pa.fixed_shape_tensor(pa.from_numpy_dtype(values.dtype), shape, permutation=order)
    return pa.ExtensionArray.from_storage(kind, items)


def counting(dtype: str, items: int) -> np.ndarray:
    return np.arange(ROWS * items).astype(dtype).reshape(ROWS, items)


class Array(pa.ExtensionType):
    """The type of Hugging Face's Array2D to Array5D, as its library writes it."""

    def __init__(self, shape: Sequence[int | None], dtype: str) -> None:
        self.shape, self.dtype = shape, dtype
        storage = pa.from_numpy_dtype(np.dtype(dtype))
        for _ in shape:
            storage = pa.list_(storage)
        super().__init__(storage, f"datasets.features.features.Array{len(shape)}DExtensionType")

    def __arrow_ext_serialize__(self) -> bytes:
        return json.dumps([self.shape, self.dtype]).encode()

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: Any, serialized: bytes) -> Array:
        return cls(*json.loads(serialized))


def arrays(values: Sequence[Any], shape: Sequence[int | None], dtype: str) -> pa.Array:
    kind = Array(shape, dtype)
    return pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type))


COLUMNS: dict[str, Callable[[], pa.Array]] = {
    "float32": lambda: tensors(counting("f4", 6), (2, 3)),
    "float16": lambda: tensors(counting("f2", 24), (2, 3, 4)),
    "int8": lambda: tensors(counting("i1", 6), (3, 2)),
    "uint64": lambda: tensors(counting("u8", 4), (2, 2)),
    "turned": lambda: tensors(counting("i2", 24) * 100, (2, 3, 4), (2, 1, 0)),
    "turned_bytes": lambda: tensors(counting("u1", 6), (2, 3), (1, 0)),
    "one": lambda: tensors(counting("f8", 4), (1, 4, 1)),
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    pq.write_table(pa.table({name: make() for name, make in COLUMNS.items()}), tmp_path / "a.parquet", row_group_size=4)
    return tmp_path


@pytest.mark.parametrize("name", COLUMNS)
def test_shape_and_values(table: Path, name: str) -> None:
    want = COLUMNS[name]().to_numpy_ndarray()
    dataset = StreamingDataset(table, batch_size=ROWS, shuffle=False, columns=[name])
    field = dataset.schema[name]
    assert (field.shape, field.dtype) == (want.shape[1:], want.dtype)
    assert str(field).startswith("tensor<") and str(field).endswith(str(list(want.shape[1:])))
    (batch,) = dataset
    np.testing.assert_array_equal(batch[name], want)
    assert batch[name].dtype == want.dtype
    arrow = batch.to_arrow()
    arrow.validate(full=True)
    np.testing.assert_array_equal(arrow[name].to_numpy_ndarray(), want)
    assert pa.schema(batch.schema) == pa.schema(dataset.schema) == arrow.schema
    assert batch.to_pylist()[1][name] == want[1].tolist()
    np.testing.assert_array_equal(MapDataset(table, columns=[name])[ROWS - 1][name], want[-1])


@pytest.mark.parametrize("options", [{}, {"num_workers": 2, "collate_fn": dict}, {"batch_size": None}, {"device": "cpu"}])
def test_tensors_of_torch(table: Path, options: dict[str, Any]) -> None:
    loader = shardfeed.torch.DataLoader(table, **{"batch_size": 3, "shuffle": False, **options})
    got = list(loader)
    stack = torch.stack if options.get("batch_size", 3) is None else torch.cat
    for name, make in COLUMNS.items():
        want = make().to_numpy_ndarray()
        np.testing.assert_array_equal(stack([batch[name] for batch in got]).numpy(), want)


def test_spec_order_of_three_dimensions(tmp_path: Path) -> None:
    """The order is that of Arrow's specification; pyarrow's own to_numpy_ndarray mixes items up
    where a permutation is not its own inverse.
    """
    values = counting("i4", 24)
    pq.write_table(pa.table({"x": tensors(values, (2, 3, 4), (2, 0, 1))}), tmp_path / "a.parquet")
    (batch,) = StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False)
    np.testing.assert_array_equal(batch["x"], values.reshape(ROWS, 2, 3, 4).transpose(0, 3, 1, 2))


def test_bool(tmp_path: Path) -> None:
    values = counting("i1", 6) % 3 == 0
    pq.write_table(pa.table({"x": tensors(values, (2, 3), (1, 0))}), tmp_path / "a.parquet")
    (batch,) = StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False)
    assert batch["x"].dtype == np.bool_
    np.testing.assert_array_equal(batch["x"], values.reshape(ROWS, 2, 3).transpose(0, 2, 1))


@pytest.mark.parametrize(
    ("options", "want"),
    [
        ({}, np.nan),
        ({"null": {"x": -1}}, -1),
        ({"null": {"x": -1}, "cast": {"x": "float16"}}, -1),
        ({"cast": {"x": "float64"}}, np.nan),
    ],
)
@pytest.mark.parametrize("order", [None, (1, 0)])
def test_nulls(tmp_path: Path, options: dict[str, Any], want: float, order: tuple[int, int] | None) -> None:
    values = counting("f4", 6)
    pq.write_table(pa.table({"x": tensors(values, (2, 3), order, nulls=(1, 4))}), tmp_path / "a.parquet")
    (batch,) = StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False, **options)
    expected = values.reshape(ROWS, 2, 3)
    expected[[1, 4]] = want
    np.testing.assert_array_equal(batch["x"], expected.transpose(0, 2, 1) if order else expected)
    assert batch.valid("x").tolist() == [True, False, True, True, False, True]
    assert batch.to_arrow()["x"].is_null().to_pylist() == [False, True, False, False, True, False]
    assert batch.to_pylist()[1]["x"] is None


def test_null_items_move_with_the_order(tmp_path: Path) -> None:
    kind = pa.fixed_shape_tensor(pa.int32(), (2, 3), permutation=(1, 0))
    items = pa.array([[0, None, 2, 3, 4, 5], [6, 7, 8, 9, None, 11]], pa.list_(pa.int32(), 6))
    pq.write_table(pa.table({"x": pa.ExtensionArray.from_storage(kind, items)}), tmp_path / "a.parquet")
    (batch,) = StreamingDataset(tmp_path, batch_size=2, shuffle=False, null={"x": -1})
    assert batch["x"].tolist() == [[[0, 3], [-1, 4], [2, 5]], [[6, 9], [7, -1], [8, 11]]]
    assert batch.to_pylist()[0]["x"] == [[0, 3], [None, 4], [2, 5]]
    assert batch.valid("x", items=True).tolist() == [
        [[True, True], [False, True], [True, True]],
        [[True, True], [True, False], [True, True]],
    ]


def test_one_warning_about_null_integers(tmp_path: Path) -> None:
    values = arrays([[[1, 2]], None], (1, 2), "int64")
    pq.write_table(pa.table({"x": tensors(counting("i8", 2)[:2], (2, 1), nulls=(1,)), "a": values}), tmp_path / "a.parquet")
    with pytest.warns(NullWarning, match="columns 'x' and 'a' hold nulls") as seen:
        list(shardfeed.torch.StreamingDataset(tmp_path, batch_size=2, shuffle=False))
    assert len(seen) == 1


def test_changed_values(table: Path) -> None:
    want = (counting("i2", 24) * 100).reshape(ROWS, 2, 3, 4).transpose(0, 3, 2, 1)
    options: dict[str, Any] = {"cast": {"turned": "float32"}, "scale": {"int8": (1, 2)}, "stack": {"m": ["float32"]}}
    dataset = StreamingDataset(table, batch_size=ROWS, shuffle=False, **options)
    (batch,) = dataset
    assert batch["turned"].dtype == batch["int8"].dtype == np.float32
    np.testing.assert_array_equal(batch["turned"], want)
    np.testing.assert_array_equal(batch["int8"], (counting("f4", 6).reshape(ROWS, 3, 2) - 1) / 2)
    np.testing.assert_array_equal(batch["m"], counting("f4", 6))
    assert str(dataset.schema["turned"]) == "tensor<float>[4, 3, 2]"
    with pytest.raises(DataError, match=r"column \"turned\".* does not fit int8"):
        list(StreamingDataset(table, batch_size=ROWS, cast={"turned": "int8"}, columns=["turned"]))


@pytest.mark.parametrize("order", [(1, 0, 2), (2, 0, 1), (1, 2, 0)])
def test_stack_of_tensors_in_another_order(tmp_path: Path, order: tuple[int, ...]) -> None:
    values = counting("f4", 24)
    kind = pa.fixed_shape_tensor(pa.float32(), (2, 3, 4), permutation=order)
    rows: list[Any] = values.tolist()
    rows[1], rows[2][5] = None, None
    items = pa.ExtensionArray.from_storage(kind, pa.array(rows, pa.list_(pa.float32(), 24)))
    pq.write_table(
        pa.table({"k": pa.array(range(ROWS), pa.int32()), "x": items, "z": pa.array(range(ROWS))}), tmp_path / "a.parquet", row_group_size=4
    )
    values[1], values[2, 5] = np.nan, np.nan
    want = values.reshape(ROWS, 2, 3, 4).transpose(0, *(1 + i for i in order)).reshape(ROWS, 24)
    dataset = StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False, stack={"m": ["k", "x", "z"]})
    (batch,) = dataset
    np.testing.assert_array_equal(batch["m"][:, 1:25], want)
    np.testing.assert_array_equal(batch["m"][:, 0], range(ROWS))
    np.testing.assert_array_equal(batch["m"][:, 25], range(ROWS))
    assert batch.valid("m", items=True)[:, 1:25].tolist() == (~np.isnan(want)).tolist()


def test_stack_refuses_lists_of_lists(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"a": arrays([[[1, 2]], [[3, 4]]], (1, 2), "int32"), "b": arrays([[[1]], [[3]]], (None, 1), "int32")}),
        tmp_path / "a.parquet",
    )
    with pytest.raises(OptionError, match=r"it is tensor<int32>\[1, 2\], whose items are stored as lists of lists"):
        StreamingDataset(tmp_path, batch_size=2, stack={"m": ["a"]})
    with pytest.raises(OptionError, match="only lists of numbers with one size"):
        StreamingDataset(tmp_path, batch_size=2, stack={"m": ["b"]})


def test_within_structs_and_lists(tmp_path: Path) -> None:
    inner = tensors(counting("f4", 6), (2, 3), (1, 0))
    columns = {
        "s": pa.StructArray.from_arrays([inner, pa.array(range(ROWS))], names=["t", "k"]),
        "l": pa.ListArray.from_arrays(pa.array([0, 1, 1, 4, 4, 5, 6]), inner),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    want = counting("f4", 6).reshape(ROWS, 2, 3).transpose(0, 2, 1)
    dataset = StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False)
    assert [str(f) for f in dataset.schema.values()] == ["struct<t: tensor<float>[3, 2], k: int64>", "list<tensor<float>[3, 2]>"]
    (batch,) = dataset
    np.testing.assert_array_equal(batch["s.t"], want)
    np.testing.assert_array_equal(batch["l"].values, want)
    assert batch["l"].lengths.tolist() == [1, 0, 3, 0, 1, 1]
    (dense,) = StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False, columns=["l"], pad={"l": 0})
    assert dense["l"].shape == (ROWS, 3, 3, 2)
    np.testing.assert_array_equal(dense["l"][2], want[1:4])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "int64", "uint16", "bool"])
@pytest.mark.parametrize("shape", [(3, 4), (2, 1, 3), (2, 2, 2, 2), (1, 2, 1, 2, 3)])
def test_arrays_of_hugging_face(tmp_path: Path, shape: tuple[int, ...], dtype: str) -> None:
    values = (np.arange(ROWS * np.prod(shape)) % 100).astype(dtype).reshape(ROWS, *shape)
    pq.write_table(pa.table({"a": arrays(values.tolist(), shape, dtype)}), tmp_path / "a.parquet")
    dataset = StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False)
    assert dataset.schema["a"].shape == shape
    assert str(dataset.schema["a"]).startswith("tensor<")
    (batch,) = dataset
    np.testing.assert_array_equal(batch["a"], values)
    assert batch["a"].dtype == np.dtype(dtype)
    assert batch.to_pylist()[0]["a"] == values[0].tolist()
    np.testing.assert_array_equal(MapDataset(tmp_path)[2]["a"], values[2])
    (cast,) = shardfeed.torch.StreamingDataset(tmp_path, batch_size=ROWS, shuffle=False, cast={"a": "float32"})
    np.testing.assert_array_equal(cast["a"].numpy(), values.astype("f4"))


def test_null_arrays(tmp_path: Path) -> None:
    values = [[[1.0, 2.0], [3.0, 4.0]], None, [[5.0, None], None]]
    pq.write_table(pa.table({"a": arrays(values, (2, 2), "float32")}), tmp_path / "a.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error", NullWarning)
        (batch,) = StreamingDataset(tmp_path, batch_size=3, shuffle=False)
    nan = np.nan
    np.testing.assert_array_equal(batch["a"], [[[1, 2], [3, 4]], [[nan, nan], [nan, nan]], [[5, nan], [nan, nan]]])
    assert batch.valid("a").tolist() == [True, False, True]
    assert batch.valid("a", items=True)[2].tolist() == [[True, False], [False, False]]
    (batch,) = StreamingDataset(tmp_path, batch_size=3, shuffle=False, null={"a": 0}, cast={"a": "float16"})
    np.testing.assert_array_equal(batch["a"], [[[1, 2], [3, 4]], [[0, 0], [0, 0]], [[5, 0], [0, 0]]])


def test_array_of_any_length(tmp_path: Path) -> None:
    """The first dimension may have any length; lists of the others are arrays."""
    values = [np.full((n, 4), n).tolist() for n in (1, 3, 2)]
    pq.write_table(pa.table({"a": arrays(values, (None, 4), "int32")}), tmp_path / "a.parquet")
    dataset = StreamingDataset(tmp_path, batch_size=3, shuffle=False, pad={"a": 0})
    (batch,) = dataset
    assert dataset.schema["a"].shape == (-1, 4)
    assert batch["a"].shape == (3, 3, 4)
    assert batch["a_lengths"].tolist() == [1, 3, 2]


def test_array_of_another_shape_than_declared(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": arrays([[[1, 2]], [[1, 2, 3]]], (1, 2), "int32")}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet.*column \"a.*a list of 3, where the schema declares lists of 2"):
        list(StreamingDataset(tmp_path, batch_size=2, shuffle=False))


def test_shards_of_two_shapes(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": tensors(counting("f4", 6), (2, 3)), "y": range(ROWS)}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": tensors(counting("f4", 6), (3, 2)), "y": range(ROWS)}), tmp_path / "b.parquet")
    with pytest.raises(SchemaError, match=r"tensor<float>\[3, 2\] here and tensor<float>\[2, 3\] in .*a\.parquet.*one shape"):
        StreamingDataset(tmp_path, batch_size=2)
    assert len(list(StreamingDataset(tmp_path, batch_size=2 * ROWS, columns=["y"]))) == 1


def test_shards_of_two_types(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": tensors(counting("i4", 6), (2, 3))}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": tensors(counting("i8", 6), (2, 3))}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"x": pa.nulls(2)}), tmp_path / "c.parquet")
    (batch,) = StreamingDataset(tmp_path, batch_size=2 * ROWS + 2, shuffle=False, null={"x": -1})
    want = counting("i8", 6).reshape(ROWS, 2, 3)
    np.testing.assert_array_equal(batch["x"], np.concatenate([want, want, np.full((2, 2, 3), -1)]))


def test_missing_in_some_shards(tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": [0], "x": tensors(counting("f4", 6)[:1], (2, 3))}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"k": [1]}), tmp_path / "b.parquet")
    (batch,) = StreamingDataset(tmp_path, batch_size=2, shuffle=False, missing="null")
    np.testing.assert_array_equal(batch["x"], [[[0, 1, 2], [3, 4, 5]], np.full((2, 3), np.nan)])


def test_batches_of_a_second_start(table: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The index and rows kept decoded have the shape too."""
    want = COLUMNS["turned"]().to_numpy_ndarray()
    cache = tmp_path_factory.mktemp("cache")
    for _ in range(3):
        dataset = StreamingDataset(table, batch_size=ROWS, shuffle=False, columns=["turned"], cache_dir=cache)
        for _ in range(2):
            (batch,) = dataset
            np.testing.assert_array_equal(batch["turned"], want)
