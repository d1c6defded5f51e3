"""Under a Spark of this machine: make test-spark."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest

pytest.importorskip("pyspark", reason="Spark is not installed: make test-spark")

from pages import blocks, job, patched
from places import azurite, gcs, of_adapters, s3  # noqa: F401 - fixtures
from pyspark.ml.linalg import Matrices, MatrixUDT, Vectors, VectorUDT
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t
from ranks import FRUGAL, JOBS
from servers import HDFS, hdfs  # noqa: F401 - a fixture

import shardfeed
import shardfeed.spark
from shardfeed import errors
from shardfeed._spark import _files, _plan
from shardfeed.spark import Converted, convert

pytestmark = [pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")]

ROWS = 2000
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.log.level": "OFF",
}
ALL_TYPES = """
    id, cast(id / 2 as float) as x, id / 3 as y, cast(id % 7 as tinyint) as label, id % 3 = 0 as flag,
    if(id % 5 = 0, null, concat('제품 ', id)) as name, encode(cast(id as string), 'UTF-8') as raw,
    cast(id / 8 as decimal(10, 3)) as price, cast(-id as decimal(38, 10)) as wide,
    timestamp_micros(1700000000123456 + id * 1000003) as at, cast(timestamp '2024-02-29 12:00:00.5' as timestamp_ntz) as ntz,
    date_add(date '1500-01-01', cast(id as int)) as day, if(id % 4 = 0, null, array(id, null)) as list,
    named_struct('a', id, 'b', array(cast(id as string))) as struct, map(id, 'v') as map
"""


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory of Spark's, and the settings that every driver of this file has."""
    directory = tmp_path_factory.mktemp("spark")
    conf = directory / "conf"
    conf.mkdir()
    places = {"spark.local.dir": directory / "local", "spark.sql.warehouse.dir": directory / "warehouse"}
    (conf / "spark-defaults.conf").write_text("".join(f"{key} {value}\n" for key, value in {**SETTINGS, **places}.items()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(conf))
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        yield directory


@pytest.fixture(scope="module")
def session(scratch: Path) -> Iterator[SparkSession]:
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    yield spark
    spark.stop()


@pytest.fixture(scope="module")
def source(session: SparkSession, scratch: Path) -> str:
    """Four files of Spark's, as its defaults write them."""
    path = str(scratch / "source")
    session.range(ROWS, numPartitions=4).selectExpr(*_split(ALL_TYPES)).write.parquet(path)
    return path


@pytest.fixture
def frame(session: SparkSession, source: str) -> DataFrame:
    return session.read.parquet(source)


def _split(text: str) -> list[str]:
    """The expressions of a select, at the commas outside of brackets."""
    found, depth = [""], 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return found


def rows_of(data: Converted, **options: Any) -> list[dict[str, Any]]:
    return [row for batch in shardfeed.StreamingDataset(data.uri, batch_size=500, **options) for row in batch.to_pylist()]


def ids_of(data: Converted) -> list[int]:
    return [int(i) for batch in shardfeed.StreamingDataset(data.uri, batch_size=500, columns=["id"], shuffle=False) for i in batch["id"]]


def files_of(data: Converted) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in Path(data.uri).iterdir()}


def _plain(value: Any) -> Any:
    """A value of a Row as to_pylist has it."""
    if isinstance(value, t.Row):
        return {name: _plain(item) for name, item in value.asDict().items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return [(_plain(key), _plain(item)) for key, item in value.items()]
    return bytes(value) if isinstance(value, bytearray) else value


def test_rows_are_the_frames(session: SparkSession, frame: DataFrame, runtime: Path, tmp_path: Path) -> None:
    data = convert(frame, tmp_path)
    assert len(data) == data.rows == ROWS
    found = {row["id"]: row for row in rows_of(data)}
    assert len(found) == ROWS
    for row in frame.collect():
        got, want = found[row["id"]], _plain(row)
        at = got.pop("at")
        assert (at.timestamp(), at.microsecond) == (want["at"].timestamp(), want.pop("at").microsecond)
        assert got == want


def test_files_are_as_the_engine_likes_them(session: SparkSession, frame: DataFrame, runtime: Path, tmp_path: Path) -> None:
    key = "spark.sql.parquet.outputTimestampType"
    session.conf.set(key, "TIMESTAMP_MILLIS")
    try:
        data = convert(
            session.range(300_000).selectExpr("id", "timestamp_micros(id) as at", "hash(id) as h"), tmp_path, row_group_bytes="1MiB"
        )
        assert session.conf.get(key) == "TIMESTAMP_MILLIS"
    finally:
        session.conf.unset(key)
    convert(frame, tmp_path)
    assert session.conf.get(key, None) is None, "a setting that the session did not have is gone again"
    found = [pq.ParquetFile(path) for path in Path(data.uri).glob("part-*")]
    assert sum(path.stat().st_size for path in Path(data.uri).glob("part-*")) == data.bytes
    for file in found:
        at = file.metadata.row_group(0).column(1)
        assert at.physical_type == "INT64"
        assert "timeUnit=microseconds" in str(file.schema.column(1).logical_type)
        assert at.compression == "ZSTD"
        assert at.has_offset_index and at.has_column_index
    assert max(file.metadata.num_row_groups for file in found) > 1, "row_group_bytes cuts"


def test_it_is_written_once(session: SparkSession, source: str, runtime: Path, tmp_path: Path) -> None:
    def again(**options: Any) -> Converted:
        return convert(session.read.parquet(source).select("id", "x").where("id > 10"), tmp_path, **options)

    data = again()
    before = files_of(data)
    there = again()
    assert (data.written, there.written) == (True, False)
    assert (there.uri, there.rows, there.bytes) == (data.uri, data.rows, data.bytes)
    assert files_of(data) == before
    others = [again(row_group_bytes="1MiB"), again(shuffle_rows=True), again(columns=["id"]), again(version="2")]
    assert all(other.written for other in others)
    assert len({data.uri, *(other.uri for other in others)}) == 5
    assert list(rows_of(others[2])[0]) == ["id"]


# Two frames over the same directory, and whether they have the same name.
PAIRS: dict[str, tuple[Callable[[Any, str], Any], Callable[[Any, str], Any], bool]] = {
    "the same": (lambda s, d: s.read.parquet(d).where("id > 3"), lambda s, d: s.read.parquet(d).where("id > 3"), True),
    "the same join": (
        lambda s, d: s.read.parquet(d).join(s.range(9), "id").groupBy("label").count(),
        lambda s, d: s.read.parquet(d).join(s.range(9), "id").groupBy("label").count(),
        True,
    ),
    "cached": (lambda s, d: s.read.parquet(d).select("id", "y"), lambda s, d: s.read.parquet(d).select("id", "y").cache(), True),
    "a literal": (lambda s, d: s.read.parquet(d).where("id > 3"), lambda s, d: s.read.parquet(d).where("id > 4"), False),
    "a name": (lambda s, d: s.read.parquet(d).selectExpr("id a"), lambda s, d: s.read.parquet(d).selectExpr("id b"), False),
    "a type": (lambda s, d: s.read.parquet(d).selectExpr("id"), lambda s, d: s.read.parquet(d).selectExpr("int(id) id"), False),
    "the last of many columns": (lambda s, d: _wide(s, d, 1), lambda s, d: _wide(s, d, 2), False),
    "an option of the reader": (
        lambda s, d: s.read.schema("a string").csv(d),
        lambda s, d: s.read.schema("a string").csv(d, sep=";"),
        False,
    ),
    "a seed": (lambda s, d: s.range(9).select(f.rand(1)), lambda s, d: s.range(9).select(f.rand(2)), False),
    "rows in memory": (
        lambda s, d: s.createDataFrame([(1,)], "a int"),
        lambda s, d: s.createDataFrame([(2,)], "a int"),
        False,
    ),
    "values": (lambda s, d: s.sql("select * from values (1), (2)"), lambda s, d: s.sql("select * from values (1), (3)"), False),
    "a function": (
        lambda s, d: s.range(9).select(f.udf(lambda i: i + 1, "long")("id")),
        lambda s, d: s.range(9).select(f.udf(lambda i: i + 2, "long")("id")),
        False,
    ),
    "a subquery": (
        lambda s, d: s.sql(f"select * from range(9) where id in (select id from parquet.`{d}` where id > 3)"),
        lambda s, d: s.sql(f"select * from range(9) where id in (select id from parquet.`{d}` where id > 4)"),
        False,
    ),
}


def _wide(session: Any, directory: str, last: int) -> Any:
    frame = session.read.parquet(directory)
    return frame.select(*(f.col("id").alias(f"c{i}") for i in range(60)), (f.col("id") + last).alias("last"))


@pytest.mark.parametrize("pair", PAIRS)
def test_names_of_two_frames(session: SparkSession, source: str, pair: str) -> None:
    one, other, same = PAIRS[pair]
    first, second = one(session, source), other(session, source)
    assert _plan.name(first, None) == _plan.name(first, None)
    assert (_plan.name(first, None) == _plan.name(second, None)) is same
    second.unpersist()


@pytest.mark.parametrize("cached", [False, True], ids=["", "cached"])
@pytest.mark.parametrize("files", [2, 20])
def test_files_that_changed_are_another_frame(session: SparkSession, tmp_path: Path, files: int, cached: bool) -> None:
    """Also where a file is replaced in place, and the plan is the same."""
    path = str(tmp_path / "with space")

    def name() -> str:
        frame = session.read.parquet(path)
        found = _plan.name(frame.cache() if cached else frame, None)
        frame.unpersist()
        return found

    session.range(100, numPartitions=files).write.parquet(path)
    names = [name(), name()]
    assert names[0] == names[1]
    file = sorted(Path(path).glob("part-*"))[1]
    os.utime(file, (time.time() + 5, time.time() + 5))
    names.append(name())
    shutil.copy(file, file.with_name("part-9.parquet"))
    names.append(name())
    assert len(set(names)) == 3


def test_time_and_models_stay_with_the_plan(session: SparkSession) -> None:
    """Frames whose plan does not determine their rows belong to the application, or a version."""
    told = session.range(9).withColumn("at", f.current_timestamp())
    untold = session.createDataFrame([(1,)], "a int")
    real = _plan._is_told
    with pytest.MonkeyPatch.context() as patch:
        seen: list[bool] = []
        patch.setattr(_plan, "_is_told", lambda *arguments: seen.append(real(*arguments)) or seen[-1])
        for frame in (told, untold):
            _plan.name(frame, None)
        assert seen == [True, False]
        other = session.createDataFrame([(2,)], "a int")
        assert _plan.name(untold, "7") == _plan.name(other, "7") != _plan.name(other, "8")
        assert seen == [True, False], "a version says what the plan does not"


def test_vectors_become_lists(session: SparkSession, runtime: Path, tmp_path: Path) -> None:
    values = [(1, Vectors.dense([0.1, 2])), (2, None), (3, Vectors.sparse(3, [1], [4.0])), (4, Vectors.dense([]))]
    data = convert(session.createDataFrame(values, ["id", "v.1"]), tmp_path)
    schema = pq.ParquetFile(next(Path(data.uri).glob("part-*"))).schema_arrow
    assert str(schema.field("v.1").type) == "list<element: float not null>"
    found = {row["id"]: row["v.1"] for row in rows_of(data)}
    assert found == {1: [pytest.approx(0.1), 2.0], 2: None, 3: [0.0, 4.0, 0.0], 4: []}


def test_shuffle_rows(session: SparkSession, frame: DataFrame, runtime: Path, tmp_path: Path) -> None:
    data = convert(frame.where("id < 1000"), tmp_path, shuffle_rows=True)
    ids = ids_of(data)
    assert sorted(ids) == list(range(1000))
    rising = sum(a < b for a, b in itertools.pairwise(ids))
    assert 400 < rising < 600, "rows have no order of theirs"
    with pytest.raises(errors.OptionError, match="shuffle_rows needs a column that Spark can hash"):
        convert(frame.select("map"), tmp_path, shuffle_rows=True)


def test_two_drivers_at_once(session: SparkSession, source: str, runtime: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both find nothing and write. One remains, and both have it."""
    both = threading.Barrier(2, timeout=120)
    real, seen = shardfeed.spark._first, set()

    def first(directory: Any) -> Any:
        found = real(directory)
        if threading.get_ident() not in seen:
            seen.add(threading.get_ident())
            both.wait()
        return found

    monkeypatch.setattr(shardfeed.spark, "_first", first)
    results: list[Converted] = []
    drivers = [threading.Thread(target=lambda: results.append(convert(session.read.parquet(source), tmp_path))) for _ in range(2)]
    for driver in drivers:
        driver.start()
    for driver in drivers:
        driver.join()
    one, other = results
    assert one.uri == other.uri
    assert {one.written, other.written} == {True, False}
    assert ids_of(one) and sorted(ids_of(one)) == list(range(ROWS))
    assert [path.name for path in Path(one.uri).parent.iterdir()] == [Path(one.uri).name], "the later one removed what it wrote"


def test_delete_removes_its_own(session: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    data, other = convert(frame, tmp_path), convert(frame.select("id"), tmp_path)
    foreign = tmp_path / "table" / "part-0.parquet"
    foreign.parent.mkdir()
    foreign.write_bytes(b"of somebody")
    mine = Path(data.uri) / "notes.txt"
    mine.write_text("of somebody")
    beside = Path(data.uri).parent / "000000000000" / "part-0.parquet"
    beside.parent.mkdir()
    beside.write_bytes(b"of somebody")
    data.delete()
    assert sorted(str(path) for path in Path(data.uri).parent.rglob("*") if path.is_file()) == sorted([str(mine), str(beside)])
    assert foreign.exists()
    assert other.delete() is other.delete() is None
    assert not Path(other.uri).parent.exists()
    Converted(str(foreign.parent), 1, 1, f"file:{foreign.parent}", True).delete()
    Converted(str(tmp_path), 1, 1, f"file:{tmp_path}", True).delete()
    assert foreign.exists()
    assert convert(frame, tmp_path).written


@pytest.mark.parametrize("stops_at", range(4))
def test_a_delete_that_was_killed_leaves_nothing_complete(
    session: SparkSession, source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stops_at: int
) -> None:
    frame = session.read.parquet(source).select("id")
    data = convert(frame, tmp_path)
    real, count = _files.Folder.remove, iter(range(100))

    def remove(self: Any, name: str) -> None:
        if next(count) == stops_at:
            raise KeyboardInterrupt
        real(self, name)

    with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        patch.setattr(_files.Folder, "remove", remove)
        data.delete()
    again = convert(frame, tmp_path)
    assert again.written is (stops_at > 0)
    assert sum(pq.ParquetFile(path).metadata.num_rows for path in Path(again.uri).glob("part-*")) == ROWS
    again.delete()
    assert not any(tmp_path.iterdir()), "a second delete removes the rest"


def test_a_write_that_fails_leaves_nothing(session: SparkSession, frame: DataFrame, tmp_path: Path) -> None:
    def fails(i: int) -> int:
        raise ValueError("of the user's function")

    with pytest.raises(Exception, match="of the user's function"):
        convert(frame.select(f.udf(fails, "long")("id").alias("id")), tmp_path)
    assert not any(tmp_path.iterdir())
    assert session.conf.get("spark.sql.parquet.outputTimestampType", None) is None


def test_executors_with_disks_of_their_own(
    session: SparkSession, frame: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that an executor wrote and the driver does not see are an error."""
    real = shardfeed.spark._settings

    @contextlib.contextmanager
    def settings(session: Any) -> Iterator[None]:
        with real(session):
            yield
        file = next(tmp_path.rglob("part-*.parquet"))
        for path in (file, file.with_name(f".{file.name}.crc")):
            path.unlink()

    monkeypatch.setattr(shardfeed.spark, "_settings", settings)
    with pytest.raises(
        errors.StorageError, match=r"Spark wrote 2,000 rows and 1,000 are there; give an address that driver and executors share"
    ):
        convert(frame, tmp_path)
    assert not any(tmp_path.iterdir())


def test_columns_that_cannot_be_written(session: SparkSession, tmp_path: Path) -> None:
    schema = t.StructType([t.StructField("m", MatrixUDT()), t.StructField("vs", t.ArrayType(VectorUDT()))])
    frame = session.createDataFrame([(Matrices.dense(1, 1, [1.0]), [Vectors.dense([1.0])])], schema)
    frame = frame.selectExpr("*", "null as nothing", "parse_json('1') as variant", "make_interval(1) as length", "struct(null as a) as s")
    with pytest.raises(errors.OptionError) as error:
        convert(frame, tmp_path)
    for words in (
        "m, a matrix: make it",
        "vs.element, a vector within a list",
        "nothing, void: give it a type",
        "variant, variant: take",
        "length, interval: write",
        "s.a, void",
    ):
        assert words in str(error.value)


def refused(session: Any, frame: Any, tmp: Path) -> dict[str, tuple[Callable[[], Any], type[Exception], str]]:
    twice = frame.select("id", frame.x.alias("id"))
    return {
        "no frame": (lambda: convert(None, tmp), errors.OptionError, "frame must be a DataFrame of Spark, got None"),
        "pandas": (lambda: convert(frame.limit(1).select("id").toPandas(), tmp), errors.OptionError, "createDataFrame makes one"),
        "stream": (lambda: convert(session.readStream.format("rate").load(), tmp), errors.OptionError, "frame is a stream"),
        "uri": (lambda: convert(frame, 3), errors.OptionError, "uri must be the address of a directory"),
        "glob": (lambda: convert(frame, "/cache/*"), errors.OptionError, "one directory, without '\\*'"),
        "scheme": (lambda: convert(frame, "oss://bucket/x"), errors.OptionError, "shardfeed reads .*hdfs:.*got 'oss://bucket/x'"),
        "secret": (lambda: convert(frame, "oss://me:secret@bucket/x"), errors.OptionError, r"oss://me:\*\*\*@bucket"),
        "no driver": (lambda: convert(frame, "s3a://bucket/x"), errors.OptionError, "--packages org.apache.hadoop:hadoop-aws"),
        "no Google": (lambda: convert(frame, "gs://bucket/x"), errors.OptionError, "com.google.cloud.bigdataoss:gcs-connector"),
        "no Azure": (
            lambda: convert(frame, "abfss://c@account.dfs.core.windows.net/x"),
            errors.OptionError,
            "--packages org.apache.hadoop:hadoop-azure",
        ),
        "unwritable": (
            lambda: convert(frame, "/proc/cache"),
            errors.StorageError,
            "file:/proc/cache/.* cannot be written: .*Mkdirs failed",
        ),
        "size": (lambda: convert(frame, tmp, row_group_bytes="big"), errors.OptionError, "row_group_bytes must be"),
        "flag": (lambda: convert(frame, tmp, shuffle_rows=1), errors.OptionError, "shuffle_rows must be True or False"),
        "version": (lambda: convert(frame, tmp, version=3), errors.OptionError, "version must be a text"),
        "no columns": (lambda: convert(frame, tmp, columns=[]), errors.OptionError, "columns must be a list"),
        "a column": (lambda: convert(frame, tmp, columns=["nam"]), errors.OptionError, "did you mean 'name'"),
        "twice": (lambda: convert(twice, tmp), errors.OptionError, "frame has 'id' more than once"),
        "all": (lambda: convert(None, 3, shuffle_rows=None), errors.OptionError, "3 arguments are wrong"),
    }


REFUSED = """no frame, pandas, stream, uri, glob, scheme, secret, no driver, no Google, no Azure, unwritable, size, flag, version,
 no columns, a column, twice, all"""


@pytest.mark.parametrize("case", [case.strip() for case in REFUSED.split(",")])
def test_bad_arguments(session: SparkSession, frame: DataFrame, tmp_path: Path, case: str) -> None:
    call, kind, says = refused(session, frame, tmp_path)[case]
    with pytest.raises(kind, match=says):
        call()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("hadoop", "ours"),
    [
        ("file:/a b/c", "/a b/c"),
        ("file:///a/c", "/a/c"),
        ("hdfs://namenode:8020/c", "hdfs://namenode:8020/c"),
        ("viewfs://cluster/c", "viewfs://cluster/c"),
        ("s3a://bucket/c", "s3://bucket/c"),
        ("s3n://bucket/c", "s3://bucket/c"),
        ("s3://bucket/c", "s3://bucket/c"),
        ("gs://bucket/c", "gs://bucket/c"),
        ("abfss://c@account.dfs.core.windows.net/d", "abfss://c@account.dfs.core.windows.net/d"),
        ("wasbs://c@account.blob.core.windows.net/d", "wasbs://c@account.blob.core.windows.net/d"),
    ],
)
def test_addresses(hadoop: str, ours: str) -> None:
    assert _files.readable(hadoop) == ours


def test_on_hdfs(session: SparkSession, frame: DataFrame, runtime: Path, hdfs: HDFS) -> None:  # noqa: F811
    uri = f"hdfs://{hdfs.namenode}/cache"
    data = convert(frame, uri)
    assert data.uri.startswith(f"{uri}/")
    assert sorted(ids_of(data)) == list(range(ROWS))
    assert not convert(frame, uri).written
    data.delete()
    assert convert(frame, uri).written


def driver(*arguments: object, **environment: str) -> subprocess.Popen[str]:
    env = {**os.environ, **FRUGAL, **environment}
    env.pop("SHARDFEED_JOB", None)
    command = [sys.executable, str(JOBS / "spark_job.py"), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, start_new_session=True)


def said(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, err = process.communicate(timeout=400)
    assert process.returncode == 0, f"{out}\n{err}"
    return json.loads(out.splitlines()[-1])


def kill(process: subprocess.Popen[str]) -> None:
    """Kills a driver and its JVM, so that neither cleans up."""
    for one in [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            one.kill()
    process.communicate()


def test_a_killed_driver_is_repeated_and_found_by_others(session: SparkSession, source: str, runtime: Path, tmp_path: Path) -> None:
    """A driver is killed half way. The next one writes the frame again, and later ones find it."""
    many_tasks = "--conf spark.sql.files.maxPartitionBytes=1000 --conf spark.sql.files.openCostInBytes=0 pyspark-shell"
    killed = driver("local[1]", source, tmp_path, PYSPARK_SUBMIT_ARGS=many_tasks)
    deadline = time.monotonic() + 200
    while not any("_temporary" in path.parts for path in tmp_path.rglob("part-*")):
        assert killed.poll() is None and time.monotonic() < deadline, killed.communicate()
        time.sleep(0.005)
    kill(killed)
    (name,) = tmp_path.iterdir()
    (half,) = name.iterdir()
    assert not (half / "_SUCCESS").exists(), "it was killed too late for this test"
    first = said(driver("local[2]", source, tmp_path))
    assert first["written"] and Path(first["uri"]).parent == name and Path(first["uri"]) != half
    here = convert(session.read.parquet(source).where("id >= 10"), tmp_path, row_group_bytes="1MiB")
    assert (here.uri, here.written, here.rows) == (first["uri"], False, ROWS - 10)
    assert sorted(ids_of(here)) == list(range(10, ROWS))
    memory = convert(session.createDataFrame([(1, "a")], "id long, name string"), tmp_path)
    assert memory.written, "rows in memory are of the application that has them"
    here.delete()
    assert not name.exists(), "delete removes what the killed one left"


@pytest.mark.parametrize("master", ["local[2]", "local-cluster[2,1,1024]"])
def test_torch_distributor(source: str, scratch: Path, runtime: Path, tmp_path: Path, master: str) -> None:
    told = tmp_path / "told"
    told.mkdir()
    answer = said(driver(master, source, tmp_path / "cache", told))
    lines = [json.loads(path.read_text()) for path in sorted(told.glob("*.json"))]
    assert len(lines) == 2 and all(line["rows"] == answer["rows"] == ROWS - 10 for line in lines)
    assert sorted(i for line in lines for i in line["ids"]) == list(range(10, ROWS)), "each row once"
    assert all(line["ids"] for line in lines)
    assert len({line["engine"] for line in lines}) == 1, "one engine for both"


def test_tables_and_clouds(scratch: Path, runtime: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """TorchDistributor's two processes begin with each place, and one reads the rest of it."""
    found = of_adapters(request, tmp_path)
    told = tmp_path / "told"
    told.mkdir()
    (told / "places.json").write_text(json.dumps({name: [place.uri, place.options, place.column] for name, place in found.items()}))
    env = {**os.environ, **FRUGAL}
    env.pop("SHARDFEED_JOB", None)
    done = subprocess.run([sys.executable, JOBS / "spark_places.py", told], capture_output=True, text=True, env=env, timeout=400)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    for name, place in found.items():
        lines = [json.loads(path.read_text()) for path in told.glob(f"{name} *.json")]
        assert len(lines) == 3 and all(line["ids"] for line in lines), name
        assert sorted(i for line in lines for i in line["ids"]) == place.ids, name


@pytest.mark.parametrize("ours", [False, True], ids=["without", "with"])
def test_the_job_of_the_page(source: str, scratch: Path, runtime: Path, tmp_path: Path, ours: bool) -> None:
    """The job of docs/spark.md, with addresses and processes of this machine."""
    text = job("spark.md", "# Spark")
    if ours:
        text = patched(text, blocks("spark.md", "diff")[0])
        assert "load_dataset" not in text
    here = {
        "hdfs:///warehouse/clicks": source,
        "hdfs:///cache/clicks": str(tmp_path / "cache"),
        "num_processes=8, local_mode=False, use_gpu=True": "num_processes=2, local_mode=True, use_gpu=False",
    }
    for there, mine in here.items():
        assert there in text
        text = text.replace(there, mine)
    program = tmp_path / "job.py"
    program.write_text(text)
    env = {**os.environ, **FRUGAL, "HF_HOME": str(tmp_path / "hf"), "PYSPARK_SUBMIT_ARGS": "--master local[2] pyspark-shell"}
    env.pop("SHARDFEED_JOB", None)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=env, timeout=400)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert re.search(r"loss \d", done.stdout)
    written = list((tmp_path / "cache").rglob("_SUCCESS"))
    assert [len(path.relative_to(tmp_path / "cache").parts) for path in written] == [3 if ours else 1]


def test_delete_needs_a_session(tmp_path: Path) -> None:
    code = f"from shardfeed.spark import Converted; Converted('x', 1, 1, 'file:{tmp_path}', True).delete()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "OptionError: delete needs a Spark session in this process" in done.stderr
