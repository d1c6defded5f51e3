"""Filters that are expressions of pyarrow.compute keep the rows that pyarrow keeps."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from shardfeed import StreamingDataset, errors

pytestmark = pytest.mark.usefixtures("job")

TEXTS = ["", "a", "Ab", "É", "éa", "50%", "a_b", "a\\b", "two\nlines", "it's", 'say "x"', None]
F = pc.field


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(7)
    rows = 500
    pick = lambda values: [values[i] for i in random.integers(0, len(values), rows)]  # noqa: E731
    stars = pick([0, 1, 2, None])
    columns = {
        "id": pa.array(range(rows)),
        "n": pa.array(pick([0, 1, 2, 3, None]), pa.int16()),
        "x": pa.array(pick([0.5, -1.0, float("nan"), None]), pa.float32()),
        "text": pa.array(pick(TEXTS)),
        "plain": pa.array(pick(TEXTS), pa.large_string()),
        "raw": pa.array(pick([b"", b"\x00a", b"b", None])),
        "flag": pa.array(pick([True, False, None])),
        "day": pa.array(pick([datetime.date(2024, 1, 31), datetime.date(1969, 12, 31), None])),
        "at": pa.array(pick([datetime.datetime(2024, 1, 31, 12), datetime.datetime(1969, 1, 1), None]), pa.timestamp("us", "UTC")),
        "price": pa.array(pick([Decimal("1.25"), Decimal("-3.00"), None]), pa.decimal128(9, 2)),
        "meta": pa.array([{"stars": s} for s in stars], pa.struct([("stars", pa.int32())])),
        "odd name": pa.array(pick([1, 2, None])),
        "a.b": pa.array(pick([1, 2, None])),
        "items": pa.array(pick([[], [1], [1, 2], None]), pa.list_(pa.int32())),
    }
    path = tmp_path_factory.mktemp("expressions") / "rows.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=100, use_dictionary=["text"])
    return path


def kept(table: Path, expression: Any) -> list[int]:
    try:
        dataset = StreamingDataset(table, batch_size=64, columns=["id"], filters=expression)
    except errors.OptionError as e:
        assert "got none of" in str(e), e
        return []
    return sorted(int(i) for batch in dataset for i in batch["id"].tolist())


CONDITIONS = {
    "comparison": F("n") >= 2,
    "flipped": pc.scalar(2) > F("n"),
    "not equal": F("n") != 1,
    "NaN": F("x") != float("nan"),
    "is nan": F("x").is_nan(),
    "is null": F("x").is_null(),
    "is null or NaN": F("x").is_null(nan_is_null=True),
    "is valid": F("text").is_valid(),
    "isin": F("text").isin(["a", "é", "it's"]),
    "isin with null": F("n").isin([1, None]),
    "isin without nulls": pc.is_in(F("n"), pa.array([1, None], pa.int16()), skip_nulls=True),
    "isin of nothing": F("n").isin(pa.array([], pa.int16())),
    "boolean": F("flag"),
    "boolean compared": F("flag") == False,  # noqa: E712
    "like": pc.match_like(F("text"), "a%"),
    "like escaped": pc.match_like(F("text"), "%\\%"),
    "like any case": pc.match_like(F("text"), "É_", ignore_case=True),
    "starts_with": pc.starts_with(F("plain"), "a"),
    "ends_with": pc.ends_with(F("text"), "b"),
    "match_substring": pc.match_substring(F("text"), "_"),
    "match_substring any case": pc.match_substring(F("plain"), "B", ignore_case=True),
    "starts_with any case": pc.starts_with(F("plain"), "AB", ignore_case=True),
    "lower": pc.utf8_lower(F("text")) == "ab",
    "upper": pc.utf8_upper(F("plain")).isin(["É", "AB"]),
    "lower starts_with": pc.starts_with(pc.utf8_lower(F("text")), "é"),
    "length": pc.utf8_length(F("text")) > 2,
    "items": pc.list_value_length(F("items")) == 1,
    "bytes": F("raw") == b"\x00a",
    "date": F("day") > datetime.date(2000, 1, 1),
    "timestamp": F("at") <= pa.scalar(datetime.datetime(2024, 1, 31, 12), pa.timestamp("us", "UTC")),
    "decimal": F("price") < Decimal("0.50"),
    "struct": F("meta", "stars") == 2,
    "odd name": F("odd name") == 1,
    "dotted name": F("a.b") == 1,
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_expression(table: Path, name: str) -> None:
    expression = CONDITIONS[name]
    for e in (expression, ~expression, expression & (F("n") > 0), ~(expression | (F("n") > 0))):
        want = pyarrow.dataset.dataset(table).to_table(columns=["id"], filter=e)["id"].to_pylist()
        assert kept(table, e) == want, e


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (F("n").cast("int64") == 3, "cast is where a column, or one function of a column, is compared"),
        (F("n") + 1 > 3, "is where a column, or one function of a column, is compared"),
        (F("n") == F("id"), "a column is compared with a column"),
        (pc.xor(F("flag"), F("flag")), "xor is another function"),
        (pc.match_substring_regex(F("text"), "a.*"), "match_substring_regex is another function"),
        (pc.scalar(True), "the value True stands alone"),
        (F(0) == 1, "must name columns by their names"),
        (F("n") == pa.scalar(None, pa.int16()), "nothing is equal to null"),
        (F("x").isin([float("nan")]), "isin looks for NaN, which is_nan finds"),
        (F("missing") == 1, 'names column "missing", which the data does not have'),
    ],
)
def test_refused(table: Path, expression: Any, words: str) -> None:
    with pytest.raises(errors.OptionError, match=r"^filters ") as e:
        StreamingDataset(table, batch_size=64, filters=expression)
    assert words in str(e.value)
