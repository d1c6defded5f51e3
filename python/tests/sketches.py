"""Calls of this package in a page's sketches, which no test can run, against their signatures."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import shardfeed
import shardfeed.torch

PACKAGES = (
    "shardfeed",
    "shardfeed.torch",
    "shardfeed.jax",
    "shardfeed.grain",
    "shardfeed.ray",
    "shardfeed.spark",
    "shardfeed.torchtitan",
    "shardfeed.lightning",
)


def problems(example: str, names: dict[str, Any]) -> list[str]:
    """The calls that would fail before they do anything.

    names holds the objects of the package that examples of the page have imported so far; the imports of this one are added.
    """
    tree = ast.parse(example)
    _imported(tree, names)
    return [f"line {call.lineno}: {problem}" for call, function in _calls(tree, names) for problem in _refused(call, function)]


def _imported(tree: ast.AST, names: dict[str, Any]) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in PACKAGES:
                    module = _module(alias.name)
                    names[alias.asname or "shardfeed"] = module if alias.asname else shardfeed
        elif isinstance(node, ast.ImportFrom):
            ours = node.module in PACKAGES and _module(node.module)
            for alias in node.names:
                names[alias.asname or alias.name] = getattr(ours, alias.name) if ours else None


def _module(name: str) -> Any:
    """None where the framework of a module is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _calls(tree: ast.AST, names: dict[str, Any]) -> Iterator[tuple[ast.Call, Callable[..., Any]]]:
    """The calls of this package's functions and classes, as the page's imports name them."""
    known = {**{name: getattr(shardfeed, name) for name in shardfeed.__all__}, "shardfeed": shardfeed, **names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = _named(node.func, known)
            if callable(function) and getattr(function, "__module__", "").startswith("shardfeed"):
                yield node, function


def _named(node: ast.expr, known: dict[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute) and (owner := _named(node.value, known)) is not None:
        if inspect.ismodule(owner) and not hasattr(owner, node.attr):
            return _module(f"{owner.__name__}.{node.attr}")
        return getattr(owner, node.attr)
    return None


def _refused(call: ast.Call, function: Callable[..., Any]) -> Iterator[str]:
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(k.arg is None for k in call.keywords):
        return
    try:
        inspect.signature(function).bind(*call.args, **{k.arg: k.value for k in call.keywords})
    except TypeError as e:
        yield f"{ast.unparse(call.func)}: {e}"
