"""Any table comes back as it was: out of a slot that is laid out as the protocol says, and out of parquet through the engine."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import slots
import tables
from hypothesis import HealthCheck, example, given, reject, settings
from hypothesis import strategies as st

from shardfeed import Bytes, Ragged, StreamingDataset
from shardfeed._batch import Batch
from shardfeed._columns._layout import Layout

_UNLIKE = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


@settings(max_examples=150, deadline=None, suppress_health_check=_UNLIKE)
@given(tables.tables())
def test_slot(table):
    raw, schema = slots.write(table)
    batch = Batch(raw, Layout(schema), {})
    assert batch.to_pylist() == table.to_pylist()
    for name in batch:
        assert batch.valid(name).tolist() == [v.is_valid for v in table[name]]
        plain_values(table[name], batch[name])
    again = pickle.loads(pickle.dumps(batch))
    assert again.to_arrow().equals(batch.to_arrow())
    assert len(list(batch.to_rows())) == table.num_rows


def plain_values(want: pa.ChunkedArray, got) -> None:
    """Compares a column of simple types with pyarrow's; nulls are not looked at, what stands for them is another test's."""
    kind = want.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        assert isinstance(got, Bytes)
        assert got.tolist() == [v if v is not None else ("" if pa.types.is_string(kind) else b"") for v in want.to_pylist()]
    elif pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        assert got.dtype == kind.to_pandas_dtype()
        assert got.tolist() == [v or 0 for v in want.to_pylist()]
    elif pa.types.is_floating(kind):
        np.testing.assert_array_equal(got, np.array([np.nan if v is None else v for v in want.to_pylist()], kind.to_pandas_dtype()))
    elif pa.types.is_list(kind):
        assert isinstance(got, Ragged)
        assert got.lengths.tolist() == [len(v or ()) for v in want.to_pylist()]


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
@settings(max_examples=60, deadline=None, suppress_health_check=_UNLIKE)
@given(
    table=tables.tables(max_rows=30),
    batch_size=st.integers(1, 12),
    row_group=st.integers(1, 20),
    compression=st.sampled_from(["none", "snappy", "zstd"]),
    dictionary=st.booleans(),
    page=st.sampled_from(["1.0", "2.0"]),
)
@example(table=pa.table({"c0": pa.array([1.5, None, 2.5])}), batch_size=2, row_group=2, compression="none", dictionary=True, page="1.0")
def test_engine(runtime, tmp_path_factory, table, batch_size, row_group, compression, dictionary, page):
    path = tmp_path_factory.mktemp("any") / "t.parquet"
    pq.write_table(table, path, row_group_size=row_group, compression=compression, use_dictionary=dictionary, data_page_version=page)
    try:
        read = pq.read_table(path)
    except pa.ArrowInvalid:  # it does not read all that it writes: a null around a list of one size
        reject()
    dataset = StreamingDataset(path, batch_size=batch_size, shuffle=False, cache=False)
    batches = list(dataset)
    assert [b.rows for b in batches] == [min(batch_size, table.num_rows - at) for at in range(0, table.num_rows, batch_size)]
    assert [row for b in batches for row in b.to_pylist()] == read.to_pylist()
    whole = pa.Table.from_batches([b.to_arrow() for b in batches])
    assert [(f.name, f.nullable) for f in whole.schema] == [(f.name, f.nullable) for f in read.schema]
    at = 0
    for batch in batches:
        part = read.slice(at, batch.rows)
        at += batch.rows
        for name in batch:
            assert batch.schema[name].dtype == Layout(dataset.schema).schema[name].dtype
            plain_values(part[name], batch[name])
