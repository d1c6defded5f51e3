"""Tables for notebooks."""

from __future__ import annotations

import html
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._printable import printable

FIRST = 3  # values of a column that are shown
_MOST_ROWS = 100


def table(title: str, header: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Returns a table with a title. Everything in it is shown as text."""
    lines = list(lines)
    head = "".join(f"<th style='text-align:left'>{html.escape(h)}</th>" for h in header)
    body = "".join(f"<tr>{''.join(map(_cell, line))}</tr>" for line in lines[:_MOST_ROWS])
    more = f"<div>and {len(lines) - _MOST_ROWS} more</div>" if len(lines) > _MOST_ROWS else ""
    return f"<div><b>{html.escape(title)}</b></div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def facts(title: str, given: Iterable[tuple[str, object]]) -> str:
    """Returns a table of names and values."""
    body = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th>{_cell(value)}</tr>" for name, value in given)
    return f"<div><b>{html.escape(title)}</b></div><table><tbody>{body}</tbody></table>"


def images(given: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, object]]:
    """What is made of image columns, given in the engine's form."""
    return [(f"images of {column}", _image(image)) for column, image in given.items()]


def _image(given: Mapping[str, Any]) -> str:
    if "declared" in given:
        return "as declared"
    if "array" in given:
        return f"arrays of shape {tuple(given['array']['shape'])}, {given['array']['dtype']}"
    return f"{given['crop'] or 'whole'} to {given['size'][0]} x {given['size'][1]}, {given['dtype']} {given['layout']}"


def first(values: Iterable[Any]) -> str:
    """The first values of a column, shortened."""
    shown = [reprlib.repr(value) for value, _ in zip(values, range(FIRST))]
    return ", ".join([*shown, "..."]) if shown else ""


def _cell(value: object) -> str:
    return f"<td style='text-align:left'>{html.escape(printable(str(value)))}</td>"
