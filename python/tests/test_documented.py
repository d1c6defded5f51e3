"""The constructor of every public class has a text."""

from __future__ import annotations

import importlib
import inspect
import pydoc
import typing
from collections.abc import Iterator

import pytest

MODULES = (
    "",
    ".augment",
    ".errors",
    ".grain",
    ".jax",
    ".lightning",
    ".ray",
    ".samplers",
    ".spark",
    ".torch",
    ".torch.huggingface",
    ".torchtitan",
)
WITHOUT_ONE = "Initialize self"  # the text of object.__init__


def public(module: object) -> Iterator[tuple[str, type]]:
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    for name in names:
        value = getattr(module, name)
        if inspect.isclass(value) and value.__module__.startswith("shardfeed"):
            yield name, value


@pytest.mark.parametrize("of", MODULES)
def test_every_class(of):
    try:
        module = importlib.import_module("shardfeed" + of)
    except ModuleNotFoundError as e:
        if (e.name or "").startswith("shardfeed"):
            raise
        pytest.skip(f"{e.name} is not installed")
    found = list(public(module))
    assert found, of
    for name, cls in found:
        assert cls.__doc__, name
        if typing.is_typeddict(cls):  # a dict, which has no constructor of its own
            continue
        assert WITHOUT_ONE not in pydoc.render_doc(cls, renderer=pydoc.plaintext), name
        if cls.__init__ is not object.__init__:
            assert WITHOUT_ONE not in (inspect.getdoc(cls.__init__) or WITHOUT_ONE), name
