"""The types of stats(): those of its JSON Schema. UPDATE_DOCS=1 writes them."""

from __future__ import annotations

import contextlib
import json
import os
import textwrap
from pathlib import Path
from typing import Any

import pytest

import shardfeed
from shardfeed import _stats

pytestmark = pytest.mark.usefixtures("runtime")

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/reference/json/stats.schema.json").read_text())
TYPES = {"any": "object", "integer": "int", "number": "float", "string": "str", "boolean": "bool"}

HEAD = '''"""The figures that ``stats()`` returns. A test makes this of their JSON Schema."""

from __future__ import annotations

from typing import TypedDict

'''


def kinds(schema: dict[str, Any]) -> list[str]:
    found = schema.get("type", "any")
    return found if isinstance(found, list) else [found]


class Module:
    """The classes of objects, each after those it uses."""

    def __init__(self) -> None:
        self.classes: list[str] = []

    def type_of(self, name: str, schema: dict[str, Any]) -> str:
        [kind, *null] = kinds(schema)
        if kind == "array":
            found = f"list[{self.type_of(name.removesuffix('s'), schema['items'])}]"
        elif kind == "object" and "properties" not in schema:
            found = f"dict[str, {self.type_of(name, schema['additionalProperties'])}]"
        else:
            found = self.object(name, schema) if kind == "object" else TYPES[kind]
        return f"{found} | None" if null else found

    def object(self, name: str, schema: dict[str, Any]) -> str:
        lines = []
        for member, of in schema["properties"].items():
            text = f"    {member}: {self.type_of(name + member.title().replace('_', ''), of)}"
            if "description" in of:
                lines += textwrap.wrap(of["description"], 96, initial_indent="    # ", subsequent_indent="    # ")
            lines.append(text)
        total = "" if len(schema["required"]) == len(schema["properties"]) else ", total=False"
        doc = '    """What ``stats()`` returns."""\n\n' if name == "Stats" else ""
        self.classes.append(f"\nclass {name}(TypedDict{total}):\n{doc}" + "\n".join(lines) + "\n")
        return name


def rendered() -> str:
    module = Module()
    module.object("Stats", SCHEMA)
    return HEAD + "\n".join(module.classes)


def check(value: Any, schema: dict[str, Any], at: str) -> None:
    allowed = kinds(schema)
    if allowed == ["any"]:
        return
    if value is None:
        assert "null" in allowed, at
    elif "object" in allowed:
        properties, rest = schema.get("properties", {}), schema.get("additionalProperties")
        assert set(schema.get("required", ())) <= set(value), at
        for name, of in value.items():
            assert name in properties or rest, f"{at}.{name}"
            check(of, properties.get(name, rest), f"{at}.{name}")
    elif "array" in allowed:
        for n, of in enumerate(value):
            check(of, schema["items"], f"{at}[{n}]")
    else:
        of = {"integer": int, "number": (int, float), "string": str, "boolean": bool}[allowed[0]]
        assert isinstance(value, of), f"{at} is {value!r}"


def test_the_types_are_those_of_the_schema():
    path = Path(_stats.__file__)
    if os.environ.get("UPDATE_DOCS"):
        path.write_text(rendered())
    assert path.read_text() == rendered(), "UPDATE_DOCS=1 pytest tests/test_stats.py writes python/src/shardfeed/_stats.py"


@pytest.mark.parametrize("epochs", [0, 2])
def test_the_figures_are_as_in_the_schema(shards, epochs):
    dataset = shardfeed.StreamingDataset(shards, batch_size=100)
    with contextlib.closing(dataset) if hasattr(dataset, "close") else contextlib.nullcontext():
        for _ in range(epochs):
            for _ in dataset:
                pass
        check(dataset.stats(), SCHEMA, "stats()")


def test_the_figures_of_torch_are_as_in_the_schema(shards):
    torch = pytest.importorskip("shardfeed.torch")
    with torch.DataLoader(shards, batch_size=100) as loader:
        for _ in loader:
            pass
        figures = loader.stats()
    check(figures, SCHEMA, "stats()")
    assert figures["rows"] == 4000
