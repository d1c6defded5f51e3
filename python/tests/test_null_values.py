"""null= takes the values of all types, and patterns."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shardfeed import NullWarning, StreamingDataset
from shardfeed.errors import OptionError

pytestmark = pytest.mark.usefixtures("job")

DAY = dt.datetime(2024, 1, 31, 16, 30, 0, 5)
CASES = {
    "date": (pa.date32(), DAY.date()),
    "us": (pa.timestamp("us"), DAY),
    "ns": (pa.timestamp("ns"), np.datetime64("2024-01-31T16:30:00.000005", "ns")),
    "far": (pa.timestamp("us"), dt.datetime(9999, 12, 31)),
    "zone": (pa.timestamp("us", "UTC"), dt.datetime(2024, 1, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2)))),
    "before 1970": (pa.timestamp("ms"), dt.datetime(1969, 12, 31, 23, 59, 59, 999000)),
    "time": (pa.time64("us"), dt.time(1, 2, 3, 4)),
    "decimal": (pa.decimal128(7, 2), Decimal("-1.25")),
    "wide": (pa.decimal128(38, 10), Decimal("-12345678901234567890.5")),
    "text": (pa.string(), "none"),
    "bytes": (pa.binary(), b"\xff"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_value_of_the_type(tmp_path, case):
    kind, value = CASES[case]
    pq.write_table(
        pa.table({"x": pa.array([None, value], kind), "s": pa.array([{"x": None}, {"x": value}], pa.struct([("x", kind)]))}),
        tmp_path / "a.parquet",
    )
    batch = next(iter(StreamingDataset(str(tmp_path), batch_size=2, shuffle=False, null={"x": value, "s.x": value})))
    for x in (batch["x"], batch["s"]["x"]):
        assert (x[0] == x[1]).all() if isinstance(x[0], np.ndarray) else x[0] == x[1]


def test_patterns(tmp_path):
    columns = {"f_a": pa.array([None], pa.int32()), "f_b": pa.array([None], pa.float64()), "f_c": pa.array([None], pa.int8()), "g": [1]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    batch = next(iter(StreamingDataset(str(tmp_path), batch_size=1, null={"f_*": 3, "f_c": 4})))
    assert (batch["f_a"][0], batch["f_b"][0], batch["f_c"][0]) == (3, 3.0, 4)
    stacked = next(iter(StreamingDataset(str(tmp_path), batch_size=1, stack={"m": ["f_*", "g"]}, null={"f_*": 7})))
    assert stacked["m"].tolist() == [[7.0, 7.0, 7.0, 1.0]]


def test_patterns_of_members(tmp_path, recwarn):
    """A pattern with a dot is of members of structs, in lists too; others keep their nulls, and are warned of."""
    inner = pa.struct([("f_a", pa.int32()), ("f_b", pa.int16()), ("g", pa.int32())])
    columns = {
        "m": pa.array([{"f_a": None, "f_b": None, "g": None}], inner),
        "f_s": pa.array([{"x": None}], pa.struct([("x", pa.int32())])),
        "items": pa.array([[{"f_a": None, "f_b": 1, "g": 2}]], pa.list_(inner)),
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    null = {"m.f_*": 3, "m.f_b": 4, "items.f_*": 5, "items.element.g": 0}
    for batch in StreamingDataset(str(tmp_path), batch_size=1, null=null):
        members, items = batch["m"], batch["items"].values
        assert [members[n][0] for n in ("f_a", "f_b", "g")] == [3, 4, 0]
        assert [items[n][0] for n in ("f_a", "f_b", "g")] == [5, 1, 2]
        assert batch["f_s"]["x"][0] == 0
    [warning] = [str(w.message) for w in recwarn if w.category is NullWarning]
    assert "'m.g'" in warning
    assert "'f_s.x'" in warning
    assert "f_a" not in warning
    assert "f_b" not in warning
    [batch] = StreamingDataset(str(tmp_path), batch_size=1, columns=["*.f_a"], null={"*.*": 9})
    assert batch["m"]["f_a"][0] == batch["items"].values["f_a"][0] == 9
    assert sorted(batch) == ["items", "m"]
    with pytest.raises(OptionError, match=r"m\.z\*"):
        StreamingDataset(str(tmp_path), batch_size=1, null={"m.z*": 0})


def test_uuid(tmp_path):
    ids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([None, UUID(int=5).bytes], pa.binary(16)))
    pq.write_table(pa.table({"x": ids}), tmp_path / "a.parquet")
    x = next(iter(StreamingDataset(str(tmp_path), batch_size=2, shuffle=False, null={"x": UUID(int=5)})))["x"]
    assert x[0].tobytes() == x[1].tobytes() == UUID(int=5).bytes


def test_refused(tmp_path):
    pq.write_table(
        pa.table({"x": pa.array([None, Decimal("1.25")], pa.decimal128(7, 2)), "d": pa.array([None, DAY.date()])}), tmp_path / "a.parquet"
    )
    with pytest.raises(OptionError, match=r'give a decimal that it holds exactly, as in "1.5", or its unscaled integer'):
        StreamingDataset(str(tmp_path), batch_size=2, null={"x": Decimal("0.001")})
    with pytest.raises(OptionError, match=r'does not hold "2024-01-31T16:30:00\.000005" exactly'):
        StreamingDataset(str(tmp_path), batch_size=2, null={"d": DAY})
