"""Strings that are not UTF-8: the error names the option, and each verb that reads values has it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import shardfeed
from shardfeed.errors import DataError

pa = pytest.importorskip("pyarrow")

import pyarrow.parquet as pq  # noqa: E402

VERBS = [
    ["count", "--where", "t = 'a'"],
    ["plan", "--where", "t = 'a'"],
    ["select", "--where", "t = 'a'", "--save", "chosen.rows"],
    ["vocab", "--column", "t"],
    ["vocab", "--column", "t", "--min-count", "1"],
    ["head"],
    ["verify"],
]


@pytest.fixture(params=[False, True], ids=["plain", "dictionary"])
def bad(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    offsets = pa.py_buffer(b"".join(n.to_bytes(4, "little") for n in (0, 1, 3, 4)))
    text = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"a\xff\xfeb")])
    pq.write_table(pa.table({"t": text}), tmp_path / "a.parquet", use_dictionary=request.param)
    return tmp_path / "a.parquet"


def test_the_error_names_the_argument(runtime: Path, bad: Path) -> None:
    with pytest.raises(DataError, match=r"not UTF-8: .* \(set invalid_utf8 to replace, to read each such byte as U\+FFFD\)"):
        next(iter(shardfeed.StreamingDataset(bad, batch_size=3, shuffle=False, cache=False)))
    batch = next(iter(shardfeed.StreamingDataset(bad, batch_size=3, shuffle=False, cache=False, invalid_utf8="replace")))
    assert batch["t"].tolist() == ["a", "\ufffd\ufffd", "b"]


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_verbs(runtime: Path, bad: Path, verb: list[str], tmp_path: Path) -> None:
    def run(*more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [os.environ["SHARDFEED_BIN"], verb[0], str(bad), *verb[1:], *more], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    refused = run()
    assert refused.returncode != 0
    assert "not UTF-8" in refused.stdout + refused.stderr
    assert "(set --invalid-utf8 to replace, to read each such byte as U+FFFD)" in refused.stdout + refused.stderr
    assert run("--invalid-utf8", "replace").returncode == 0
