"""Directories of Hadoop's file systems, as Spark's driver reaches them."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .. import _redact
from .._args._checks import got
from ..errors import AccessError, OptionError, ShardfeedError, StorageError

_READ = {"file": "", "hdfs": "hdfs", "viewfs": "viewfs", "webhdfs": "webhdfs", "swebhdfs": "swebhdfs"}
_READ |= {"s3": "s3", "s3a": "s3", "s3n": "s3"}
_READ |= {scheme: scheme for scheme in ("gs", "abfs", "abfss", "wasb", "wasbs")}

# What brings Hadoop's file system for a scheme.
_PACKAGES = {"s3a": "org.apache.hadoop:hadoop-aws", "gs": "com.google.cloud.bigdataoss:gcs-connector"}
_PACKAGES |= dict.fromkeys(("abfs", "abfss", "wasb", "wasbs"), "org.apache.hadoop:hadoop-azure")

# Below this number of files of a directory each is asked for, else the directory is listed.
_FEW = 8


class File(NamedTuple):
    """A file or directory, as a listing shows it."""

    name: str
    size: int
    modified: int  # milliseconds
    is_directory: bool


class Folder:
    """A directory, which may be absent. Every method says in its error which directory it is."""

    def __init__(self, session: Any, address: str) -> None:
        self._session = session
        hadoop = session._jvm.org.apache.hadoop.fs
        with _failing(address, "reached"):
            path = hadoop.Path(address)
            self._files = path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
            self._path = self._files.makeQualified(path)
        self.address: str = self._path.toString()

    @property
    def name(self) -> str:
        return self._path.getName()

    def below(self, name: str) -> Folder:
        return Folder(self._session, f"{self.address.rstrip('/')}/{name}")

    def list(self) -> list[File]:
        """Lists its files by name; empty if it is absent."""
        with _failing(self.address, "listed"):
            if not self._files.exists(self._path):
                return []
            return sorted(_file(status) for status in self._files.listStatus(self._path))

    def read(self, name: str) -> str:
        """The text of a file; empty when it is absent."""
        path = self._below(name)
        with _failing(self.address, "read"):
            if not self._files.exists(path):
                return ""
            stream = self._files.open(path)
            try:
                return self._session._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
            finally:
                stream.close()

    def write(self, name: str, text: str) -> None:
        """Writes a file, in place of an older one, and the directory with it."""
        with _failing(self.address, "written"):
            stream = self._files.create(self._below(name), True)
            stream.write(bytearray(text.encode()))
            stream.close()

    def remove(self, name: str) -> None:
        """Removes a file, or a directory with all that is in it."""
        with _failing(self.address, "removed"):
            self._files.delete(self._below(name), True)

    def remove_empty(self) -> None:
        """Removes the directory unless something is in it."""
        if not self.list():
            with _failing(self.address, "removed"):
                self._files.delete(self._path, False)

    def _below(self, name: str) -> Any:
        return self._session._jvm.org.apache.hadoop.fs.Path(self._path, name)


def versions(session: Any, addresses: list[str]) -> list[list[Any]]:
    """Returns address, size and time of files, sorted; an absent file has neither size nor time.

    Addresses are as Spark's ``inputFiles`` has them, with escapes.
    """
    by_directory: dict[str, set[str]] = {}
    for address in addresses:
        by_directory.setdefault(address.rpartition("/")[0], set()).add(address)
    found: list[list[Any]] = []
    for wanted in by_directory.values():
        found += _versions(session, wanted)
    return sorted(found, key=lambda version: version[0])


def _versions(session: Any, addresses: set[str]) -> list[list[Any]]:
    """The versions of files of one directory."""
    jvm = session._jvm
    paths = {address: jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(address)) for address in addresses}
    some = next(iter(paths.values()))
    files = some.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
    found: dict[str, list[int]] = {}
    with contextlib.suppress(*_java_errors()):  # Spark says it better when it reads them
        many = len(paths) > _FEW
        statuses = files.listStatus(some.getParent()) if many else [files.getFileStatus(path) for path in paths.values()]
        found = {status.getPath().getName(): [status.getLen(), status.getModificationTime()] for status in statuses}
    return [[address, *found.get(path.getName(), [])] for address, path in paths.items()]


def _file(status: Any) -> File:
    return File(status.getPath().getName(), status.getLen(), status.getModificationTime(), status.isDirectory())


def given(uri: Any) -> str:
    """The user's address in Hadoop's terms. A Path is local, whatever Hadoop's default is."""
    if isinstance(uri, Path):
        return f"file://{uri.absolute()}"
    if not isinstance(uri, str) or not uri:
        raise OptionError(f"uri must be the address of a directory, as in 'hdfs:///cache' or 's3a://bucket/cache', {got(uri)}")
    if wild := re.search(r"[*?\[\]{}]", uri):
        raise OptionError(f"uri must be the address of one directory, without {wild[0]!r}, got {_redact.address(uri)!r}")
    if re.match(r"[A-Za-z][\w+.-]*:", uri):
        readable(uri)
    return uri


def readable(address: str) -> str:
    """The address that shardfeed reads for one of Hadoop's."""
    scheme, _, rest = address.partition(":")
    if scheme not in _READ:
        known = ", ".join(f"{scheme}:" for scheme in _READ)
        raise OptionError(f"uri must be on a file system that shardfeed reads ({known}), got {_redact.address(address)!r}")
    if scheme == "file":
        return "/" + rest.lstrip("/")
    return f"{_READ[scheme]}:{rest}"


@contextlib.contextmanager
def _failing(address: str, done: str) -> Iterator[None]:
    """Raises what Hadoop says as an error of ours, without Java's frames."""
    try:
        yield
    except _java_errors() as error:
        raise _error(address, done, error) from None


def _java_errors() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    return Py4JJavaError, PySparkException


def _error(address: str, done: str, error: Any) -> ShardfeedError:
    java = getattr(error, "java_exception", None)
    kind = java.getClass().getSimpleName() if java is not None else type(error).__name__
    message = (java.getMessage() if java is not None else str(error)) or kind
    text = f"{_redact.address(address)} cannot be {done}: {kind}: {message.strip().splitlines()[0]}"
    if kind in ("AccessControlException", "AccessDeniedException"):
        return AccessError(text)
    if kind == "UnsupportedFileSystemException" or "ClassNotFoundException" in message:
        scheme = address.partition(":")[0]
        how = f": start it with --packages {_PACKAGES[scheme]}:VERSION" if scheme in _PACKAGES else ""
        return OptionError(f"{text}\nSpark has no file system for it{how}")
    return StorageError(text)
