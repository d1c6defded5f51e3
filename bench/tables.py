#!/usr/bin/env python3
"""tables.py [--only READER]: what readers and loaders return for tables with deleted rows.

Spark and Iceberg's Java library wrote the tables of testdata/tables, and read the rows that are
beside them. A reader is right if it returns these rows: the ids, each as often,
and the names of the columns. Each reads in a process of its own, for at most 150 s.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).parent
TABLES = HERE.parent / "testdata" / "tables"
LIMIT = 150  # seconds
REQUIREMENTS = "bench/peers/requirements/tables.txt"

# table -> the format, and what is hard about it
HARD = {
    "v2": ("iceberg", "Iceberg v2: position deletes, renamed and dropped columns, two partition specs"),
    "v3": ("iceberg", "Iceberg v3: deletion vectors"),
    "eq": ("iceberg", "Iceberg: equality deletes"),
    "vectors": ("delta", "Delta: deletion vectors, column mapping"),
    "wide": ("delta", "Delta: deletion vectors, type widening, v2 checkpoint"),
}


def iceberg(path):
    """A table of pyiceberg."""
    from pyiceberg.table import StaticTable

    return StaticTable.from_metadata(str(newest(path)))


def newest(path):
    version = (path / "metadata" / "version-hint.text").read_text().strip()
    return path / "metadata" / f"v{version}.metadata.json"


def catalog(path):
    """A catalog of pyiceberg with the table db.t, for loaders that want one."""
    from pyiceberg.catalog.sql import SqlCatalog

    scratch = os.environ["SCRATCH"]
    found = SqlCatalog("c", uri=f"sqlite:///{scratch}/catalog.db", warehouse=f"{scratch}/warehouse")
    found.create_namespace("db")
    found.register_table("db.t", f"file://{newest(path)}")
    return found


def rows_of(table):
    """The names of the columns of an Arrow table and its ids, None if no column has that name."""
    return table.column_names, table["id"].to_pylist() if "id" in table.column_names else None


def rows_in(rows):
    """rows_of a list of dicts."""
    return list(rows[0]), [row["id"] for row in rows] if "id" in rows[0] else None


def by_shardfeed(format, path):
    found = subprocess.run(
        [HERE.parent / "bin" / "shardfeed", "cat", f"{format}+{path}", "--columns", "id"], capture_output=True, text=True, check=False
    )
    if found.returncode:
        raise ValueError(found.stderr)
    schema = subprocess.run(
        [HERE.parent / "bin" / "shardfeed", "schema", f"{format}+{path}", "--json"], capture_output=True, text=True, check=True
    )
    names = [column["name"] for column in json.loads(schema.stdout)["columns"]]
    return names, [json.loads(line)["id"] for line in found.stdout.splitlines()]


def by_pyarrow(format, path):
    import pyarrow.dataset

    return rows_of(pyarrow.dataset.dataset(sorted(map(str, path.rglob("*.parquet"))), format="parquet").to_table())


def by_datasets_glob(format, path):
    return streamed("parquet", data_files=f"{path}/**/*.parquet")


def by_datasets_iceberg(format, path):
    return streamed("iceberg", catalog=catalog(path), table="db.t")


def streamed(*args, **options):
    import datasets

    return rows_in(list(datasets.load_dataset(*args, streaming=True, split="train", **options)))


def by_ray_parquet(format, path):
    return rayed(lambda ray: ray.data.read_parquet(str(path)))


def by_ray_table(format, path):
    if format == "delta":
        return rayed(lambda ray: ray.data.read_delta(str(path)))
    held = catalog(path)
    return rayed(lambda ray: ray.data.read_iceberg(table_identifier="db.t", catalog_kwargs={"name": "c", "type": "sql", **held.properties}))


def rayed(read):
    import ray

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
    return rows_in(read(ray).take_all())


def by_daft(format, path):
    import daft

    found = daft.read_deltalake(str(path)) if format == "delta" else daft.read_iceberg(iceberg(path))
    return rows_of(found.to_arrow())


def by_polars(format, path):
    import polars

    found = polars.scan_delta(str(path)) if format == "delta" else polars.scan_iceberg(iceberg(path))
    return rows_of(found.collect().to_arrow())


def by_duckdb(format, path):
    import duckdb

    return rows_of(duckdb.sql(f"from read_parquet('{path}/**/*.parquet', union_by_name = true)").to_arrow_table())


def by_format(format, path):
    """deltalake's way to Arrow, which its own loaders and deltatorch take, and pyiceberg."""
    if format == "iceberg":
        return rows_of(iceberg(path).scan().to_arrow())
    import deltalake

    return rows_of(deltalake.DeltaTable(str(path)).to_pyarrow_table())


READERS = {
    "shardfeed": by_shardfeed,
    "Hugging Face datasets, the directory's parquet": by_datasets_glob,
    "Hugging Face datasets, `iceberg`": by_datasets_iceberg,
    "Ray Data, the directory's parquet": by_ray_parquet,
    "Ray Data, `read_iceberg`, `read_delta`": by_ray_table,
    "pyarrow.dataset, the directory's parquet": by_pyarrow,
    "DuckDB, the directory's parquet": by_duckdb,
    "polars, `scan_iceberg`, `scan_delta`": by_polars,
    "daft, `read_iceberg`, `read_deltalake`": by_daft,
    "pyiceberg, deltalake to Arrow": by_format,
}
ICEBERG_ONLY = ("Hugging Face datasets, `iceberg`",)


def unpacked(name):
    """The directory of a table. Iceberg's metadata has absolute paths, which become true here."""
    if HARD[name][0] == "delta":
        return TABLES / "delta" / name, latest(json.loads((TABLES / "delta" / f"{name}.json").read_text()))
    with zipfile.ZipFile(TABLES / "iceberg" / f"{name}.zip") as held:
        metadata = f"metadata/v{held.read('metadata/version-hint.text').decode().strip()}.metadata.json"
        place = pathlib.Path(json.loads(held.read(metadata))["location"].removeprefix("file:").replace("//", "/"))
        held.extractall(place)
        return place, json.loads(held.read("rows.json"))["main"]


def latest(versions):
    return versions[max(versions, key=int)]


def verdict(reader, name, path, want):
    """What a reader returns, in a few words."""
    own = {
        "HF_HUB_OFFLINE": "1",
        "DO_NOT_TRACK": "1",
        "DAFT_PROGRESS_BAR": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [environment(), __file__, reader, HARD[name][0], path]
    with tempfile.TemporaryDirectory(prefix="shardfeed-tables-") as scratch, tempfile.TemporaryFile("w+") as said:
        own |= {"HF_HOME": scratch, "SCRATCH": scratch}
        try:
            subprocess.run(
                list(map(str, command)), stdout=said, stderr=subprocess.DEVNULL, timeout=LIMIT, env=os.environ | own, check=False
            )
        except subprocess.TimeoutExpired:
            return f"no answer in {LIMIT} s"
        said.seek(0)
        lines = [line for line in said if line.startswith("{")]
    found = json.loads(lines[-1]) if lines else {"error": "the process died"}
    if "error" in found:
        return f"refused: {found['error']}"
    if found["ids"] is None:
        return "**wrong**: physical names of columns"
    ids = collections.Counter(row[want["columns"].index("id")] for row in want["rows"])
    if collections.Counter(found["ids"]) != ids:
        return f"**wrong**: {len(found['ids'])} rows of {ids.total()}"
    return "right" if found["names"] == want["columns"] else "rows right, **columns wrong**"


def environment():
    return (
        pathlib.Path(
            subprocess.run(
                [HERE.parent / "tools" / "venv", HERE.parent / REQUIREMENTS], capture_output=True, text=True, check=True
            ).stdout.strip()
        )
        / "bin"
        / "python"
    )


def read(reader, format, path):
    """One reader in this process: a line with what it found."""
    try:
        names, ids = READERS[reader](format, pathlib.Path(path))
        print(json.dumps({"names": names, "ids": ids}), flush=True)
    except BaseException as error:
        print(json.dumps({"error": f"{type(error).__name__}"}), file=sys.stdout, flush=True)
        print(f"{reader}: {error}", file=sys.stderr)
    os._exit(0)  # threads of libraries may hang


def main():
    if len(sys.argv) == 4:
        read(*sys.argv[1:])
    places = {name: unpacked(name) for name in HARD}
    print(f"| reader | {' | '.join(text for _, text in HARD.values())} |", f"| --- |{' --- |' * len(HARD)}", sep="\n", flush=True)
    for reader in READERS:
        if sys.argv[1:2] == ["--only"] and sys.argv[2] not in reader:
            continue
        cells = ["" if reader in ICEBERG_ONLY and HARD[n][0] == "delta" else verdict(reader, n, *places[n]) for n in HARD]
        print(f"| {reader} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
