"""The lines of docs/coming-from.md, theirs and ours, read the same rows: make test-peers."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shardfeed
import shardfeed.torch

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "coming-from.md"
PEERS = ROOT / "bench" / "peers" / "requirements"
ENVIRONMENT = dict(os.environ)  # of the user, whose cache has the environments; tests have another one
ROWS = 1024
EVERY = list(range(ROWS))

# Libraries with environments of their own.
needs_peers = pytest.mark.skipif(importlib.util.find_spec("streaming") is None, reason="peers are not installed: make test-peers")


def lines(section: str) -> tuple[str, str]:
    """Their part of a section's example, and ours, in this process alone."""
    text = PAGE.read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    example = re.search(r"```py\n(.*?)```", text, re.S)[1].replace("num_workers=4", "num_workers=0")
    theirs, ours = example.strip().split("\n\n")
    return theirs, ours


def at(code: str, here: dict[str, object]) -> str:
    """A part with what this machine has."""
    for address, path in here.items():
        assert address in code
        code = code.replace(address, str(path))
    return code


def run(code: str, addresses: dict[str, object], **names: Any) -> Any:
    """What a part makes, a loader or a data set, if it keeps one."""
    names |= {"shardfeed": shardfeed, "rank": 0, "world_size": 1}
    exec(at(code, addresses), names)
    return names["loader"] if "loader" in names else names.get("dataset")


def ids(batches: Any, key: Callable[[Any], Any] = lambda batch: batch["id"]) -> list[int]:
    return sorted(int(value) for batch in batches for value in key(batch))


@pytest.fixture
def table(tmp_path) -> Path:
    directory = tmp_path / "table"
    directory.mkdir()
    for first in range(0, ROWS, 256):
        rows = pa.table({"id": np.arange(first, first + 256), "x": np.arange(256, dtype="f4")})
        pq.write_table(rows, directory / f"part-{first:04d}.parquet", row_group_size=64)
    return directory


@pytest.fixture(scope="module")
def pictures() -> list[bytes]:
    """Small JPEGs of the rows."""
    image = pytest.importorskip("PIL.Image")
    made = []
    for row in range(ROWS):
        file = io.BytesIO()
        image.new("RGB", (16, 16), (row % 256, row // 256, 0)).save(file, "JPEG")
        made.append(file.getvalue())
    return made


def test_hugging_face(runtime, table):
    datasets = pytest.importorskip("datasets")
    distributed = pytest.importorskip("datasets.distributed")
    loaders = pytest.importorskip("torchdata.stateful_dataloader")
    theirs, ours = lines("Hugging Face datasets")
    made = run(
        theirs,
        {"s3://bucket/table": table},
        load_dataset=datasets.load_dataset,
        split_dataset_by_node=distributed.split_dataset_by_node,
        StatefulDataLoader=loaders.StatefulDataLoader,
    )
    assert ids(made) == ids(run(ours, {"s3://bucket/table": table})) == EVERY


def test_mosaicml(runtime, table, tmp_path):
    streaming = pytest.importorskip("streaming", reason="mosaicml-streaming is not installed: make test-peers")
    from torch.utils.data import DataLoader

    with streaming.MDSWriter(out=str(tmp_path / "mds"), columns={"id": "int"}) as writer:
        for row in range(ROWS):
            writer.write({"id": row})
    theirs, ours = lines("MosaicML Streaming")
    places = {"s3://bucket/mds": tmp_path / "mds", "/cache": tmp_path / "local"}
    made = run(theirs, places, streaming=streaming, DataLoader=DataLoader)
    assert ids(made) == ids(run(ours, {"s3://bucket/parquet": table, "/cache": tmp_path / "cache"})) == EVERY


def row_of(number: int) -> dict[str, int]:
    return {"id": number}


def test_litdata(runtime, table, tmp_path):
    litdata = pytest.importorskip("litdata", reason="litdata is not installed: make test-peers")
    litdata.optimize(fn=row_of, inputs=EVERY, output_dir=str(tmp_path / "optimized"), chunk_size=256, num_workers=1)
    theirs, ours = lines("LitData")
    made = run(theirs, {"s3://bucket/optimized": tmp_path / "optimized"}, litdata=litdata)
    assert ids(made) == ids(run(ours, {"s3://bucket/parquet": table})) == EVERY


def test_webdataset(runtime, pictures, tmp_path):
    wds = pytest.importorskip("webdataset", reason="webdataset is not installed: make test-peers")
    for shard in range(4):
        with wds.TarWriter(str(tmp_path / f"{shard:03d}.tar")) as tar:
            for row in range(shard * 256, shard * 256 + 256):
                tar.write({"__key__": f"{row:06d}", "jpg": pictures[row], "cls": row})
    (tmp_path / "parquet").mkdir()
    pq.write_table(pa.table({"jpg": pictures, "cls": EVERY}), tmp_path / "parquet" / "part.parquet")
    theirs, ours = lines("WebDataset")
    made = run(theirs, {"s3://bucket/{000..999}.tar": tmp_path / "{000..003}.tar"}, wds=wds)
    loader = run(ours, {"s3://bucket/parquet": tmp_path / "parquet"})
    assert ids(made, lambda batch: batch[1]) == ids(loader, lambda batch: batch["cls"]) == EVERY


def test_grain(runtime, table):
    grain = pytest.importorskip("grain", reason="grain is not installed: make test-peers")
    pytest.importorskip("shardfeed.grain")
    theirs, ours = lines("Grain")
    made = run(theirs, {}, grain=grain, source=[row_of(row) for row in range(ROWS)])
    assert ids(made) == ids(run(ours, {"s3://bucket/table": table})) == EVERY


def theirs_in(environment: str, code: str, out: Path) -> list[int]:
    """The rows that a part reads in an environment of bench/peers."""
    base = venv(ROOT / "python" / "requirements-test.txt")
    python = venv(PEERS / f"{environment}.txt", base) / "bin" / "python"
    job = Path(__file__).parent / "jobs" / "peers.py"
    subprocess.run([python, job, environment, out], input=code, env=ENVIRONMENT, text=True, check=True)
    return sorted(json.loads(out.read_text()))


def venv(*arguments: Path) -> Path:
    made = subprocess.run([ROOT / "tools" / "venv", *arguments], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=True)
    return Path(made.stdout.strip())


@needs_peers
def test_petastorm(runtime, table, tmp_path):
    theirs, ours = lines("Petastorm")
    assert theirs_in("petastorm", at(theirs, {"hdfs://cluster/table": f"file://{table}"}), tmp_path / "rows.json") == EVERY
    rows: list[int] = []
    run(ours, {"hdfs://cluster/table": table}, train=lambda batch: rows.extend(batch["id"].tolist()))
    assert sorted(rows) == EVERY


@needs_peers
def test_ray_data(table, tmp_path):
    theirs, _ = lines("Ray Data")  # test_ray.py runs ours
    assert theirs_in("ray_train", at(theirs, {"s3://bucket/table": table}), tmp_path / "rows.json") == EVERY


@needs_peers
def test_dali(runtime, pictures, tmp_path):
    for row, file in enumerate(pictures):
        directory = tmp_path / "images" / f"{row:04d}"
        directory.mkdir(parents=True)
        (directory / "image.jpg").write_bytes(file)
    theirs, ours = lines("NVIDIA DALI")
    here = {'file_root="images"': f'file_root="{tmp_path}/images"', "device_id=0": "device_id=None", '"mixed"': '"cpu"'}
    assert theirs_in("dali", at(theirs, here), tmp_path / "rows.json") == EVERY
    (tmp_path / "parquet").mkdir()
    pq.write_table(pa.table({"image": pictures, "label": EVERY}), tmp_path / "parquet" / "part.parquet")
    made = run(ours, {"s3://bucket/images": tmp_path / "parquet"})
    assert ids(made, lambda batch: batch["label"]) == EVERY
