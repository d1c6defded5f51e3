"""Draws the charts of docs/pictures/ from the tables of docs/benchmarks/, and the drawings of diagrams.py. --check compares them."""

from __future__ import annotations

import argparse
import difflib
import sys

import benchmarks
import diagrams

PICTURES = benchmarks.ROOT / "docs/pictures"


def main() -> None:
    parser = argparse.ArgumentParser(prog="charts", description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a chart is not that of the tables")
    check = parser.parse_args().check
    for name, draw in {**benchmarks.CHARTS, **diagrams.DRAWINGS}.items():
        drawn, file = draw(), PICTURES / name
        if not check:
            file.write_text(drawn)
        elif not file.exists() or file.read_text() != drawn:
            old = file.read_text() if file.exists() else ""
            sys.stderr.writelines(difflib.unified_diff(old.splitlines(True), drawn.splitlines(True), str(file), "make charts"))
            sys.exit(f"charts: {file.relative_to(benchmarks.ROOT)} is not what its sources show: run make charts")


main()
