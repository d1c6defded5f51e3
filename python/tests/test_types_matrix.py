"""The files of the value matrix, which five writers wrote: each column is what pyarrow reads."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shardfeed import StreamingDataset

MATRIX = Path(__file__).resolve().parents[2] / "testdata" / "matrix"

# That of the user, who has the files already: fixtures change it for the engine.
ENVIRONMENT = dict(os.environ)

# Only pyarrow's own annotation of a file says that these integers are durations.
UNLIKE = {pa.duration("us"): pa.int64()}


def matrix() -> Path:
    """The directory of files, which are made when they are not there."""
    run = {"cwd": MATRIX, "env": ENVIRONMENT, "check": True, "capture_output": True, "text": True}
    venv = subprocess.run(["../../tools/venv", "../requirements.txt"], **run).stdout.strip()
    made = subprocess.run([f"{venv}/bin/python", "-c", "import gen; print(gen.directory(gen.ROWS))"], **run).stdout
    return Path(made.strip().splitlines()[-1])


def differences(path: Path) -> list[str]:
    """The columns that differ."""
    want = pq.ParquetFile(path).read()
    dataset = StreamingDataset(path, batch_size=256, shuffle=False, cache=False)
    got = pa.Table.from_batches([batch.to_arrow() for batch in dataset])
    return [name for name in want.schema.names if not equal(want[name], got[name])]


def equal(want: pa.ChunkedArray, got: pa.ChunkedArray) -> bool:
    if got.type != want.type and want.type not in UNLIKE:
        got = got.cast(want.type)  # large strings, dictionaries, time zones: in the file they are all the same
    if want.type in UNLIKE:
        want = want.cast(UNLIKE[want.type])
    return want.equals(got) or repr(want.to_pylist()) == repr(got.to_pylist())  # NaN equals nothing


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
def test_matrix(runtime):
    compared, wrong, held = 0, {}, None
    for path in sorted(matrix().rglob("*.parquet")):
        try:
            if pq.ParquetFile(path).metadata.num_rows == 0:
                continue
            pq.ParquetFile(path).read()
        except (OSError, pa.ArrowException):
            continue  # pyarrow does not read it; the command's own test does
        if found := differences(path):
            wrong[str(path)] = found
        held = held or StreamingDataset(path, batch_size=1, cache=False)  # keeps the engine
        compared += 1
    assert not wrong
    assert compared > 300
