"""Emulators of clouds for tests, on loopback, started as servers.py starts its servers."""

from __future__ import annotations

import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import servers

BUCKET = "train"


@dataclass
class GCS:
    """fake-gcs-server, and what reaches it."""

    url: str

    @property
    def environment(self) -> dict[str, str]:
        return {"STORAGE_EMULATOR_HOST": self.url}

    @property
    def options(self) -> dict[str, object]:
        return {"gs": {"endpoint": self.url, "anonymous": True}}

    def put(self, directory: Path) -> str:
        """Uploads the files below a directory; returns its address."""
        for path in servers.files_below(directory):
            name = urllib.parse.quote(f"{directory.name}/{path.relative_to(directory)}", safe="")
            self._post(f"/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={name}", path.read_bytes())
        return f"gs://{BUCKET}/{directory.name}"

    def _post(self, path: str, content: bytes) -> None:
        request = urllib.request.Request(self.url + path, content, {"Content-Type": "application/octet-stream"}, method="POST")
        urllib.request.urlopen(request, timeout=60).close()


@pytest.fixture(scope="session")
def gcs() -> Iterator[GCS]:
    server = servers.program("gcs")
    host, port = servers.free_address().split(":")
    command = [*servers.UNDER_WATCH, str(server), "-scheme", "http", "-backend", "memory", "-host", host, "-port", port]
    with servers.running([*command, "-public-host", host, "-log-level", "error"], stdout=subprocess.DEVNULL):
        store = GCS(f"http://{host}:{port}")
        servers.wait_for_answer(f"{store.url}/_internal/healthcheck")
        store._post("/storage/v1/b?project=test", f'{{"name":"{BUCKET}"}}'.encode())
        yield store
