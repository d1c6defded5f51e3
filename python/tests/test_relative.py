"""Relative paths in variables and storage options: of the program's directory, as for other programs."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from servers import S3, s3  # noqa: F401 - a fixture

from shardfeed import StreamingDataset
from shardfeed._args import _relative, _storage

ROOT = Path(__file__).parents[2]
ROWS = 4000


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ("a/b", "{here}/a/b"),
        ("./b", "{here}/b"),
        ("~", "/home/me"),
        ("~/b", "/home/me/b"),
        ("/b", "/b"),
        ("FILE:b", "FILE:{here}/b"),
        ("WRFILE:b", "WRFILE:{here}/b"),
        ("KEYRING:b", "KEYRING:b"),
        ("$SCRATCH/b", "$SCRATCH/b"),
        ('{"type": "service_account"}', '{"type": "service_account"}'),
        ("cloud", "cloud"),
        ("true", "true"),
        ("", ""),
    ],
)
def test_a_path(given: str, want: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    want = want.format(here=tmp_path) if "{here}" in want else want
    assert _storage.environment({"KRB5CCNAME": given, "AWS_PROFILE": "a/b"}) == {"KRB5CCNAME": want, "AWS_PROFILE": "a/b"}
    assert _storage.options({"gs": {"token": given}, "ca_bundle": given}) == {"gs.token": want, "ca_bundle": want}


def test_a_list_of_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert _storage.environment({"KRB5_CONFIG": "a:/b"}) == {"KRB5_CONFIG": f"{tmp_path}/a:/b"}


def test_all_paths_that_the_engine_reads() -> None:
    """By their names in the engine's source."""
    source = "".join(path.read_text() for path in (*ROOT.glob("shard/**/*.go"), *ROOT.glob("table/**/*.go")) if "_test" not in path.name)
    names = set(re.findall(r'"((?:AWS|GOOGLE|CLOUDSDK|AZURE|HADOOP|KRB5|HF|HUGGINGFACE|PYICEBERG)_?[A-Z0-9_]+)"', source))
    paths = re.compile(
        r".*(?:_FILE|_DIR|_DIRECTORY|_HOME|_PATH|_CACHE|_BUNDLE|_CREDENTIALS|_LOCATION|_KTNAME|KRB5_CONFIG|KRB5CCNAME|SDK_CONFIG)"
    )
    elsewhere = {"HOME", "XDG_CACHE_HOME", "SLURM_TMPDIR", "SHARDFEED_CACHE_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR"}
    assert {name for name in names if paths.fullmatch(name)} == _relative.VARIABLES - elsewhere
    assert _relative.OPTIONS <= _storage.FLAGS | _storage.S3 | _storage.HDFS | _storage.WEB
    named = re.compile(r".*(?:ca.bundle|keytab|ccache|_conf|_dir|_file|token_file|verify)|gs\.token|hdfs-conf|kerb_ticket")
    assert {name for name in _storage.FLAGS | _storage.S3 | _storage.HDFS | _storage.WEB if named.fullmatch(name)} == _relative.OPTIONS


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize("where", ["here", "~"])
def test_files_of_variables(where: str, s3: S3, shards: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Credentials and the cache of a program, by paths that are right in its directory."""
    for variable, value in s3.environment.items():
        monkeypatch.setenv(variable, value)
    key, secret = (os.environ[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
    (tmp_path / "keys").write_text(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    before = "~/" if where == "~" else ""
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", f"{before}keys")
    monkeypatch.setenv("SHARDFEED_CACHE_DIR", f"{before}kept")
    dataset = StreamingDataset(s3.put(shards), batch_size=100)
    assert sum(batch.rows for batch in dataset) == ROWS
    assert dataset.stats()["cache"]["directory"] == str(tmp_path / "kept")
    assert (tmp_path / "kept" / "v1").is_dir()
