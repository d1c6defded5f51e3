"""Real storage servers for tests, on loopback: S3 by versitygw and HDFS by Hadoop's daemons. They end with the tests, however those end.

The programs come from tools/server and are never installed here. Where one is absent the test skips with a line that says what is missing;
with CI=true that is a failure. SHARDFEED_SERVERS=off skips every test that asks for a server.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
READY_WITHIN = 60.0  # seconds
ENVIRONMENT = dict(os.environ)  # before the tests have a cache of their own
BUCKET = "train"
KEY, SECRET = "shardfeedtest", "shardfeedtestsecret"

# Kills the server when the standard input ends, which it does with the process that holds its other
# end.
UNDER_WATCH = ("sh", "-c", '"$@" </dev/null & server=$!; cat >/dev/null; kill -9 $server', "watch")


@dataclass
class S3:
    """An S3 server, and the environment by which clients find it."""

    address: str  # host:port
    log: Path = Path(os.devnull)  # a line for each request that was answered
    environment: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.environment = {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": f"http://{self.address}",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    @property
    def options(self) -> dict[str, object]:
        return {"key": KEY, "secret": SECRET, "endpoint_url": f"http://{self.address}", "region": "us-east-1"}

    def requests(self, after: int = 0) -> list[tuple[str, str]]:
        """The requests after so many: ListObjectsV2, GetObject and the like, and the object's key."""
        words = [line.split() for line in self.log.read_text().splitlines()]
        asked = [(word[3:], line[i + 1]) for line in words for i, word in enumerate(line[:-1]) if word.startswith("s3_")]
        return asked[after:]

    def put(self, directory: Path) -> str:
        """Uploads the files below a directory; returns its address."""
        self._put(BUCKET)
        for path in files_below(directory):
            self._put(f"{BUCKET}/{directory.name}/{path.relative_to(directory)}", path.read_bytes())
        return f"s3://{BUCKET}/{directory.name}"

    def _put(self, key: str, content: bytes = b"") -> None:
        """Makes a bucket or an object, by a request that is signed as AWS Signature Version 4 has it."""
        now, key = datetime.now(timezone.utc), urllib.parse.quote(key)
        scope = f"{now:%Y%m%d}/us-east-1/s3/aws4_request"
        header = {"host": self.address, "x-amz-content-sha256": sha256(content).hexdigest(), "x-amz-date": f"{now:%Y%m%dT%H%M%SZ}"}
        lines = "".join(f"{name}:{value}\n" for name, value in header.items())
        canonical = f"PUT\n/{key}\n\n{lines}\n{';'.join(header)}\n{header['x-amz-content-sha256']}"
        signed = f"AWS4-HMAC-SHA256\n{header['x-amz-date']}\n{scope}\n{sha256(canonical.encode()).hexdigest()}"
        secret = f"AWS4{SECRET}".encode()
        for part in scope.split("/"):
            secret = hmac.digest(secret, part.encode(), "sha256")
        signature = hmac.new(secret, signed.encode(), "sha256").hexdigest()
        header["authorization"] = f"AWS4-HMAC-SHA256 Credential={KEY}/{scope}, SignedHeaders={';'.join(header)}, Signature={signature}"
        request = urllib.request.Request(f"http://{self.address}/{key}", content, header, method="PUT")
        try:
            urllib.request.urlopen(request, timeout=60).close()
        except urllib.error.HTTPError as error:
            if error.code != 409:  # a bucket that is there already
                raise


class HDFS:
    """A namenode and a datanode of Hadoop's in one JVM, that takes commands. Clients need no environment."""

    environment: dict[str, str] = {}

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        said = process.stdout.readline().split()
        assert said[:1] == ["READY"], f"HDFS did not start: {' '.join(said)}"
        self.namenode = said[1]

    def put(self, directory: Path) -> str:
        """Uploads the files below a directory; returns its address."""
        for path in files_below(directory):
            self.command("put", str(path), f"/{directory.name}/{path.relative_to(directory)}")
        return f"hdfs://{self.namenode}/{directory.name}"

    def command(self, *words: str) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(" ".join(urllib.parse.quote_plus(word, safe="/=") for word in words) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        assert answer.startswith("OK"), f"{' '.join(words)}: {answer}"
        return answer


Storage = S3 | HDFS


def files_below(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


@pytest.fixture(scope="session")
def s3() -> Iterator[S3]:
    with s3_server() as server:
        yield server


@contextlib.contextmanager
def s3_server() -> Iterator[S3]:
    server = program("versitygw")
    with scratch("s3") as root:
        address, data = free_address(), root / "data"
        data.mkdir()
        keys = {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
        command = [*UNDER_WATCH, str(server), "--port", address, "--region", "us-east-1", "--keep-alive", "--quiet"]
        command += ["--access-log", str(root / "requests"), "posix", str(data)]
        with running(command, stdout=subprocess.DEVNULL, env={**os.environ, **keys}):
            wait_for_answer(f"http://{address}/")
            yield S3(address, root / "requests")


@pytest.fixture(scope="session")
def hdfs() -> Iterator[HDFS]:
    script = program("hdfsmini")
    with scratch("hdfs") as root:
        command = [str(script), str(root / "data"), "1", "dfs.replication=1", "dfs.permissions.enabled=true"]
        with running(command, stdout=subprocess.PIPE) as process:
            yield HDFS(process)


def program(name: str) -> Path:
    """The path of a server that is installed; skips the test, or fails it, where it is not."""
    if os.environ.get("SHARDFEED_SERVERS") == "off":
        pytest.skip("SHARDFEED_SERVERS=off: no server is started")
    found = subprocess.run([ROOT / "tools" / "server", "-n", name], capture_output=True, text=True, env=ENVIRONMENT)
    if found.returncode == 0:
        return Path(found.stdout.strip())
    missing = found.stderr.strip() or name
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI=true and {missing}")
    pytest.skip(missing)


@contextlib.contextmanager
def scratch(name: str) -> Iterator[Path]:
    root = Path(tempfile.mkdtemp(prefix=f"shardfeed-test-{name}-"))
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


@contextlib.contextmanager
def running(command: list[str], **options: object) -> Iterator[subprocess.Popen[str]]:
    """A server that ends by the end of its standard input."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload]
    try:
        yield process
    finally:
        process.stdin.close()
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def free_address() -> str:
    return f"127.0.0.1:{free_port()}"


def free_port() -> int:
    """A port of the loopback that nothing listens on.

    The kernel gives higher ports to outgoing connections, which could take one of these before its
    server listens.
    """
    first, end, tries = 16384, 32768, 100
    for left in reversed(range(tries)):
        port = first + secrets.randbelow(end - first)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                if not left:
                    raise
            else:
                break
    return port


def wait_for_answer(url: str) -> None:
    """Waits until a server answers, if only to refuse."""
    deadline = time.monotonic() + READY_WITHIN
    while True:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            assert time.monotonic() < deadline, f"{url} does not answer within {READY_WITHIN:g} s"
            time.sleep(0.05)
