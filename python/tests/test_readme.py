"""The examples of the README and of docs/ run, and the tables of types and arguments are what the code says."""

from __future__ import annotations

import json
import re
import runpy
import warnings
from pathlib import Path

import pytest
from sketches import problems

import shardfeed
from shardfeed._columns._field import Field

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "python" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.S)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.filterwarnings("ignore::shardfeed.NullWarning")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_examples(page, runtime, monkeypatch, capsys):
    """The python blocks of a page run one after the other, in the root of the repository as the pages say."""
    monkeypatch.chdir(ROOT)
    names: dict = {}
    for example in blocks(page, "python"):
        exec(compile(example, name(page), "exec"), names)
    if page == ROOT / "README.md":
        assert len(capsys.readouterr().out.splitlines()) == 8


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "py")], ids=name)
def test_sketches(page):
    """The py blocks, which need a model or a cluster, are Python, and call this package by its signatures."""
    names: dict = {}
    for example in blocks(page, "python"):
        problems(example, names)
    found = [problem for example in blocks(page, "py") for problem in problems(example, names)]
    assert not found


@pytest.mark.parametrize(
    "example, problem",
    [
        ("from shardfeed.torch import DataLoader\nDataLoader('x', batch_size=1, shufle=True)", "shufle"),
        ("import shardfeed\nshardfeed.torch.DataLoader('x', 'y', 'z')", "positional"),
        ("Pack({'text': 1}, sep=2)", "sep"),
        ("from torch.utils.data import DataLoader\nDataLoader(anything=1)", ""),
    ],
)
def test_problems_of_sketches(example, problem):
    found = problems(example, {})
    assert bool(found) == bool(problem)
    assert not problem or problem in found[0]


def test_padded_lists(runtime, monkeypatch):
    monkeypatch.chdir(ROOT)
    (example,) = [block for block in blocks(ROOT / "docs" / "columns.md", "python") if "max_length" in block]
    names: dict = {}
    exec(compile(example, "columns.md", "exec"), names)
    assert names["tokens"].shape == (len(names["lengths"]), int(names["lengths"].max()))


def rows() -> dict[str, tuple[str, str]]:
    """The table of types by its second cell."""
    text = (ROOT / "docs" / "columns.md").read_text()
    lines = [line.strip("| \n").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {cells[1]: (cells[2], cells[3]) for cells in lines if len(cells) == 4 and cells[1].startswith("`")}


@pytest.mark.parametrize(
    "cell, field",
    [
        ("`bool`", Field("x", "fixed", "bool", 1)),
        ("`date`", Field("x", "fixed", "date", 4)),
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


def test_drawings_of_the_order(runtime, engine_binary, monkeypatch):
    """The rows that the drawings show are those that training gets."""
    monkeypatch.setenv("SHARDFEED_BIN", str(engine_binary))
    charts = ROOT / "tools/docs/charts"
    orders = runpy.run_path(str(charts / "orders.py"))["orders"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", shardfeed.ShardfeedWarning)
        assert orders() == json.loads((charts / "orders.json").read_text())


def test_arguments_are_all_there():
    from shardfeed._keywords import DatasetOptions

    table = (ROOT / "docs" / "arguments.md").read_text().splitlines()
    named = set(re.findall(r"`(\w+)`", "".join(line.split(" | ")[0] for line in table if line.startswith("| `"))))
    assert set(DatasetOptions.__annotations__) <= named
