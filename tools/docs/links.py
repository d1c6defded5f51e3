"""Hooks of mkdocs: links from docs/ to other files of the repository lead to its site; the search weighs pages."""

import logging
import posixpath
import re
from pathlib import Path
from typing import Any

log = logging.getLogger("mkdocs.hooks.links")

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(((?:\.\./)+[^)#\s]*)(#[^)\s]*)?\)")


def on_page_markdown(markdown: str, *, page, config, **_) -> str:
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))

    def replace(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, match[1]))
        if target.startswith("docs/"):
            return match[0]
        path = ROOT / target
        if not path.exists():
            log.warning("%s links to %s, which does not exist", page.file.src_uri, target)
        kind = "tree" if path.is_dir() else "blob"
        return f"]({config.repo_url.rstrip('/')}/{kind}/main/{target}{match[2] or ''})"

    return LINK.sub(replace, markdown)


def on_page_context(context: dict[str, Any], *, page, **_) -> dict[str, Any]:
    """Weighs pages for the search: references and benchmarks come last."""
    if page.file.src_uri.startswith(("reference/", "benchmarks/")):
        page.meta["search"] = {"boost": 0.05}
    return context


def on_page_content(html: str, **_) -> str:
    """Roles of Sphinx in docstrings, which Markdown would show."""
    return html.replace(":class:", "").replace(":func:", "")
