"""Values of Spark's rows in the forms of `shardfeed cat`."""

from __future__ import annotations

import base64
import datetime
import decimal
import math
import struct
from typing import Any

from pyspark.sql import types as t


def float32(value: float) -> float:
    """Return the double with the shortest digits that is this number as a float32."""
    for digits in range(1, 10):
        short = float(f"{value:.{digits}g}")
        if abs(short) < 3.5e38 and struct.pack("<f", short) == struct.pack("<f", value):
            return short
    return value


def number(value: float) -> float | str:
    """Return a float as JSON has it, or its name."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def instant(value: datetime.datetime) -> str:
    """Return a time with microseconds."""
    return value.replace(tzinfo=None).isoformat(timespec="microseconds")


def form(value: Any, kind: t.DataType) -> Any:
    """Return a value of a column as JSON has it."""
    if value is None:
        return None
    match kind:
        case t.FloatType():
            return number(float32(value) if math.isfinite(value) else value)
        case t.DoubleType():
            return number(value)
        case t.DecimalType():
            return f"{decimal.Decimal(value):.{kind.scale}f}"
        case t.DateType():
            return value.isoformat()
        case t.TimestampType():
            return instant(value) + "Z"
        case t.TimestampNTZType():
            return instant(value)
        case t.BinaryType():
            return base64.b64encode(value).decode()
        case t.StructType():
            return {f.name: form(value[f.name], f.dataType) for f in kind.fields}
        case t.ArrayType():
            return [form(item, kind.elementType) for item in value]
        case t.MapType():
            pairs = [[form(k, kind.keyType), form(v, kind.valueType)] for k, v in value.items()]
            return sorted(pairs, key=lambda pair: repr(pair[0]))  # Spark gives them in any order; tables are written in this one
    return value


def rows(frame: Any) -> dict[str, Any]:
    """Return the columns of a data frame and its rows, in an order of their own."""
    kinds = [f.dataType for f in frame.schema.fields]
    found = [[form(v, k) for v, k in zip(row, kinds, strict=True)] for row in frame.collect()]
    return {"columns": frame.columns, "rows": sorted(found, key=repr)}
