"""Saved lists of shards."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

from . import _state
from ._args._checks import got, path
from .errors import OptionError, StateError


def spec(given: Any) -> dict[str, Any]:
    """The engine's Manifest or ManifestText: of a path, or of the value that manifest() returned."""
    if not isinstance(given, Mapping):
        return {"manifest": path("manifest", given), "manifest_text": None}
    if "sources" not in given or "v" not in given:
        raise OptionError(f"manifest must be a path, or the dict that manifest() of a loader returned, {got(dict(given))}")
    try:
        text = json.dumps(_state.json_values("manifest", given), separators=(",", ":"), sort_keys=True)
    except StateError as e:
        raise OptionError(f"manifest must be the dict that manifest() of a loader returned: {e}") from None
    return {"manifest": "", "manifest_text": base64.b64encode(zlib.compress(text.encode())).decode()}


def of_session(session: Mapping[str, Any]) -> dict[str, Any]:
    """The list in the engine's answer."""
    manifest: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(session["manifest"])))
    return manifest
