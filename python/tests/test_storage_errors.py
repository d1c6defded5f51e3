"""Servers that refuse, that have nothing, and that are not there: one error at the constructor that names the address and what to do."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import engines
from servers import BUCKET, HDFS, KEY, S3, SECRET, free_address, hdfs, s3  # noqa: F401 - fixtures

from shardfeed import StreamingDataset, errors

WITHIN = 45.0  # seconds: less than the time for which a request is repeated
SOON = {"retry-for": "2s"}

pytestmark = pytest.mark.usefixtures("job")


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of something that takes connections and says nothing."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        yield "{}:{}".format(*listener.getsockname())


def refused(uri: str, kind: type[Exception], *words: str, within: float = WITHIN, **given: Any) -> None:
    """Checks that a data set cannot be made, within time and with these words."""
    begin = time.monotonic()
    with pytest.raises(kind) as caught:
        StreamingDataset(uri, batch_size=8, **given)
    assert time.monotonic() - begin < within
    text = str(caught.value)
    for word in (uri, *words):
        assert word in text, text
    for secret in (SECRET, "a wrong secret", "a wrong token"):
        assert secret not in text


CASES = {
    "a wrong secret": ("", {"secret": "a wrong secret"}, errors.AccessError, "the secret key does not belong to the key id"),
    "a key that nobody has": ("", {"key": "nobody"}, errors.AccessError, "look at the key id, the profile and the endpoint"),
    "a token that is not the key's": ("", {"token": "a wrong token"}, errors.AccessError, "of one login"),
    "no credentials": ("", {"anon": True}, errors.AccessError, 'leave storage_options={"anon": True} away'),
    "no such bucket": ("s3://no-such-bucket/table", {}, errors.NotFoundError, "look at the bucket's name"),
    "no such directory": (f"s3://{BUCKET}/nothing", {}, errors.NotFoundError, "does not exist"),
    "no such object": (f"s3://{BUCKET}/nothing.parquet", {}, errors.NotFoundError, "does not exist"),
    "no match": (f"s3://{BUCKET}/*/nothing-*", {}, errors.NotFoundError, "no file matches this pattern"),
}


@pytest.mark.parametrize("name", CASES)
def test_s3(s3: S3, shards: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    for variable, value in s3.environment.items():
        monkeypatch.setenv(variable, value)
    stored = s3.put(shards)
    uri, options, kind, words = CASES[name]
    given = {} if "anon" in options or not options else {"key": KEY, "secret": SECRET, **options}
    refused(uri or stored, kind, words, storage_options=given or options)
    assert StreamingDataset(stored, batch_size=8).size == 4000


def test_s3_without_credentials(s3: S3, shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    for variable, value in s3.environment.items():
        monkeypatch.setenv(variable, value)
    uri = s3.put(shards)
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(variable)
    refused(uri, errors.AccessError, "no AWS credentials", "AWS_PROFILE")


def endpoint(address: str) -> dict[str, str]:
    return {"key": KEY, "secret": SECRET, "region": "us-east-1", "endpoint_url": f"http://{address}"}


def test_s3_where_nobody_listens() -> None:
    for address in (free_address(), "no-such-host.invalid:9000"):
        refused(
            f"s3://{BUCKET}/table", errors.StorageError, address, "look at the endpoint's address", storage_options=endpoint(address) | SOON
        )


@pytest.mark.long
@pytest.mark.timeout(300)
def test_s3_that_is_silent(silent: str) -> None:
    """It is asked again for a minute or two."""
    options = {**endpoint(silent), "read_timeout": 0.5}
    refused(f"s3://{BUCKET}/table", errors.FeedTimeoutError, silent, "look at its state", within=180, storage_options=options)


def test_a_wait_that_is_shorter_than_the_servers_names_the_address(silent: str) -> None:
    refused(f"s3://{BUCKET}/table", errors.FeedTimeoutError, "within 1 s", "its log is", storage_options=endpoint(silent), timeout=1)


def test_hdfs(hdfs: HDFS, shards: Path) -> None:  # noqa: F811
    uri = hdfs.put(shards)
    root = f"hdfs://{hdfs.namenode}"
    refused(f"{root}/nothing", errors.NotFoundError, "does not exist")
    refused(f"{root}/nothing/x.parquet", errors.NotFoundError, "does not exist")
    refused(f"{root}/nothing/*.parquet", errors.NotFoundError, "no file matches this pattern")
    assert StreamingDataset(uri, batch_size=8).size == 4000


def test_hdfs_that_denies(hdfs: HDFS, shards: Path) -> None:  # noqa: F811
    uri = hdfs.put(shards)
    path = uri.removeprefix(f"hdfs://{hdfs.namenode}")
    somebody = {"hdfs.user": "somebody"}
    assert StreamingDataset(uri, batch_size=8, storage_options=somebody).size == 4000
    try:
        hdfs.command("chmod", f"{path}/part-2.parquet", "600")
        words = r"hdfs://.*part-2\.parquet.*user=somebody.*hdfs\.user"
        with pytest.raises(errors.AccessError, match=words):  # footers are known from before
            list(StreamingDataset(uri, batch_size=8, storage_options=somebody))
        hdfs.command("chmod", path, "700")
        refused(uri, errors.AccessError, "hdfs.user", storage_options=somebody)
    finally:
        hdfs.command("chmod", path, "755")
        hdfs.command("chmod", f"{path}/part-2.parquet", "644")
    assert StreamingDataset(uri, batch_size=8, storage_options=somebody).size == 4000


def test_hdfs_where_nobody_listens() -> None:
    address = free_address()
    refused(f"hdfs://{address}/table", errors.StorageError, "nothing listens there", storage_options=SOON)
    refused("hdfs://no-such-host.invalid:8020/table", errors.StorageError, "HADOOP_CONF_DIR")


def test_the_engine_ends_after_refusals(runtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No process keeps a connection after an error: the engine is gone after its grace."""
    place = runtime.parent / "refusals"  # where other tests have no engine
    monkeypatch.setenv("SHARDFEED_RUNTIME_DIR", str(place))
    refused(f"hdfs://{free_address()}/table", errors.StorageError, storage_options=SOON)
    deadline = time.monotonic() + WITHIN
    while engines(place) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not engines(place)
