"""What stands under nulls, padded lists, vocabularies: what the engine makes of the arguments, seen from Python."""

from __future__ import annotations

import datetime as dt
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shardfeed import NullWarning, Ragged, StreamingDataset, errors


@pytest.fixture
def table(tmp_path: Path, runtime: Path) -> Path:
    columns = {
        "i": pa.array([1, None, 3], pa.int32()),
        "f": pa.array([1.5, None, 3.5], pa.float32()),
        "b": pa.array([True, None, False]),
        "t": pa.array(["x", None, "z"]),
        "raw": pa.array([b"x", None, b"z"]),
        "day": pa.array([dt.date(2024, 1, 1), None, dt.date(2024, 1, 3)]),
        "l": pa.array([[1, 2, 3], None, [4, None]], pa.list_(pa.int64())),
        "lf": pa.array([[1.0], [None, 2.0], []], pa.list_(pa.float64())),
        "s": pa.array([{"a": 1, "f": 1.5}, None, {"a": None, "f": None}], pa.struct([("a", pa.int16()), ("f", pa.float64())])),
        "whole": pa.array([1, 2, 3]),
        "id": pa.array([b"\1" * 16, None, b"\2" * 16], pa.binary(16)),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    return tmp_path


def only(table: Path, **given):
    dataset = StreamingDataset(table, batch_size=3, shuffle=False, cache=False, **given)
    (batch,) = dataset
    return dataset, batch


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
def test_without_null(table):
    dataset, batch = only(table)
    assert batch["i"].tolist() == [1, 0, 3] and batch["i"].dtype == np.int32
    np.testing.assert_array_equal(batch["f"], np.array([1.5, np.nan, 3.5], np.float32))
    assert batch["b"].tolist() == [True, False, False]
    assert batch["t"].tolist() == ["x", "", "z"] and batch["raw"].tolist() == [b"x", b"", b"z"]
    assert batch["day"].astype(str).tolist() == ["2024-01-01", "1970-01-01", "2024-01-03"]
    assert batch["l"].tolist() == [[1, 2, 3], [], [4, 0]]
    np.testing.assert_array_equal(batch["lf"].values, [1.0, np.nan, 2.0])
    np.testing.assert_array_equal(batch["s"]["f"], [1.5, np.nan, np.nan])
    assert batch["s"]["a"].tolist() == [1, 0, 0]
    for name in ("i", "f", "b", "t", "raw", "day", "l", "s", "id"):
        assert batch.valid(name).tolist() == [True, False, name != "s" or True], name
    assert batch.valid("whole").all() and batch.nulls("whole") == 0
    assert batch.to_pylist() == pq.read_table(table / "t.parquet").to_pylist()
    assert all(field.dtype == batch.schema[name].dtype for name, field in dataset.schema.items())


def read(batch):
    for name in batch:
        batch[name]


def test_one_warning_for_all_columns(table):
    dataset = StreamingDataset(table, batch_size=1, shuffle=False, columns=["i", "f", "t", "l", "s", "whole", "lf"])
    with pytest.warns(NullWarning) as caught:
        for batch in dataset:
            read(batch)
    assert [str(w.message) for w in caught] == [
        "shardfeed: columns 'i', 't', 'l' and 's.a' hold nulls, shown as 0 or empty: "
        "batch.valid(name) is a mask, null={name: value} shows another value"
    ]
    assert {w.filename for w in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for batch in dataset:
            read(batch)


def loop(dataset, use):
    for batch in dataset:
        use(batch)


USES = {
    "arrow": (lambda batch: batch.to_arrow(), []),
    "pylist": (lambda batch: batch.to_pylist(), []),
    "pandas": (lambda batch: batch.to_pandas(), []),
    "a notebook": (lambda batch: batch._repr_html_(), []),
    "the mask before": (lambda batch: (batch.valid("i"), batch["i"]), []),
    "the mask after": (lambda batch: (batch["i"], batch.valid("i")), []),
    "the number of nulls": (lambda batch: (batch["i"], batch.nulls("i")), []),
    "the mask of a member": (lambda batch: (batch["s.a"], batch.valid("s.a")), []),
    "another mask": (lambda batch: (batch["i"], batch.valid("t")), ["i"]),
    "a column": (lambda batch: batch["t"], ["t"]),
    "a member": (lambda batch: batch["s.a"], ["s.a"]),
    "rows": (lambda batch: list(batch.to_rows()), ["i", "s.a", "t"]),
}


@pytest.mark.parametrize(("use", "named"), USES.values(), ids=USES)
@pytest.mark.parametrize("batch_size", [1, 3], ids=["batches", "the last batch"])
def test_only_what_is_read_without_a_mask_is_warned_about(table, batch_size, use, named):
    dataset = StreamingDataset(table, batch_size=batch_size, shuffle=False, columns=["i", "f", "t", "s", "whole"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loop(dataset, use)
    assert sorted(name for w in caught for name in re.findall(r"'([ist.a]+)'", str(w.message).split(" hold")[0])) == named
    assert {w.filename for w in caught} <= {__file__}


def test_a_batch_that_outlives_its_iteration_warns_at_once(table):
    batch = next(iter(StreamingDataset(table, batch_size=3, shuffle=False)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not batch.valid("t").all() and batch["t"].tolist()
    with pytest.warns(NullWarning, match="column 'i'") as caught:
        batch["i"]
    assert caught[0].filename == __file__


def test_warnings_as_errors_end_the_iteration(table):
    batches = iter(StreamingDataset(table, batch_size=1, shuffle=False))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        next(batches)["whole"]
        next(batches)["i"]
        with pytest.raises(NullWarning):
            next(batches)
        batches.close()


def test_warnings_of_tensors(table):
    torch = pytest.importorskip("shardfeed.torch")
    given = {"batch_size": 3, "shuffle": False, "columns": ["i", "t", "f"]}
    with pytest.warns(NullWarning) as caught:
        for _ in torch.DataLoader(table, **given):
            pass
    assert [str(w.message) for w in caught] == [
        "shardfeed: columns 'i' and 't' hold nulls, shown as 0 or empty: "
        "with_valid(name) adds a mask to each batch, null={name: value} shows another value"
    ]
    assert {w.filename for w in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (batch,) = torch.DataLoader(table, null={"t": "?"}, **given).with_valid("i")
        assert batch["i_valid"].tolist() == [True, False, True]
        list(torch.StreamingDataset(table, **given).with_valid("i", "t"))


def test_the_log_begins_with_the_name_where_it_is_not_configured(capfd):
    program = "import logging, shardfeed\nlog = logging.getLogger('shardfeed')\nlog.warning('one %d', 1)\n"
    program += "logging.basicConfig(format='%(name)s %(message)s')\nlog.warning('two')"
    subprocess.run([sys.executable, "-c", program], check=True)
    assert capfd.readouterr().err.splitlines() == ["shardfeed: one 1", "shardfeed two"]


def test_no_warning_where_nothing_is_null(table):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, batch = only(table, columns=["f", "whole", "lf"])
        read(batch)
        assert batch.schema["whole"].nullable
        _, batch = only(table, columns=["i", "t", "l", "s"], null={"i": 1, "t": "?", "l": 0, "s.a": 0})
        read(batch)


def test_null(table):
    given = {"i": -1, "f": 0.5, "b": True, "t": "?", "raw": b"\0\xff", "day": 1, "l": 9, "lf": -1.0, "s.a": -7, "id": b"\3" * 16}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NullWarning)
        _, batch = only(table, null=given)
    assert batch["i"].tolist() == [1, -1, 3] and batch["f"].tolist() == [1.5, 0.5, 3.5] and batch["b"].tolist() == [True, True, False]
    assert batch["t"].tolist() == ["x", "?", "z"] and batch["raw"].tolist() == [b"x", b"\0\xff", b"z"]
    assert batch["day"].astype(str).tolist()[1] == "1970-01-02"
    assert batch["id"][1].tobytes() == b"\3" * 16
    assert batch["s"]["a"].tolist() == [1, -7, -7]
    assert batch["l"].tolist() == [[1, 2, 3], [], [4, 9]]
    assert batch["lf"].tolist() == [[1.0], [-1.0, 2.0], []]
    assert batch.valid("i").tolist() == [True, False, True], "the mask stays"


@pytest.mark.parametrize("null", [{"i": 2**40}, {"i": "x"}, {"nothing": 1}, {"t": 5}, {"id": b"short"}])
def test_null_that_cannot_be(table, null):
    with pytest.raises(errors.ShardfeedError) as caught:
        only(table, null=null)
    assert next(iter(null)) in str(caught.value)


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
def test_pad(table):
    dataset, batch = only(table, columns=["l", "lf"], pad={"l": -1})
    assert batch["l"].tolist() == [[1, 2, 3], [-1, -1, -1], [4, 0, -1]]
    assert batch["l_lengths"].tolist() == [3, 0, 2] and batch["l_lengths"].dtype == np.int32
    assert isinstance(batch["lf"], Ragged)
    assert list(dataset.schema) == list(batch) == ["l", "lf", "l_lengths"]
    assert dataset.schema["l"].shape == (-1,) and dataset.schema["l"].is_dense and dataset.schema["l_lengths"].added
    assert batch.valid("l").tolist() == [True, False, True]


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
def test_max_length_and_sides(table):
    _, batch = only(table, columns=["l"], pad={"l": 0}, max_length=2)
    assert batch["l"].tolist() == [[1, 2], [0, 0], [4, 0]] and batch["l_lengths"].tolist() == [2, 0, 2]
    _, batch = only(table, columns=["l"], pad={"l": {"value": 7, "side": "left", "cut": "left", "max_length": 2, "to_max": True}})
    assert batch["l"].tolist() == [[2, 3], [7, 7], [4, 0]]
    _, batch = only(table, columns=["l"], pad={"l": {"value": 7, "multiple": 4}})
    assert batch["l"].shape == (3, 4) and batch["l"][0].tolist() == [1, 2, 3, 7]


def test_vocabulary(table):
    dataset, batch = only(table, columns=["t"], vocabulary={"t": {"z": 1, "x": 0}})
    with pytest.warns(NullWarning, match="'t'"):
        assert batch["t"].tolist() == [0, 0, 1] and dataset.schema["t"].dtype == np.int64
    with pytest.raises(errors.ShardfeedError, match="vocabulary"):
        only(table, columns=["t"], vocabulary={"t": ["x", "y"]})


@pytest.mark.parametrize("unknown", [0, 1, -100])
def test_vocabulary_unknown(table, unknown):
    _, batch = only(table, columns=["t"], vocabulary={"t": ["x"]}, unknown=unknown, null={"t": -1})
    assert batch["t"].tolist() == [0, -1, unknown]
    with pytest.raises(errors.ShardfeedError, match="not in the vocabulary of 1 words"):
        only(table, columns=["t"], vocabulary={"t": ["x"]}, unknown={"t": "error"})


def test_required_members_of_null_structs(tmp_path, runtime):
    kind = pa.struct([pa.field("a", pa.int32(), nullable=False)])
    structs = pa.array([{"a": 1}, None, {"a": 3}], kind)
    pq.write_table(pa.table({"s": structs}), tmp_path / "t.parquet")
    _, batch = only(tmp_path)
    with pytest.warns(NullWarning, match="column 's.a' holds"):
        assert batch["s"]["a"].tolist() == [1, 0, 3]
    arrow = batch.to_arrow()["s"]
    arrow.validate(full=True)
    assert arrow.type == kind and arrow.field(0).null_count == 0 and arrow.equals(structs)


@pytest.mark.parametrize(("deep", "fits"), [(50, True), (60, True), (64, False), (120, False)])
def test_lists_that_are_deep(runtime: Path, tmp_path: Path, deep: int, fits: bool) -> None:
    kind: pa.DataType = pa.int32()
    value: object = 7
    for _ in range(deep):
        kind, value = pa.list_(kind), [value]
    pq.write_table(pa.table({"deep": pa.array([value, None], kind), "flat": [1, 2]}), tmp_path / "a.parquet")
    assert next(iter(StreamingDataset(tmp_path, batch_size=2, columns=["flat"], shuffle=False)))["flat"].tolist() == [1, 2]
    if fits:
        assert next(iter(StreamingDataset(tmp_path, batch_size=2, shuffle=False))).to_arrow()["deep"].to_pylist() == [value, None]
        return
    with pytest.raises(errors.ShardfeedError, match=r"nested too deeply.*at most 127") as caught:
        StreamingDataset(tmp_path, batch_size=2)
    assert caught.value.column.startswith("deep.") and "leave the column out" in str(caught.value)
