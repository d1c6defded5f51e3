"""Charts of bars: a title for each panel, one bar per line; machine, date and command in the foot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from canvas import WIDTH, Canvas

LEFT, LINE, ROOM = 164, 20, 64  # of names, of a bar, of the figure behind the longest bar


@dataclass(frozen=True)
class Bar:
    """shown is the figure after the bar. A span has a start above 0."""

    name: str
    value: float
    shown: str
    ours: bool = False
    start: float = 0.0


@dataclass(frozen=True)
class Panel:
    """A panel with ticks is logarithmic, from the first tick."""

    title: str
    bars: Sequence[Bar]
    ticks: Sequence[float] = ()


def short(value: float) -> str:
    """A value with two digits or three, such as 87k or 1.3M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.2g}{unit}" if value < 10 * size else f"{value / size:.0f}{unit}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def draw(label: str, panels: Sequence[Panel], foot: Sequence[str]) -> str:
    c = Canvas(label)
    y = 18.0
    for panel in panels:
        c.text(8, y, panel.title, "title")
        y += 8
        grid = (y, y + LINE * len(panel.bars))
        alone = all(bar.ours for bar in panel.bars)
        place = _places(panel)
        for tick in panel.ticks:
            c.rule(LEFT + place(tick), *grid)
        for bar in panel.bars:
            start = place(bar.start) if bar.start else 0.0
            length = max(1.5, place(bar.value) - start)
            c.text(LEFT - 8, y + 14, bar.name, "title" if bar.ours and not alone else "", "end")
            c.box(LEFT + start, y + 3, length, LINE - 6, "ours" if bar.ours else "other")
            c.text(LEFT + start + length + 6, y + 14, bar.shown, "quiet")
            y += LINE
        for tick in panel.ticks:
            c.text(LEFT + place(tick), y + 12, f"{tick:g}x", "small quiet", "middle")
        y += 42 if panel.ticks else 28
    for line in foot:
        c.text(8, y - 6, line, "small quiet")
        y += 15
    return c.svg(y - 8)


def _places(panel: Panel):
    width = WIDTH - LEFT - ROOM
    if not panel.ticks:
        most = max(bar.value for bar in panel.bars)
        return lambda value: width * value / most
    first, last = math.log(panel.ticks[0]), math.log(max(panel.ticks[-1], max(bar.value for bar in panel.bars)))
    return lambda value: width * (math.log(value) - first) / (last - first)
