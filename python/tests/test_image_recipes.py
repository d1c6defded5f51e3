"""The recipes of docs/image-transforms.md for transforms of the user's own run, where their packages are installed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

ROOT = Path(__file__).resolve().parents[2]
SHOP = ROOT / "testdata" / "shop"
FILE = "# transforms.py\n"  # how a block begins that is a file of its own

pytestmark = [
    pytest.mark.usefixtures("job"),
    pytest.mark.filterwarnings("ignore::shardfeed.NullWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the packages
]


def recipes() -> dict[str, list[str]]:
    """The blocks of each recipe, by the module that it imports: a file and the program, or the program alone."""
    text = (ROOT / "docs" / "image-transforms.md").read_text()
    part = text[: text.index("**On the GPU**")]
    found: dict[str, list[str]] = {}
    waiting: list[str] = []
    for block in re.findall(r"```py\n(.*?)```", part, re.S):
        waiting.append(block)
        if not block.startswith(FILE):
            found[name(waiting)] = waiting
            waiting = []
    return found


def name(blocks: list[str]) -> str:
    package = re.findall(r"^(?:import|from) (kornia|albumentations|torchvision)", blocks[0], re.M)[0]
    where = re.findall(r"num_workers|threads", blocks[-1])
    return " ".join([package, *where])


def test_all_are_found() -> None:
    assert list(recipes()) == ["torchvision", "kornia num_workers", "albumentations num_workers", "torchvision threads"]


@pytest.mark.parametrize("recipe", recipes())
def test_recipe(recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_ALBUMENTATIONS_UPDATE", "1")  # it would ask the network for its last version
    pytest.importorskip(recipe.split()[0])
    *files, program = recipes()[recipe]
    for file in files:
        (tmp_path / "transforms.py").write_text(file)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "transforms", raising=False)
    assert program.count('"s3://bucket/shop"') == 1
    names: dict[str, Any] = {}
    exec(compile(program.replace('"s3://bucket/shop"', repr(str(SHOP))), recipe, "exec"), names)
    rows = 0
    for batch in names["loader"]:
        pixels = batch["img_jpg"]
        assert pixels.shape[1:] == (3, 224, 224) and pixels.dtype == (torch.float32 if "kornia" in recipe else torch.uint8)
        assert pixels.float().std() > 0
        rows += len(pixels)
    assert rows == names["loader"].size
    names["loader"].close()
    sys.modules.pop("transforms", None)
    if recipe == "torchvision":
        assert names["pixels"].dtype == torch.float32
