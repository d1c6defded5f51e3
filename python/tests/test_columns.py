"""Columns of strings and lists behave as arrays do: indices, comparison, and what pandas and pyarrow make of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import slots

import shardfeed
from shardfeed import errors
from shardfeed._batch import Batch
from shardfeed._columns._columns import Bytes, Ragged
from shardfeed._columns._layout import Layout

TEXTS = ["a", "", "ünï", "dd", "a"]
LISTS = [[1, 2], [], [3], [4, 5, 6], []]


def batch() -> Batch:
    structs = [{"n": i, "s": t} for i, t in enumerate(TEXTS)]
    nested = [[s] * i for i, s in enumerate(structs)]
    table = {
        "x": range(5),
        "text": TEXTS,
        "binary": [t.encode() for t in TEXTS],
        "list": LISTS,
        "texts": [TEXTS[:i] for i in range(5)],
        "deep": [[LISTS[i], []] for i in range(5)],
        "structs": nested,
    }
    raw, schema = slots.write(pa.table({name: pa.array(values) for name, values in table.items()}))
    return Batch(raw, Layout(schema), {})


def tensors() -> dict[str, Any]:
    to_tensors = pytest.importorskip("shardfeed.torch._tensors").to_tensors
    return {name: to_tensors(column) for name, column in batch().items()}


NESTED = ["text", "binary", "list", "texts", "deep", "structs"]
MAKERS: dict[str, Callable[[], Any]] = {"arrays": batch, "tensors": tensors}

MASK = [True, False, True, True, False]
INDICES: dict[str, Any] = {
    "slice": slice(1, 4),
    "slice with a step": slice(None, None, 2),
    "backwards": slice(None, None, -1),
    "beyond the end": slice(3, 99),
    "empty slice": slice(3, 1),
    "ellipsis": ...,
    "mask": np.array(MASK),
    "list of bool": MASK,
    "no row": np.zeros(5, bool),
    "integers": np.array([3, 0, 0]),
    "list": [4, 2],
    "negative": np.array([-1, -5]),
    "unsigned": np.array([1, 2], np.uint8),
    "empty list": [],
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_an_index_selects_what_numpy_selects(make: Callable[[], Any], name: str, index: Any) -> None:
    column = make()[name]
    as_objects = np.empty(5, object)
    as_objects[:] = column.tolist()
    expected = as_objects[index].tolist()
    selected = column[index]
    assert type(selected) is type(column)
    assert selected.tolist() == expected
    assert selected[::-1].tolist() == expected[::-1], "and can be indexed again"


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_tensors_are_indices_too(make: Callable[[], Any]) -> None:
    torch = pytest.importorskip("torch")
    for name in ("text", "list"):
        column = make()[name]
        rows = column.tolist()
        assert column[torch.tensor(MASK)].tolist() == [row for row, kept in zip(rows, MASK) if kept]
        assert column[torch.tensor([3])].tolist() == rows[3:4], "one index in an array is not a number"
        assert np.array_equal(column[torch.tensor(3)], rows[3])


REFUSED: dict[str, tuple[Any, str]] = {
    "number": (5, "row 5 is out of range for a column of 5 rows"),
    "negative number": (-6, "row -6 is out of range"),
    "array": (np.array([0, 5]), "row 5 is out of range"),
    "mask": ([True, False], "the boolean mask has 2 values, and the column has 5 rows"),
    "floats": (np.array([1.0]), "got an array of float64"),
    "text": ("id", "got 'id'"),
    "tuple": ((0, 1), r"got \(0, 1\)"),
    "None": (None, "got None"),
    "True": (True, "got True"),
    "float": (1.0, "got 1.0"),
    "two dimensions": (np.zeros((2, 2), int), r"got shape \(2, 2\)"),
}


@pytest.mark.parametrize(("index", "words"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("name", ["text", "list"])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_an_index_that_selects_nothing_is_refused(make: Callable[[], Any], name: str, index: Any, words: str) -> None:
    with pytest.raises(IndexError, match=words):
        make()[name][index]


def test_a_run_of_rows_is_a_view() -> None:
    column = batch()["list"]
    assert np.shares_memory(column[1:3].values, column.values)
    assert not np.shares_memory(column[[1, 2]].values, column.values)


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_strings_compare_row_by_row(make: Callable[[], Any]) -> None:
    texts, binary = make()["text"], make()["binary"]
    for value in ("a", "", "ünï", "absent", "dd"):
        expected = [t == value for t in TEXTS]
        assert (texts == value).tolist() == expected
        assert (texts != value).tolist() == [not e for e in expected]
        assert (binary == value.encode()).tolist() == expected
        assert (texts[::-1] == value).tolist() == expected[::-1]
        assert (texts[1:] == value).tolist() == expected[1:]
    assert (texts == texts).all() and (binary == binary).all()
    assert (texts == ["a", "x", "ünï", None, "a"]).tolist() == [True, False, True, False, True]
    assert texts[texts == "a"].tolist() == ["a", "a"]


NOT_COMPARED: dict[str, tuple[str, Any, type[Exception], str]] = {
    "a number": ("text", 3, TypeError, "a column of str is compared with a str, or with one for each row, got 3"),
    "None": ("text", None, TypeError, "got None"),
    "bytes": ("text", b"a", TypeError, "got b'a'"),
    "str": ("binary", "a", TypeError, "a column of bytes .* got 'a'"),
    "numbers": ("text", [1, 2, 3, 4, 5], TypeError, "got a list"),
    "too few": ("text", ["a"], ValueError, "5 rows with 1 values"),
    "a dict": ("text", {}, TypeError, "got a dict"),
    "lists": ("list", [[1]], TypeError, "compare .values and .offsets, or tolist"),
}


@pytest.mark.parametrize(("name", "other", "kind", "words"), NOT_COMPARED.values(), ids=NOT_COMPARED)
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_what_cannot_be_compared_is_refused(make: Callable[[], Any], name: str, other: Any, kind: type[Exception], words: str) -> None:
    for compare in (lambda a, b: a == b, lambda a, b: a != b):
        with pytest.raises(kind, match=words):
            compare(make()[name], other)


def test_too_many_values_for_offsets() -> None:
    long = Bytes(np.zeros(2**20, np.uint8), np.array([0, 2**20], np.int32))
    with pytest.raises(ValueError, match="select fewer rows"):
        long[np.zeros(4096, np.int64)]


def test_arrow_reads_a_batch() -> None:
    table = pa.table(batch())
    assert table.column_names == list(batch()) and table["text"].to_pylist() == TEXTS


def test_pandas_does_not_make_a_frame_of_names() -> None:
    for make in (pd.DataFrame, np.asarray):
        with pytest.raises(TypeError, match=r"batch\.to_pandas\(\) or batch\.to_arrow\(\)"):
            make(batch())


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_columns_in_a_frame(make: Callable[[], Any]) -> None:
    columns = make()
    frame = pd.DataFrame({name: columns[name] for name in ("text", "list")})
    assert frame["text"].tolist() == TEXTS
    assert [list(map(int, items)) for items in frame["list"]] == LISTS


def test_ragged_of_anything_in_numpy() -> None:
    assert np.asarray(batch()["text"]).tolist() == TEXTS
    assert [a.tolist() for a in np.asarray(batch()["list"])] == LISTS
    with pytest.raises(ValueError, match="always a copy"):
        np.asarray(Ragged(np.zeros(0), np.zeros(1, np.int32)), copy=False)


KEYS: dict[str, tuple[Any, str]] = {
    "misspelt": ("txet", "there is no column 'txet'; did you mean 'text'?"),
    "unlike any": ("zzz", "there is no column 'zzz': the columns are x, text, binary, list, texts, deep, structs"),
    "a number": (0, r"keys are column names, got 0: batch\['x'\]\[0\] is one value of column 'x'"),
    "a number of numpy": (np.int64(3), "keys are column names, got "),
    "a tuple": (("x", "text"), r"a key is one column name, got \('x', 'text'\)"),
    "a list": (["x", "text"], r"a key is one column name, got \['x', 'text'\]: take several with"),
    "a slice": (slice(2), r"keys are column names, got a slice: batch\['x'\]\[...\] takes rows"),
    "None": (None, "keys are column names, got None: the columns are x"),
    "the mask of rows": ("_row_valid", "with_row_valid=True adds it to batches of tensors and to rows; .* batch.row_valid"),
    "a mask of nulls": ("text_valid", r"with_valid\('text'\) adds it to batches of tensors; .* batch.valid\('text'\)"),
    "within a column": ("x.y", "there is no column 'x.y'"),
}


@pytest.mark.parametrize(("key", "words"), KEYS.values(), ids=KEYS)
def test_keys_that_are_not_columns(key: Any, words: str) -> None:
    for use in (batch().__getitem__, batch().valid, batch().nulls, batch().schema.__getitem__):
        with pytest.raises(errors.ColumnError, match=words) as caught:
            use(key)
        assert isinstance(caught.value, KeyError) and isinstance(caught.value, errors.SchemaError)
    if isinstance(key, (str, int)):
        assert batch().get(key) is None and batch().schema.get(key) is None and key not in batch()


def test_a_misspelt_member_of_a_struct() -> None:
    raw, schema = slots.write(pa.table({"who": [{"name": "a", "place": {"town": "b"}}]}))
    structs = Batch(raw, Layout(schema), {})
    assert structs["who.place.town"].tolist() == ["b"]
    with pytest.raises(KeyError, match=r"no column 'who\.nam'; did you mean 'who\.name'\?"):
        structs["who.nam"]
    with pytest.raises(KeyError, match=r"did you mean 'who\.place\.town'\?"):
        structs["who.place.twn"]


def test_a_notebook_completes_keys() -> None:
    assert batch()._ipython_key_completions_() == list(batch()) == batch().schema._ipython_key_completions_()


@pytest.mark.parametrize("name", ["_schema.Field", "_schema.Schema", "_columns.Bytes", "_columns.Ragged", "_batch.Batch", "_image.Image"])
def test_pickles_of_before_find_their_classes(name: str) -> None:
    module, kind = name.split(".")
    assert pickle.loads(f"cshardfeed.{module}\n{kind}\n.".encode()) is getattr(shardfeed, kind)
