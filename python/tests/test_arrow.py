"""Arrow's PyCapsule interface: batches, columns and schemas in pyarrow, polars, DuckDB and pandas,
and when their memory comes back.
"""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import textwrap
import threading
import uuid
import weakref
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
import slots
import tables
from hypothesis import HealthCheck, given, settings
from test_types import FIXED

from shardfeed import Bytes, Ragged, StreamingDataset
from shardfeed._batch import Batch
from shardfeed._columns import _arrow, _arrow_c
from shardfeed._columns._field import Field
from shardfeed._columns._layout import Layout
from shardfeed._columns._schema import Schema
from shardfeed._engine._ring import Part, SlotBytes


@pytest.fixture(params=["ctypes", "pyarrow"])
def exporter(request, monkeypatch):
    """Both ways to export: without pyarrow, and through it."""
    monkeypatch.setattr(_arrow, "pyarrow_is_loaded", lambda: request.param == "pyarrow")
    return request.param


@pytest.fixture
def alone(monkeypatch):
    """Exports without pyarrow."""
    monkeypatch.setattr(_arrow, "pyarrow_is_loaded", lambda: False)


def slot_of(memory: np.ndarray) -> SlotBytes:
    """The same memory as that of a slot of a ring, which owns it."""
    return memory.view(Part).view(SlotBytes)


def batch_of(table: pa.Table, **header: int) -> Batch:
    raw, schema = slots.write(table, **header)
    return Batch(raw, Layout(schema), {"epoch": 0, "position": 0})


def lent(table: pa.Table) -> tuple[Batch, weakref.ref]:
    """A batch, and its slot, which is gone when nothing uses the memory."""
    raw, schema = slots.write(table)
    raw.bytes = slot_of(raw.bytes)
    return Batch(raw, Layout(schema), {}), weakref.ref(raw.bytes)


def nothing_held() -> bool:
    """After the unused capsules were taken back."""
    _arrow_c.sweep()
    return not _arrow_c._held and not _arrow_c._capsules


NUMBERS = pa.table({"x": pa.array([1.5, None, 3.0]), "t": ["a", None, "語"], "l": [[1], [], None], "b": [True, False, None]})


def test_all_types(exporter):
    columns = {name: pa.array(values[:2], kind) for name, kind, values, _, _ in FIXED}
    columns |= {f"{name} in lists": pa.array([values, None], pa.list_(kind)) for name, kind, values, _, _ in FIXED}
    columns |= {f"{name} in dense lists": pa.array([values, values], pa.list_(kind, len(values))) for name, kind, values, _, _ in FIXED}
    columns |= {
        "text": pa.array(["a", None]),
        "bytes": pa.array([None, b"\0"]),
        "wide": pa.array([Decimal(10**37), None], pa.decimal128(38, 0)),
        "wider": pa.array([Decimal(10**59), None], pa.decimal256(60, 0)),
        "nothing": pa.nulls(2),
        "texts": pa.array([["a", None], None]),
        "lists": pa.array([[[1], []], None]),
        "struct": pa.array([{"a": 1, "b": ["x"]}, None]),
        "map": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int8())),
        "structs": pa.array([[{"a": 1}], []]),
    }
    table = pa.table(columns)
    batch = batch_of(table)
    assert pa.record_batch(batch).to_pylist() == table.to_pylist()
    assert pa.table(batch).equals(pa.table(batch.to_arrow()))
    assert pa.RecordBatchReader.from_stream(batch).read_all().to_pylist() == table.to_pylist()
    assert pa.schema(batch.schema) == batch.to_arrow().schema == pa.record_batch(batch).schema
    pa.record_batch(batch).validate(full=True)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(tables.tables())
def test_any_table(table):
    batch = batch_of(table)
    node = batch._arrow()

    class Exported:
        def __arrow_c_array__(self, requested_schema=None):
            return _arrow_c.array_capsules(node, requested_schema)

    got = pa.record_batch(Exported())
    got.validate(full=True)
    assert got.to_pylist() == table.to_pylist()
    assert got.equals(batch.to_arrow())


def test_types_that_numpy_shows_otherwise(exporter):
    fields = [Field("u", "fixed", "uuid", 16), Field("i", "fixed", "interval", 12)]
    value = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")
    memory = np.zeros(512, np.uint8)
    memory[0:16] = np.frombuffer(value.bytes, np.uint8)
    memory[64:76] = 7
    nodes = (1, 0, 0, 0, 0, 16, 0, 0, 1, 0, 0, 0, 64, 12, 0, 0)
    got = pa.record_batch(Batch(slots.Raw(memory, nodes, 1, 1), Layout(Schema(fields)), {}))
    assert got.schema.types == [pa.uuid(), pa.binary(12)]
    assert got["u"].to_pylist() == [value]
    assert got["i"].to_pylist() == [bytes([7] * 12)]


def test_padded_lists(exporter):
    """Their length differs by batch, so only batches have an Arrow type."""
    memory = np.arange(64, dtype=np.int32).view(np.uint8)
    fields = [Field("p", "list", list_size=-1, children=(Field("element", "fixed", "int32", 4),))]
    nodes = (2, 0, 0, 0, 0, 0, 3, 0, 6, 0, 0, 0, 0, 24, 0, 0)
    batch = Batch(slots.Raw(memory, nodes, 2, 2), Layout(Schema(fields)), {})
    got = pa.record_batch(batch)
    assert got.schema.types == [pa.list_(pa.field("element", pa.int32(), nullable=False), 3)]
    assert got["p"].to_pylist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="column 'p' is padded to the longest list of each batch"):
        pa.schema(batch.schema)


def test_empty_batch(exporter):
    table = NUMBERS.slice(0, 0)
    assert pa.table(batch_of(table)).to_pydict() == table.to_pydict()
    assert pa.record_batch(batch_of(pa.table({}))).num_columns == 0


def test_repeated_names(exporter):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"])
    assert pa.table(batch_of(table)).to_pydict() == {"x": [1], "x#2": [2]}


def test_nothing_is_copied(exporter):
    table = pa.table({"x": pa.array([1.0, 2.0]), "t": ["a", "b"], "l": [[1], [2, 3]], "ts": pa.array([1, None], pa.timestamp("us"))})
    raw, schema = slots.write(table)
    got = pa.table(Batch(raw, Layout(schema), {}))
    memory = raw.bytes.__array_interface__["data"][0]
    for name in table.column_names:
        for buffer in got[name].chunk(0).buffers():
            assert buffer is None or memory <= buffer.address < memory + raw.bytes.nbytes, name


def test_the_consumer_keeps_the_memory(exporter):
    batch, slot = lent(NUMBERS)
    table = pa.table(batch)
    del batch
    assert slot() is not None
    assert table.to_pylist() == NUMBERS.to_pylist()
    column = table["t"]
    del table
    assert slot() is not None
    assert column.to_pylist() == NUMBERS["t"].to_pylist()
    del column
    assert slot() is None
    assert nothing_held()


@pytest.mark.parametrize("method", ["__arrow_c_array__", "__arrow_c_stream__"])
def test_capsules_without_a_consumer(exporter, method):
    batch, slot = lent(NUMBERS)
    capsules = getattr(batch, method)()
    del batch
    assert slot() is not None
    del capsules
    assert nothing_held()
    assert slot() is None


def test_capsules_that_outlive_what_was_taken(exporter):
    batch, slot = lent(NUMBERS)
    schema, array = batch.__arrow_c_array__()
    got = pa.RecordBatch._import_from_c_capsule(schema, array)
    del batch
    assert slot() is not None
    del got
    assert slot() is None
    del schema, array
    assert nothing_held()


def test_a_stream_that_is_read_in_part(exporter):
    batch, slot = lent(NUMBERS)
    reader = pa.RecordBatchReader.from_stream(batch)
    del batch
    assert reader.schema.names == NUMBERS.column_names
    assert slot() is not None
    del reader
    assert nothing_held()
    assert slot() is None
    batch, slot = lent(NUMBERS)
    reader = pa.RecordBatchReader.from_stream(batch)
    got = reader.read_next_batch()
    with pytest.raises(StopIteration):
        reader.read_next_batch()
    del reader, batch
    assert got.to_pylist() == NUMBERS.to_pylist()
    del got
    assert slot() is None
    assert nothing_held()


def test_memory_comes_back_from_another_thread(exporter):
    batch, slot = lent(NUMBERS)
    held = [pa.table(batch)]
    del batch
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert slot() is None


def test_an_array_that_is_moved_out_of_its_struct(alone):
    """As the C data interface allows: children are moved, the parent is released, each is released later."""
    batch, slot = lent(NUMBERS)
    capsules = batch.__arrow_c_array__()
    del batch
    struct = ctypes.c_int64 * 10
    release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    source = struct.from_address(_arrow_c._get_pointer(capsules[1], b"arrow_array"))
    whole = struct.from_buffer_copy(source)
    source[8] = 0
    first = struct.from_address((ctypes.c_int64 * 4).from_address(whole[6])[0])
    child = struct.from_buffer_copy(first)
    first[8] = 0
    del capsules
    release(whole[8])(ctypes.addressof(whole))
    assert whole[8] == 0
    assert slot() is not None, "the child uses it"
    values = (ctypes.c_double * 3).from_address((ctypes.c_int64 * 2).from_address(child[5])[1])
    assert values[0] == 1.5
    release(child[8])(ctypes.addressof(child))
    assert child[8] == 0
    assert slot() is None
    assert nothing_held()


def test_requested_schema(exporter):
    batch = batch_of(NUMBERS)
    same = pa.schema(batch.schema)
    pa.RecordBatch._import_from_c_capsule(*batch.__arrow_c_array__(same.__arrow_c_schema__()))
    with pytest.raises(ValueError):
        batch.__arrow_c_array__(pa.schema([("other", pa.int8())]).__arrow_c_schema__())
    with pytest.raises(ValueError):
        batch.__arrow_c_stream__(pa.schema([("other", pa.int8())]).__arrow_c_schema__())
    assert nothing_held()


def test_a_requested_schema_that_is_refused_says_why(alone):
    want = r"the requested schema has the columns \['other'\], the batch has \['x', 't', 'l', 'b'\]"
    with pytest.raises(ValueError, match=want):
        batch_of(NUMBERS).__arrow_c_array__(pa.schema([("other", pa.int8())]).__arrow_c_schema__())


def test_names_that_the_interface_lacks(alone):
    with pytest.raises(ValueError, match="no names with a zero byte, got column 'a\\\\x00b'"):
        pa.table(batch_of(pa.table({"a\0b": [1]})))
    assert nothing_held()


def test_an_exception_in_flight(exporter):
    """It is not lost when the capsules of a batch are dropped by it."""
    batch, slot = lent(NUMBERS)
    with pytest.raises(ZeroDivisionError):
        print(batch.__arrow_c_array__(), batch.__arrow_c_stream__(), 1 / 0)
    del batch
    assert nothing_held()
    assert slot() is None


def test_a_table_dropped_by_an_exception():
    """With pyarrow loaded; without it, an exception is lost that drops what another library holds."""
    batch, slot = lent(NUMBERS)
    with pytest.raises(ZeroDivisionError):
        print(pa.table(batch), 1 / 0)
    with pytest.raises(KeyError):
        pa.table(batch).column("none")
    del batch
    assert slot() is None


def test_a_released_batch(exporter):
    batch, _ = lent(NUMBERS)
    batch.release()
    for use in (batch.__arrow_c_array__, batch.__arrow_c_stream__):
        with pytest.raises(ValueError, match="released"):
            use()


def test_columns(exporter):
    batch = batch_of(pa.table({"t": ["a", "語", "c"], "b": [b"a", b"", b"c"], "l": [[1], [], [2, 3]], "s": [[{"a": 1}], [], []]}))
    assert pa.array(batch["t"]).to_pylist() == ["a", "語", "c"]
    assert pa.array(batch["t"][1:]).to_pylist() == ["語", "c"]
    assert pa.array(batch["b"]).type == pa.binary()
    assert pa.array(batch["l"]).to_pylist() == [[1], [], [2, 3]]
    assert pa.array(batch["l"][2:]).to_pylist() == [[2, 3]]
    assert pa.array(batch["s"]).to_pylist() == [[{"a": 1}], [], []]


COLUMN_DTYPES = ["?", "i1", "u2", "f2", "f8", "M8[D]", "M8[us]", "m8[ms]", "V3"]


@pytest.mark.parametrize("dtype", COLUMN_DTYPES)
def test_columns_of_any_dtype(exporter, dtype):
    values = np.array([b"abc"] * 6, "S3").view("V3") if dtype == "V3" else np.arange(6).astype(dtype)
    got = pa.array(Ragged(values.reshape(3, 2), np.array([0, 1, 3], np.int32)))
    got.validate(full=True)
    want = pa.array([b"abc"] * 6, pa.binary(3)) if dtype == "V3" else pa.array(values)
    assert got.flatten().flatten().equals(want)
    assert [len(row) for row in got.to_pylist()] == [1, 2]


def test_columns_that_arrow_lacks(exporter):
    for values in (np.zeros(2, "c16"), np.zeros(2, object)):
        with pytest.raises(TypeError, match="has no Arrow type"):
            pa.array(Ragged(values, np.array([0, 2], np.int32)))


def test_dlpack(exporter):
    raw, schema = slots.write(pa.table({"x": [1.5, 2.5], "t": ["a", "b"], "l": [[1], [2, 3]]}))
    raw.bytes = slot_of(raw.bytes)
    batch, gone = Batch(raw, Layout(schema), {}), weakref.ref(raw.bytes)
    del raw
    shared = np.from_dlpack(batch["x"])
    offsets = np.from_dlpack(batch["t"].offsets)
    for column in (batch["t"], batch["l"]):
        assert column.__dlpack_device__() == (1, 0)
        with pytest.raises(BufferError, match=r"no single tensor: take \.values and \.offsets"):
            np.from_dlpack(column)
    del batch, column
    assert shared.tolist() == [1.5, 2.5] and offsets.tolist() == [0, 1, 2]
    assert gone() is not None
    del shared, offsets
    assert gone() is None


def test_polars(exporter):
    pl = pytest.importorskip("polars")
    batch, slot = lent(NUMBERS)
    frame = pl.DataFrame(batch)
    del batch
    assert frame.to_dicts() == NUMBERS.to_pylist()
    assert slot() is not None
    del frame
    assert slot() is None


def test_duckdb(exporter):
    duckdb = pytest.importorskip("duckdb")

    def query() -> weakref.ref:  # DuckDB looks up names in the frame, which keeps what it has shown
        batch, slot = lent(NUMBERS)  # noqa: RUF059 - the query names it
        with duckdb.connect() as connection:
            for _ in range(2):
                got = connection.sql("select x, t, l, b from batch where x > 1 order by x").fetchall()
                assert got == [(1.5, "a", [1], True), (3.0, "語", None, None)]
        assert slot() is not None
        return slot

    slot = query()
    gc.collect()
    assert nothing_held()
    assert slot() is None


def test_pandas(exporter):
    pd = pytest.importorskip("pandas")
    if not hasattr(pd.DataFrame, "from_arrow"):
        pytest.skip("pandas is too old for DataFrame.from_arrow")
    frame = pd.DataFrame.from_arrow(batch_of(NUMBERS))
    assert frame["x"].isna().tolist() == [False, True, False]
    assert frame["t"].tolist()[2] == "語"


PROGRAM = """
import gc, sys, threading
from shardfeed import StreamingDataset
import {module}
dataset = StreamingDataset(sys.argv[1], batch_size=100, shuffle=False, columns=["id", "text"], cache=False)
rows = 0
held = []
for batch in dataset:
    got = {use}
    rows += got
assert rows == 4000, rows
{after}
assert "pyarrow" not in sys.modules
print("done")
"""

PROGRAMS = {
    "polars": ("polars", "len(polars.DataFrame(batch))", ""),
    "a frame at the end": ("polars", "len(held[0] if held else held.append(polars.DataFrame(batch)) or held[0])", ""),
    "duckdb": ("duckdb", "duckdb.sql('select count(*) from batch').fetchall()[0][0]", ""),
    "polars' own threads": (
        "polars",
        "int(polars.DataFrame(batch).lazy().group_by('text').len().collect()['len'].sum())",
        "t = threading.Thread(target=lambda: held.append(polars.DataFrame(batch)), daemon=True); t.start(); t.join()",
    ),
}


@pytest.mark.parametrize(("module", "use", "after"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_without_pyarrow(shards, job, module, use, after):
    pytest.importorskip(module)
    program = textwrap.dedent(PROGRAM).format(module=module, use=use, after=after)
    done = subprocess.run([sys.executable, "-c", program, str(shards)], capture_output=True, text=True, timeout=60, env=dict(os.environ))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_a_table_holds_its_slot_of_the_ring(exporter, shards, job):
    dataset = StreamingDataset(shards, batch_size=50, shuffle=False, columns=["id"])
    batches = iter(dataset)
    table = pa.table(next(batches))
    loans = batches._connection.loans
    next(batches)
    loans.settle()
    assert len(loans) - len(batches._ahead) == 1, "the table's slot alone"
    thread = threading.Thread(target=lambda: next(batches))
    thread.start()
    thread.join()
    assert table["id"].to_pylist() == list(range(50))
    del table
    loans.settle()
    assert len(loans) == len(batches._ahead)


def test_dropped_capsules_give_back_a_full_ring(alone, shards, job):
    """Without another export, which would find them."""
    dataset = StreamingDataset(shards, batch_size=50, shuffle=False, columns=["id"])
    batches = iter(dataset)
    capsules = [next(batches).__arrow_c_array__()]
    slots_of_ring = batches._connection._rings.newest.slots
    capsules += [next(batches).__arrow_c_array__() for _ in range(slots_of_ring - 2)]
    del capsules
    assert len(_arrow_c._held) > 0
    held = [next(batches)]
    assert not _arrow_c._held
    del held


def test_a_table_outlives_its_dataset(exporter, shards, job):
    dataset = StreamingDataset(shards, batch_size=50, shuffle=False, columns=["id", "text"])
    batches = iter(dataset)
    table = pa.table(next(batches))
    batches.close()
    del batches, dataset
    gc.collect()
    assert table["id"].to_pylist() == list(range(50))
    assert table["text"].to_pylist() == [f"row {i}" for i in range(50)]


def test_bytes_of_one_byte_columns(exporter):
    assert pa.array(Bytes(np.frombuffer(b"abc", np.uint8), np.array([0, 1, 3], np.int32), True)).to_pylist() == ["a", "bc"]
