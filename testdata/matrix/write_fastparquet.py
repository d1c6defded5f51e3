"""Files by fastparquet: required columns, plain and dictionary pages, INT96, converted types of the old kind."""

import fastparquet
import numpy as np
import pandas as pd

import values as v

CODECS = ["UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "BROTLI", "LZ4_RAW"]


def frame(rows, nullable):
    """A pandas frame of the types that fastparquet has; nulls are None, NaN or NaT."""
    columns = {}
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"):
        columns[name] = pd.Series(v.values(name, rows, nullable=False)).astype(name)
        if nullable and name != "uint64":
            columns[f"{name}_null"] = pd.Series(
                v.values(name, rows),
                dtype={"bool": "boolean"}.get(
                    name, name.replace("ui", "UI").replace("in", "In", 1) if name[0] == "i" else name.replace("uint", "UInt")
                ),
            )
    for name in ("float32", "float64"):
        columns[name] = pd.Series(np.array([np.nan if x is None else x for x in v.values(name, rows)], dtype=name))
    columns["string"] = pd.Series(v.values("string", rows, nullable=nullable), dtype=object)
    columns["label"] = pd.Series(v.values("label", rows, nullable=nullable), dtype=object)
    columns["category"] = pd.Series(v.values("label", rows, seed=1, nullable=nullable)).astype("category")
    columns["binary"] = pd.Series(v.values("binary", rows, nullable=nullable), dtype=object)
    ticks = [pd.NaT if x is None else pd.Timestamp(x, unit="ns") for x in v.values("timestamp_ns", rows, nullable=nullable)]
    columns["timestamp"] = pd.Series(ticks, dtype="datetime64[ns]")
    columns["timestamp_us"] = pd.Series(ticks, dtype="datetime64[ns]").dt.floor("us").astype("datetime64[us]")
    columns["zone"] = columns["timestamp"].dt.tz_localize("UTC")
    columns["delta"] = pd.Series(pd.to_timedelta(np.arange(rows) * 1_000_003, unit="us"))
    columns["json"] = pd.Series([{"n": i, "l": [i, None]} for i in range(rows)], dtype=object)
    return pd.DataFrame(columns)


def files(out, rows):
    objects = {"string": "utf8", "label": "utf8", "binary": "bytes", "json": "json"}

    def write(group, name, df, **options):
        path = out / "fastparquet" / group / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        used = {k: x for k, x in objects.items() if k in df}
        fastparquet.write(str(path), df, **({"object_encoding": used or "infer", "row_group_offsets": 400, "write_index": False} | options))

    whole = frame(rows, nullable=True)
    for name in whole:
        write("types", name, whole[[name]])
    for codec in CODECS:
        write(f"codec {codec.lower()}", "all", whole, compression=codec)
    write("nullability", "no-null", frame(rows, nullable=False), has_nulls=False)
    write("types", "int96", whole[["timestamp"]], times="int96")
    write("types", "fixed-text", pd.DataFrame({"s": pd.Series([f"{i % 1000:03d}" for i in range(rows)], dtype=object)}),
          fixed_text={"s": 3}, object_encoding={"s": "bytes"})  # fmt: skip
    write("shapes", "no-rows", whole.head(0), row_group_offsets=[0])
