"""Emulators of clouds for tests, on loopback, started as servers.py starts its servers."""

from __future__ import annotations

import base64
import hmac
import os
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path

import pytest
import servers

BUCKET = "train"
ACCOUNT = "tester"


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


@dataclass
class Azure:
    """Azurite, and what reaches it."""

    url: str  # of the account's blobs
    key: str

    @property
    def environment(self) -> dict[str, str]:
        return {"AZURE_STORAGE_CONNECTION_STRING": f"AccountName={ACCOUNT};AccountKey={self.key};BlobEndpoint={self.url}"}

    @property
    def options(self) -> dict[str, object]:
        return {"az": {"account_name": ACCOUNT, "account_key": self.key, "endpoint": self.url}}

    def put(self, directory: Path) -> str:
        """Uploads the files below a directory; returns its address."""
        for path in servers.files_below(directory):
            name = urllib.parse.quote(f"{directory.name}/{path.relative_to(directory)}", safe="/")
            self._put(f"/{BUCKET}/{name}", "", path.read_bytes())
        return f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net/{directory.name}"

    def _put(self, path: str, query: str, content: bytes = b"") -> None:
        """Makes a container or a blob, by a request that the key signs."""
        header = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2023-11-03"}
        if content:
            header["x-ms-blob-type"] = "BlockBlob"
        own = "".join(f"{name}:{header[name]}\n" for name in sorted(header))
        kind = "application/octet-stream"  # urllib adds one
        length = str(len(content)) if content else ""
        where = f"/{ACCOUNT}{urllib.parse.urlsplit(self.url).path}{path}"
        names = "".join(f"\n{one.replace('=', ':')}" for one in query.split("&") if one)
        text = f"PUT\n\n\n{length}\n\n{kind}\n\n\n\n\n\n\n{own}{where}{names}"
        signature = base64.b64encode(hmac.digest(base64.b64decode(self.key), text.encode(), "sha256")).decode()
        header |= {"Authorization": f"SharedKey {ACCOUNT}:{signature}", "Content-Type": kind}
        request = urllib.request.Request(f"{self.url}{path}?{query}", content, header, method="PUT")
        urllib.request.urlopen(request, timeout=60).close()


Cloud = GCS | Azure


@pytest.fixture(scope="session")
def azurite() -> Iterator[Azure]:
    server = servers.program("azurite")
    host, port = servers.free_address().split(":")
    key = base64.b64encode(b"a key of an account for tests").decode()
    command = [*servers.UNDER_WATCH, str(server), "--blobHost", host, "--blobPort", port, "--inMemoryPersistence", "--silent"]
    command += ["--skipApiVersionCheck", "--disableTelemetry"]
    with servers.running(command, stdout=subprocess.DEVNULL, env={**os.environ, "AZURITE_ACCOUNTS": f"{ACCOUNT}:{key}"}):
        servers.wait_for_answer(f"http://{host}:{port}/")
        store = Azure(f"http://{host}:{port}/{ACCOUNT}", key)
        store._put(f"/{BUCKET}", "restype=container")
        yield store
