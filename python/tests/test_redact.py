"""What is shown of addresses that hold secrets."""

from __future__ import annotations

import pytest

from shardfeed import _redact
from shardfeed._engine import _connection


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/a:b@c?token=1", "/a:b@c?token=1"),
        ("file:///a:b@c?token=1", "file:///a:b@c?token=1"),
        ("@file:///a:b@c?token=1", "@file:///a:b@c?token=1"),
        ("s3://bucket/a@b:c", "s3://bucket/a@b:c"),
        ("s3://host:9000/a@b", "s3://host:9000/a@b"),
        ("s3://AKIA:hush@bucket/key", "s3://AKIA:***@bucket/key"),
        ("@s3://AKIA:hush@bucket/key", "@s3://AKIA:***@bucket/key"),
        ("s3://AKIA:hush/with/slashes@bucket/key", "s3://AKIA:***@bucket/key"),
        ("s3://AKIA:hu@sh@bucket/key", "s3://AKIA:***@bucket/key"),
        ("hdfs://user@name/key", "hdfs://user@name/key"),
        ("https://h/k?X-Amz-Signature=hush&x=1", "https://h/k?X-Amz-Signature=***&x=1"),
        ("https://h/k?x=1&sig=hush", "https://h/k?x=1&sig=***"),
        ("https://h/k?design=1&sig", "https://h/k?design=1&sig"),
        ("https://h/k?design=1&mysig=1", "https://h/k?design=1&mysig=1"),
        ("webhdfs://n/k?delegation=hush", "webhdfs://n/k?delegation=***"),
    ],
)
def test_addresses(text: str, shown: str) -> None:
    assert _redact.address(text) == shown


def test_a_wait_for_the_engine_names_no_secret() -> None:
    shown = _connection._shown({"spec": {"addresses": ["s3://AKIA:hush@bucket/key", "https://h/k?token=hush"]}})
    assert shown == "s3://AKIA:***@bucket/key, https://h/k?token=***"
