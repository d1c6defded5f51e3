"""Tables and plain parquet on local disk and on servers, with what reaches them and the ids that they have."""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import clouds
import pyarrow.parquet as pq
import pytest
import servers

TABLES = Path(__file__).parents[2] / "testdata" / "tables"

# The fixtures of servers, which a file that uses places imports.
s3, hdfs, gcs, azurite = servers.s3, servers.hdfs, clouds.gcs, clouds.azurite


@dataclass
class Place:
    """An address, the storage options that reach it, and the ids that its writer reads in a column."""

    uri: str
    options: dict[str, Any]
    ids: list[int]
    column: str = "id"


def table(kind: str, name: str, scratch: Path, column: str = "id") -> tuple[Path, list[int]]:
    """The directory of a table, and the column that its writer reads at its latest snapshot."""
    if kind == "iceberg":
        directory = scratch / f"iceberg-{name}"
        if not directory.exists():
            with zipfile.ZipFile(TABLES / kind / f"{name}.zip") as packed:
                packed.extractall(directory)
        written = directory / "rows.json"
    else:
        directory, written = TABLES / kind / name, TABLES / kind / f"{name}.json"
    snapshots = json.loads(written.read_text())
    latest = snapshots[""] if "" in snapshots else snapshots[max(snapshots, key=int)]
    return directory, sorted(row[latest["columns"].index(column)] for row in latest["rows"])


# What tests of adapters read: the kind of table or "parquet", the table's name, and the store.
OF_ADAPTERS = [
    ("delta", "vectors", "file"),
    ("delta", "tracked", "file"),  # row ids
    ("iceberg", "v3", "file"),  # deletion vectors
    ("delta", "vectors", "s3"),
    ("iceberg", "eq", "s3"),  # equality deletes
    ("delta", "rs", "gcs"),
    ("iceberg", "v2", "azurite"),  # position deletes
    ("iceberg", "tracked", "s3"),  # row ids
    ("parquet", "shards", "gcs"),
    ("parquet", "shards", "azurite"),
]


def of_adapters(request: pytest.FixtureRequest, scratch: Path) -> dict[str, Place]:
    """All places of OF_ADAPTERS by name."""
    return {"-".join(where): place(request, scratch, *where) for where in OF_ADAPTERS}


def place(request: pytest.FixtureRequest, scratch: Path, kind: str, name: str, where: str) -> Place:
    column = "_row_id" if name == "tracked" else "id"
    if kind == "parquet":
        directory = request.getfixturevalue(name)
        ids = sorted(i for file in directory.glob("*.parquet") for i in pq.read_table(file, columns=["id"])["id"].to_pylist())
    else:
        directory, ids = table(kind, name, scratch, column)
    prefix = "" if kind == "parquet" else f"{kind}+"
    if where == "file":
        return Place(f"{prefix}file://{directory}", {}, ids, column)
    server = request.getfixturevalue(where)
    return Place(prefix + server.put(directory), server.options, ids, column)
