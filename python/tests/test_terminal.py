"""A stranger's table on a terminal: control characters and characters that reverse text are escaped."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

# A title, a colour by C1, a text that reads backwards, a line separator.
NASTY = "a\x1b]0;title\x07\u009b31m\u202ecod\u2066.exe\u2028\x85\x7f"
UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
OURS = re.compile(r"\r?\x1b\[[0-9;]*[A-Za-z]|\r")  # what progress bars write, and the end of a line


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("nasty")
    columns = {NASTY: [1, 2], "text": [NASTY, "b"], "list": [[NASTY], []], "member": [{NASTY: NASTY}, None]}
    pq.write_table(pa.table(columns), directory / "a.parquet")
    return directory


def on_terminal(*command: str) -> str:
    """What a command writes to a terminal, without what is ours."""
    master, terminal = pty.openpty()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal, env={**os.environ, "TERM": "xterm"})
    os.close(terminal)
    shown = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        shown += part
    os.close(master)
    process.wait(60)
    return OURS.sub("", shown.decode())


@pytest.mark.parametrize(
    "arguments",
    [
        ["cat"],
        ["cat", "--format", "csv"],
        ["cat", "--columns", NASTY],
        ["head"],
        ["head", "--full"],
        ["head", "--format", "jsonl"],
        ["sample", "--limit", "2"],
        ["schema"],
        ["schema", "--json"],
        ["inspect"],
        ["inspect", "--json"],
        ["plan", "--json"],
        ["vocab", "--column", "text"],
        ["cat", "--columns", f"missing{NASTY}"],
        ["cat", "--where", f"text = {NASTY}"],
        ["verify"],
    ],
    ids=" ".join,
)
def test_the_command_shows_nothing_raw(engine_binary: Path, table: Path, arguments: list[str]) -> None:
    shown = on_terminal(str(engine_binary), arguments[0], str(table), *arguments[1:])
    assert shown.strip() and not (found := UNSAFE.findall(shown)), f"{found}: {shown!r}"


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize(
    "code",
    [
        "shardfeed.StreamingDataset(table, batch_size=2, columns=['missing'])",
        "next(iter(shardfeed.StreamingDataset(table, batch_size=2)))['missing']",
        "print(shardfeed.StreamingDataset(table, batch_size=2))",
        "print(next(iter(shardfeed.StreamingDataset(table, batch_size=2))))",
        "print(shardfeed.StreamingDataset(table, batch_size=2).schema)",
        "print(shardfeed.StreamingDataset(table, batch_size=2)._repr_html_())",
        "print(next(iter(shardfeed.StreamingDataset(table, batch_size=2)))._repr_html_())",
        "shardfeed.StreamingDataset(table, batch_size=2, pad={'text': 0})",
        "next(iter(shardfeed.StreamingDataset(table, batch_size=2, filters='`x` = 1')))",
    ],
)
def test_python_shows_nothing_raw(table: Path, code: str) -> None:
    shown = on_terminal(sys.executable, "-c", f"import shardfeed; table = {str(table)!r}; {code}")
    assert shown.strip() and not (found := UNSAFE.findall(shown)), f"{found}: {shown!r}"
