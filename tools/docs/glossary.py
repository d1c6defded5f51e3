"""Links words of docs/glossary.md where a page uses them first: a hook of mkdocs, and a check of the built site, glossary.py SITE."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path

PAGE = "glossary.md"
# Patterns of words; an empty one matches the word and its plural.
WORDS = {
    "lane": "",
    "unit": "",
    "tick": "",
    "tail": "",
    "slot": "",
    "draw": r"(?<=\bthe )draws?|(?<=\beach )draw|(?<=\brandom )draws?|(?<=\bsame )draws?|(?<=\ba )draw",
    "seat": "",
    "deff": "deff",
    "ring": "",
    "row group": "",
    "column chunk": "",
    "footer": "",
    "page index": "page index(?:es)?",
    "shuffle buffer": "",
    "global batch": "global batch(?:es)?",
    "replica": "",
    "verdict": "",
}
PATTERNS = {word: re.compile(rf"(?<![-\w])(?:{pattern or word + 's?'})(?![-\w])", re.I) for word, pattern in WORDS.items()}
QUIET = {"a", "code", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "svg", "script", "style", "button", "th"}
VOID = {"br", "hr", "img", "input", "link", "meta", "wbr"}


def anchor(word: str) -> str:
    return word.replace(" ", "-")


def on_page_content(html: str, *, page, **_) -> str:
    if page.file.src_uri == PAGE:
        return _anchored(html)
    if page.file.src_uri.startswith("reference/"):
        return html
    to = posixpath.relpath("/glossary", posixpath.join("/", page.url)) + "/"
    seen: set[str] = set()
    return "".join(_linked(part, quiet, seen, to) for part, quiet in _parts(html))


def _anchored(html: str) -> str:
    for word in WORDS:
        html, found = re.subn(rf"<td><strong>({word}\b)", rf'<td id="{anchor(word)}"><strong>\1', html, count=1)
        if not found:
            raise SystemExit(f"glossary: docs/{PAGE} does not have {word!r}")
    return html


def _linked(part: str, quiet: str, seen: set[str], to: str) -> str:
    """Links the first use of each word in a text. Words inside other links count as linked."""
    if part.startswith("<") or (quiet and quiet != "a"):
        return part
    found = {match.start(): (word, match) for word, pattern in PATTERNS.items() if word not in seen and (match := pattern.search(part))}
    for start, (word, match) in sorted(found.items(), reverse=True):
        seen.add(word)
        if not quiet:
            part = f'{part[:start]}<a class="glossary" href="{to}#{anchor(word)}">{match[0]}</a>{part[match.end() :]}'
    return part


def _parts(html: str) -> Iterator[tuple[str, str]]:
    """Splits HTML into tags and texts, each with the outermost quiet element around it, or an empty name."""
    quiet, depth = "", 0
    for part in re.split(r"(<[^>]*>)", html):
        yield part, quiet
        tag = re.match(r"<(/?)([a-z][a-z0-9]*)", part)
        if not tag or tag[2] in VOID or part.endswith("/>"):
            continue
        if not quiet and not tag[1] and tag[2] in QUIET:
            quiet, depth = tag[2], 1
        elif quiet == tag[2]:
            depth += -1 if tag[1] else 1
            quiet = quiet if depth else ""


def check(site: Path) -> list[str]:
    """Lists words that a page of the site uses before it links them."""
    wrong, links = [], 0
    for file in sorted(site.rglob("index.html")):
        name = str(file.parent.relative_to(site))
        if name == "glossary" or name.startswith("reference"):
            continue
        article = file.read_text().partition("<article")[2].partition("</article>")[0]
        linked: set[str] = set()
        for part, quiet in _parts(article):
            if link := re.search(r'class="glossary" href="[^"]*#([^"]*)"', part):
                linked.add(link[1].replace("-", " "))
                links += 1
            for word, pattern in PATTERNS.items():
                if part.startswith("<") or word in linked or not pattern.search(part):
                    continue
                if quiet == "a":
                    linked.add(word)
                elif not quiet:
                    wrong.append(f"{name} uses {word!r} before it links it: {part.strip()[:60]}")
                    linked.add(word)
    return wrong or ([] if links > 100 else [f"only {links} links lead to the glossary"])


if __name__ == "__main__":
    if wrong := check(Path(sys.argv[1])):
        sys.exit("\n".join(wrong))
