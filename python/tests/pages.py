"""Jobs of the pages about launchers, and the diffs beside them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.S)


def job(page: str, heading: str, language: str = "py") -> str:
    """The first block of a language below a heading."""
    text = f"\n{(DOCS / page).read_text()}".split(f"\n{heading}\n", 1)[1]
    found = re.search(rf"```{language}\n(.*?)```", text, re.S)
    assert found, f"{page} has no {language} below {heading}"
    return found[1]


def changed_lines(diff: str) -> int:
    """Lines that are added or removed; a line that takes another one's place counts once."""
    marks = "".join(line[:1] if line[:1] in ("+", "-") else " " for line in diff.splitlines())
    return sum(max(run.count("+"), run.count("-")) for run in marks.split())


def patched(text: str, diff: str) -> str:
    """A text with a diff applied, whose lines follow each other in the text. ``...`` skips some."""
    lines, at, out = text.splitlines(), 0, []
    for hunk in _hunks(diff):
        before = [line[1:] for line in hunk if not line.startswith("+")]
        found = next((i for i in range(at, len(lines)) if lines[i : i + len(before)] == before), None)
        assert found is not None, "the job has no such lines:\n" + "\n".join(before)
        out += [*lines[at:found], *(line[1:] for line in hunk if not line.startswith("-"))]
        at = found + len(before)
    return "\n".join([*out, *lines[at:], ""])


def _hunks(diff: str) -> Iterator[list[str]]:
    for skipped, lines in itertools.groupby(diff.splitlines(), key=lambda line: line.strip() == "..."):
        if not skipped:
            yield list(lines)
