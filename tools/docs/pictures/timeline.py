"""Draws a part of a trace, as a timeline viewer shows it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

WIDTH, LEFT, LANE, GAP = 960, 150, 22, 5  # pixels
SPAN = 260_000.0  # microseconds
LETTER = 7.4  # pixels of a letter

# Of events by their names, in light and in dark mode alike.
COLORS = {
    "shardfeed.next": "#6e7781",
    "shardfeed.batch": "#8c959f",
    "ready": "#2da44e",
    "storage": "#bf8700",
    "cache": "#a475f9",
    "decode": "#218bff",
    "room": "#cf222e",
    "memory": "#a40e26",
    "collate": "#1b7c83",
    "handover": "#57606a",
    "map": "#bf3989",
    "copy": "#e16f24",
}

STYLE = """text { font: 11px system-ui, sans-serif; fill: #57606a } .on { fill: #fff } .ground { fill: #f6f8fa } .rule { stroke: #d0d7de }
@media (prefers-color-scheme: dark) { text { fill: #9198a1 } .on { fill: #fff } .ground { fill: #161b22 } .rule { stroke: #30363d } }"""


def draw(trace: Path, file: Path) -> None:
    opened = gzip.open if trace.suffix == ".gz" else open
    with opened(trace, "rt", encoding="utf-8") as text:
        events = json.load(text)["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    spans = [e for e in events if e["ph"] == "X"]
    begin = _start(spans)
    shown = [e for e in spans if e["ts"] + e["dur"] > begin and e["ts"] < begin + SPAN]
    tracks = sorted({e["tid"] for e in shown}, key=lambda tid: (_order(names[tid]), names[tid]))
    top = 24
    height = top + len(tracks) * (LANE + GAP) + 24
    scale = (WIDTH - LEFT) / SPAN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"',
        f'  aria-label="A trace of {SPAN / 1e3:.0f} ms of training">',
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}" rx="6"/>',
    ]
    for ms in range(0, int(SPAN / 1e3), 20):
        x = LEFT + ms * 1e3 * scale
        lines.append(f'<line class="rule" x1="{x:.1f}" x2="{x:.1f}" y1="{top - 4}" y2="{height - 20}"/>')
        lines.append(f'<text x="{x:.1f}" y="14">{ms} ms</text>')
    for row, track in enumerate(tracks):
        y = top + row * (LANE + GAP)
        lines.append(f'<text x="8" y="{y + 15}">{escape(names[track].removeprefix("shardfeed "))}</text>')
        for event in sorted((e for e in shown if e["tid"] == track), key=lambda e: -e["dur"]):
            lines += _box(event, y, begin, scale)
    lines += [*_legend(shown, height - 8), "</svg>"]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _start(spans: list[dict[str, Any]]) -> float:
    """A little before the longest wait of the second half of the trace."""
    nexts = sorted((e for e in spans if e["name"] == "shardfeed.next"), key=lambda e: e["ts"])
    longest = max(nexts[len(nexts) // 4 : -len(nexts) // 4], key=lambda e: e["dur"])
    return longest["ts"] - SPAN / 3


def _order(name: str) -> int:
    return 0 if " next" in name else 1 if " batch" in name else 2


def _box(event: dict[str, Any], y: float, begin: float, scale: float) -> list[str]:
    from_ = max(event["ts"], begin)
    to = min(event["ts"] + event["dur"], begin + SPAN)
    x, width = LEFT + (from_ - begin) * scale, max((to - from_) * scale, 0.6)
    whole = event["name"] in ("shardfeed.next", "shardfeed.batch")
    inset = 0 if whole else 3
    color = COLORS.get(event["name"].split()[0], "#57606a")
    title = f"<title>{escape(event['name'])}, {event['dur'] / 1e3:.1f} ms</title>"
    box = f'<rect x="{x:.1f}" y="{y + inset}" width="{width:.1f}" height="{LANE - 2 * inset}" rx="2" fill="{color}">{title}</rect>'
    label = event["name"].removeprefix("shardfeed.")
    fits = not whole and width > LETTER * len(label) + 6
    return [box] + ([f'<text class="on" x="{x + 4:.1f}" y="{y + 15}">{escape(label)}</text>'] if fits else [])


def _legend(shown: list[dict[str, Any]], y: float) -> list[str]:
    x, lines = 8.0, []
    for name in dict.fromkeys(e["name"].split()[0] for e in shown):
        lines.append(f'<rect x="{x:.1f}" y="{y - 9}" width="10" height="10" rx="2" fill="{COLORS.get(name, "#57606a")}"/>')
        lines.append(f'<text x="{x + 14:.1f}" y="{y}">{escape(name)}</text>')
        x += 30 + LETTER * len(name)
    return lines
