"""Type checkers accept and refuse what they should, and the arguments are documented and typed one by one."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated, get_type_hints

import pytest

import shardfeed
from shardfeed._args._arguments import parameters_of
from shardfeed._keywords import DatasetOptions, MapOptions

PACKAGE = Path(__file__).resolve().parents[1]
SNIPPETS = Path(__file__).parent / "typed" / "snippets.py"

# Torch's types are not looked at: mypy takes minutes for them.
MYPY = (
    "[mypy]\npython_version = 3.12\nmypy_path = {src}\nstrict = True\nwarn_unused_ignores = False\n[mypy-torch.*]\nfollow_imports = skip\n"
)


@pytest.fixture(scope="module")
def checkers() -> Path:
    """The programs of an environment that has the type checkers."""
    command = [PACKAGE.parent / "tools" / "venv", PACKAGE / "requirements-types.txt"]
    made = subprocess.run(command, check=True, capture_output=True, text=True)
    return Path(made.stdout.strip()) / "bin"


def expected(*marks: str) -> set[int]:
    """The lines of the snippets that have to be refused."""
    return {n for n, line in enumerate(SNIPPETS.read_text().splitlines(), 1) if line.endswith(marks)}


def refused(output: str) -> set[int]:
    return {int(line) for line in re.findall(rf"{SNIPPETS.name}:(\d+):.*? error: ", output)}


@pytest.mark.timeout(600)  # the first run reads numpy's types
def test_mypy(checkers: Path, tmp_path: Path) -> None:
    config = tmp_path / "mypy.ini"
    config.write_text(MYPY.format(src=PACKAGE / "src"))
    command = [
        checkers / "mypy",
        "--config-file",
        config,
        "--python-executable",
        sys.executable,
        "--cache-dir",
        checkers.parent / ".mypy",
        SNIPPETS,
    ]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode in (0, 1), checked.stderr
    assert refused(checked.stdout) == expected("# error"), checked.stdout


@pytest.mark.timeout(600)
def test_pyright(checkers: Path, tmp_path: Path) -> None:
    config = tmp_path / "pyrightconfig.json"
    config.write_text(json.dumps({"include": [str(SNIPPETS)], "extraPaths": [str(PACKAGE / "src")], "typeCheckingMode": "standard"}))
    command = [checkers / "basedpyright", "--project", config, "--pythonpath", sys.executable, "--outputjson"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode in (0, 1), checked.stderr
    found = [d for d in json.loads(checked.stdout)["generalDiagnostics"] if d["severity"] == "error"]
    assert {d["range"]["start"]["line"] + 1 for d in found} == expected("# error", "# error: pyright"), [
        (d["file"], d["range"]["start"], d["message"]) for d in found
    ]


class More(DatasetOptions, total=False):
    """The options with further ones."""

    fresh: int | None
    lively: Annotated[bool, True]


def test_signatures_are_made_of_the_typed_options() -> None:
    made = {p.name: p for p in parameters_of(More)}
    assert str(made["fresh"]) == "fresh: 'int | None' = None" and str(made["lively"]) == "lively: 'bool' = True"
    for kind, options in ((shardfeed.StreamingDataset, DatasetOptions), (shardfeed.MapDataset, MapOptions)):
        shown = inspect.signature(kind).parameters
        assert set(shown) - {"uri", "batch_size"} == set(options.__annotations__)
        assert {name: str(shown[name]) for name in options.__annotations__} == {p.name: str(p) for p in parameters_of(options)}
        resolved = get_type_hints(kind.__init__)
        assert set(resolved) - {"uri", "batch_size", "return"} == set(options.__annotations__) and resolved["timeout"] == float | None


def shown(default: object) -> str:
    """A default as the documentation writes it."""
    return f'"{default}"' if isinstance(default, str) else f"{default:g}" if isinstance(default, float) else str(default)


def test_each_argument_is_documented() -> None:
    torch = pytest.importorskip("shardfeed.torch")
    for kind in (shardfeed.StreamingDataset, torch.StreamingDataset, torch.DataLoader):
        text = inspect.getdoc(kind)
        assert text is not None
        _, _, documented = text.partition("Args:\n")
        parameters = inspect.signature(kind).parameters
        for name, parameter in parameters.items():
            line = next((line for line in documented.splitlines() if re.match(rf"    (\w+, )*{name}\b.*\(", line)), "")
            assert line, f"{kind} does not document {name}"
            if parameter.default not in (inspect.Parameter.empty, None):
                assert f"default {shown(parameter.default)})" in line, line
        assert max(map(len, text.splitlines())) <= 112, "it is read in a notebook"


def test_a_loader_has_the_arguments_of_its_data_set() -> None:
    torch = pytest.importorskip("shardfeed.torch")
    own = inspect.signature(torch.DataLoader).parameters
    assert {"data", "device", "num_workers", "batch_size", "columns", "timeout"} <= set(own) and "options" not in own
