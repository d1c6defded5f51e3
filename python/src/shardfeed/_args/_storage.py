"""Storage options by the names of s3fs, pyarrow and the command, and the environment variables that
stores read.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import OptionError
from . import _relative
from ._checks import path, type_name

_SERVER = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*:/", re.IGNORECASE)

# The command's flags, here also with underscores.
FLAGS = frozenset(
    {"endpoint-url", "region", "profile", "no-sign-request", "request-payer", "ca-bundle", "hdfs-conf", "keytab", "principal", "retry-for"}
)

# The options of S3 by the names of s3fs, pyarrow and object_store.
_S3 = """
    key secret token anon profile endpoint_url region requester_pays use_ssl verify proxy addressing_style path_style max_concurrency
    default_block_size read_timeout default_fill_cache default_cache_type cache_regions version_aware use_listings_cache asynchronous
    skip_instance_cache
    access_key aws_access_key_id username secret_key aws_secret_access_key password session_token aws_session_token
    anonymous skip_signature aws_skip_signature profile_name aws_profile
    client_kwargs.endpoint_url endpoint_override endpoint aws_endpoint aws_endpoint_url aws_endpoint_url_s3
    client_kwargs.region_name aws_region region_name aws_default_region client_kwargs.verify aws_ca_bundle ca_bundle client_kwargs.use_ssl
    config_kwargs.s3.addressing_style config_kwargs.proxies.https config_kwargs.proxies.http config_kwargs.max_pool_connections
    config_kwargs.read_timeout part_size
"""
S3 = frozenset(_S3.split())

_HDFS = """
    hdfs.conf_dir hdfs.user hdfs.principal hdfs.keytab hdfs.ccache hdfs.krb5_conf hdfs.data_transfer_protection hdfs.use_datanode_hostname
    hdfs.allow_unverified hdfs.webhdfs hdfs.delegation hdfs.token_file hdfs.ca_bundle hdfs.gateway hdfs.password hdfs.proxy
    hdfs.datanode_map hdfs.slots hdfs.read_timeout hdfs.retry_for kerb_ticket user
"""
HDFS = frozenset(_HDFS.split())

_WEB = """
    http.proxy http.max-requests hf.token hf.endpoint
    gs.token gs.access_token gs.anonymous gs.anon gs.endpoint gs.endpoint_url gs.endpoint_override gs.user_project gs.requester_pays
    gs.proxy
    az.account_name az.account az.account_key az.key az.sas_token az.sas_key az.connection_string az.anonymous az.anon az.access_token
    az.tenant_id az.client_id az.client_secret az.endpoint az.account_url az.proxy
    iceberg.uri iceberg.warehouse iceberg.prefix iceberg.credential iceberg.token iceberg.scope iceberg.oauth2-server-uri iceberg.audience
    iceberg.resource iceberg.rest.sigv4-enabled iceberg.rest.signing-region iceberg.rest.signing-name
    hive.metastore.use.SSL hive.metastore.sasl.enabled hive.metastore.client.socket.timeout hive.ca_bundle
    hive.metastore.kerberos.principal hive.keytab hive.principal hive.ccache hive.krb5_conf
"""
WEB = frozenset(_WEB.split())
_HEADERS = ("http.header.", "iceberg.header.")  # and the name of a header

_HADOOP = ("dfs.", "fs.", "hadoop.")  # keys of Hadoop's own configuration
_ELSEWHERE = {
    "host": "give it in the address: hdfs://host:port/path",
    "port": "give it in the address: hdfs://host:port/path",
    "filesystem": "give an address such as s3://bucket/path and the options of its store",
    "protocol": "give it in the address, as in s3://bucket/path",
    "scheme": "give endpoint_url with http:// or https://",
}

_ENVIRONMENT = (
    "AWS_",
    "S3_",
    "HADOOP_",
    "HDFS_",
    "HF_",
    "HUGGING_FACE_HUB_",
    "HUGGINGFACE_HUB_",
    "GOOGLE_",
    "CLOUDSDK_",
    "GCE_METADATA_",
    "AZURE_",
    "IDENTITY_",
    "MSI_",
    "PYICEBERG_",
    "KRB5",
    "SSL_CERT_",
    "SHARDFEED_CACHE_",
)
_VARIABLES = frozenset({"HOME", "USER", "LOGNAME", "XDG_CACHE_HOME", "SLURM_TMPDIR", "STORAGE_EMULATOR_HOST", "TRANSFORMERS_OFFLINE"})
_PROXIES = ("_PROXY", "_proxy")


def on_server(address: str) -> bool:
    """Whether an address leads to a server, and not to a disk of this node."""
    return _SERVER.match(address) is not None


def options(given: Mapping[str, Any] | None) -> dict[str, str]:
    """Returns storage options as text, by names that the engine knows, with absolute paths.

    Values are secrets: errors do not show them.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise OptionError(f"storage_options must be a dict, as in {{'endpoint_url': 'http://localhost:9000'}}, got {type_name(given)}")
    out: dict[str, str] = {}
    for name, value in _flat("", given):
        name = name.removeprefix("extra_conf.")  # of pyarrow's HadoopFileSystem
        flag = name.replace("_", "-")
        known = flag if flag in FLAGS and name not in S3 else name
        if known not in FLAGS and known.lower() not in S3 and known not in HDFS | WEB and not known.startswith((*_HADOOP, *_HEADERS)):
            raise OptionError(_unknown(name))
        out[known] = value
    return _relative.options(out)


def _flat(prefix: str, given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in given.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flat(name + ".", value)
        elif isinstance(value, bool):
            yield name, str(value).lower()
        elif isinstance(value, (str, int, float)):
            yield name, str(value)
        elif isinstance(value, os.PathLike):
            yield name, os.fspath(value)
        elif value is not None:
            raise OptionError(f"storage option {name!r} must be text, a number, True or False, got {type_name(value)}")


def _unknown(name: str) -> str:
    if name in _ELSEWHERE:
        return f"storage option {name!r} is not used here: {_ELSEWHERE[name]}"
    near = difflib.get_close_matches(name, sorted(FLAGS | S3 | HDFS | WEB), 3)
    hint = (
        f"did you mean {' or '.join(map(repr, near))}?"
        if near
        else "known are the options of s3fs and pyarrow, and hdfs.*, dfs.*, fs.*, hadoop.*, http.*, hf.*, gs.*, az.*"
    )
    return f"unknown storage option {name!r}: {hint}"


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that stores read, with absolute paths.

    The engine gets them because another process of the job may have started it.
    """
    read = {
        name: value for name, value in environ.items() if name in _VARIABLES or name.startswith(_ENVIRONMENT) or name.endswith(_PROXIES)
    }
    return _relative.variables(read)


def kept(name: str, cache_dir: str | os.PathLike[str] | None) -> Path | None:
    """The directory of a name beside the index of footers, where the engine keeps it by default;
    None where the machine has no place for it. It need not exist.
    """
    if cache_dir:
        return Path(path("cache_dir", cache_dir), name)
    variables = environment(os.environ)
    if own := variables.get("SHARDFEED_CACHE_DIR"):
        return Path(own, name)
    for variable, below in (("SLURM_TMPDIR", ""), ("XDG_CACHE_HOME", ""), ("HOME", ".cache")):
        if root := variables.get(variable):
            return Path(root, below, "shardfeed", name)
    return None
