"""The README's examples run, and its table of types is what the schemas say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shardfeed._schema import Field

PYTHON = Path(__file__).resolve().parents[1]


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
def test_examples(runtime, monkeypatch):
    monkeypatch.chdir(PYTHON.parent / "testdata")
    examples = re.findall(r"```python\n(.*?)```", (PYTHON / "README.md").read_text(), re.S)
    assert len(examples) >= 4
    names: dict = {}
    for example in examples:
        exec(compile(example, "README.md", "exec"), names)
    assert names["tokens"].shape == (len(names["lengths"]), int(names["lengths"].max()))


def test_first_screen(runtime, monkeypatch, capsys):
    monkeypatch.chdir(PYTHON.parent)
    example = re.search(r"```python\n(.*?)```", (PYTHON.parent / "README.md").read_text(), re.S)[1]
    exec(compile(example, "README.md", "exec"), {})
    assert len(capsys.readouterr().out.splitlines()) == 8


def rows() -> dict[str, tuple[str, str]]:
    """The table of types by its second cell."""
    lines = [line.strip("| \n").split(" | ") for line in (PYTHON / "README.md").read_text().splitlines() if line.startswith("| ")]
    return {cells[1]: (cells[2], cells[3]) for cells in lines if len(cells) == 4 and cells[1].startswith("`")}


@pytest.mark.parametrize(
    "cell, field",
    [
        ("`bool`", Field("x", "fixed", "bool", 1)),
        ("`date`", Field("x", "fixed", "date", 4)),
        ("`int96`", Field("x", "fixed", "int96", 12)),
        ("`null`", Field("x", "null", "null")),
        ("`uuid`", Field("x", "fixed", "uuid", 16)),
        ("`time`", Field("x", "fixed", "time", 8, unit="us")),
        ("`timestamp`", Field("x", "fixed", "timestamp", 8, unit="us")),
        ("`interval`", Field("x", "fixed", "interval", 12)),
        ("`fixed binary`", Field("x", "fixed", "fixed binary", 5)),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_table_of_types(cell, field):
    shown, in_torch = rows()[cell]
    assert re.search(r"`(\w+)(\[\w+\])?`", shown)
    name = re.sub(r"\[us\]|5$", "", str(field.dtype).replace("|", "")) if field.dtype.names is None else "months"
    assert f"`{name}" in shown, (name, shown)
    if field.kind == "fixed":
        plain = field.storage(plain=True)
        assert f"`{plain.shown}`" in in_torch.replace("torch.", ""), (plain.shown, in_torch)


def test_arguments_are_all_there():
    from shardfeed._options import Options

    text = (PYTHON / "README.md").read_text()
    table = text[text.index("## Arguments") : text.index("## The engine")]
    named = set(re.findall(r"`(\w+)`", "".join(line.split(" | ")[0] for line in table.splitlines() if line.startswith("| `"))))
    assert set(Options.__dataclass_fields__) <= named
