"""Draws the charts of docs/pictures/ from the tables of docs/benchmarks/, and the drawings of diagrams.py. --check compares them."""

from __future__ import annotations

import argparse
import difflib
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

import diagrams

ROOT = Path(__file__).parents[3]
PICTURES = ROOT / "docs" / "pictures"

STYLE = """text { font: 13px system-ui, sans-serif; fill: #1f2328 } .quiet { fill: #57606a } .title { font-weight: 600 }
.ours { fill: #0969da } .other { fill: #afb8c1 } .name { text-anchor: end }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .quiet { fill: #9198a1 } .ours { fill: #4493f8 } .other { fill: #484f58 } }"""

# What a reader knows the contenders of bench/peers by.
NAMES = {
    "shardfeed": "shardfeed",
    "take_once": "pyarrow by hand",
    "dl:rows-w0": "torch DataLoader",
    "dl:rows-w2": "torch DataLoader, 2 workers",
    "hf:arrow": "HF datasets, arrow",
    "hf:torch-w2": "HF datasets, 2 workers",
    "petastorm:dl": "Petastorm",
    "petastorm:batched": "Petastorm, batched",
    "litdata:parquet-w2": "LitData, 2 workers",
    "ray": "Ray Data",
    "mosaic-w2": "MosaicML, 2 workers",
}
SETS = {"shop": "Images, texts and lists", "tokens": "Lists of tokens", "tabular": "43 columns of numbers"}


@dataclass(frozen=True)
class Bar:
    name: str
    value: float

    @property
    def ours(self) -> bool:
        return self.name == "shardfeed"


def table(page: str, section: str) -> list[list[str]]:
    """The cells of the first table of a section of a page, by line, with the heads first."""
    text = (ROOT / "docs" / page).read_text()
    _, found, rest = text.partition(f"\n## {section}\n")
    if not found:
        sys.exit(f"charts: docs/{page} has no section {section!r}")
    lines = [line for line in rest.split("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not set(line) <= set("|- ")]


def bars(section: str) -> list[Bar]:
    heads, *rows = table("benchmarks/loaders.md", section)
    at = heads.index("rows per CPU-s, all-in")
    found = {row[0].split(" (")[0]: row[at] for row in rows}
    all_ = [Bar(NAMES[name], float(cell.split(" ")[0].replace(",", ""))) for name, cell in found.items() if name in NAMES]
    return sorted(all_, key=lambda bar: -bar.value)


def short(value: float) -> str:
    """A value with two digits, as in 87k or 1.3M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.2g}{unit}" if value < 10 * size else f"{value / size:.0f}{unit}"
    return f"{value:.0f}"


def loaders() -> str:
    """Rows per CPU-second of each loader: a panel for each set."""
    left, width, height = 210, 640, 20
    parts, y = [], 24
    for section, words in SETS.items():
        panel = bars(section)
        parts.append(f'<text class="title" x="{left}" y="{y}">{escape(words)}, rows per CPU-second</text>')
        y += 10
        most = panel[0].value
        for bar in panel:
            length = max(1.0, (width - left - 60) * bar.value / most)
            kind = "ours" if bar.ours else "other"
            weight = " title" if bar.ours else ""
            parts.append(f'<text class="name{weight}" x="{left - 8}" y="{y + 14}">{escape(bar.name)}</text>')
            parts.append(f'<rect class="{kind}" x="{left}" y="{y + 3}" width="{length:.1f}" height="{height - 6}" rx="2"/>')
            parts.append(f'<text class="quiet" x="{left + length + 6:.1f}" y="{y + 14}">{short(bar.value)}</text>')
            y += height
        y += 30
    label = "Rows per CPU-second that ten loaders deliver from parquet, on three data sets; shardfeed delivers the most on each"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y - 16}" role="img" aria-label="{escape(label)}">'
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>", ""])


CHARTS = {
    "loaders.svg": loaders,
    "flow.svg": diagrams.flow,
    "deal.svg": diagrams.deal,
    "buffers.svg": diagrams.buffers,
    "memory.svg": diagrams.memory,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="charts", description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a chart is not that of the tables")
    check = parser.parse_args().check
    for name, draw in CHARTS.items():
        drawn, file = draw(), PICTURES / name
        if not check:
            file.write_text(drawn)
        elif not file.exists() or file.read_text() != drawn:
            old = file.read_text() if file.exists() else ""
            sys.stderr.writelines(difflib.unified_diff(old.splitlines(True), drawn.splitlines(True), str(file), "make charts"))
            sys.exit(f"charts: {file.relative_to(ROOT)} is not what its sources show: run make charts")


main()
