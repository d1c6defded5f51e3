"""Paths in storage options and variables, made absolute: the engine has another working directory
than the program, and maybe another home.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

_VARIABLES = """
    HOME XDG_CACHE_HOME SLURM_TMPDIR SHARDFEED_CACHE_DIR SSL_CERT_FILE SSL_CERT_DIR
    AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE AWS_CA_BUNDLE AWS_WEB_IDENTITY_TOKEN_FILE AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE
    AWS_LOGIN_CACHE_DIRECTORY GOOGLE_APPLICATION_CREDENTIALS CLOUDSDK_CONFIG AZURE_FEDERATED_TOKEN_FILE
    HADOOP_HOME HADOOP_CONF_DIR HADOOP_TOKEN_FILE_LOCATION KRB5_CONFIG KRB5CCNAME KRB5_CLIENT_KTNAME
    HF_HOME HF_HUB_CACHE HUGGINGFACE_HUB_CACHE HF_TOKEN_PATH PYICEBERG_HOME
"""
VARIABLES = frozenset(_VARIABLES.split())

_OPTIONS = """
    ca-bundle hdfs-conf keytab ca_bundle aws_ca_bundle verify client_kwargs.verify gs.token kerb_ticket
    hdfs.conf_dir hdfs.keytab hdfs.ccache hdfs.krb5_conf hdfs.token_file hdfs.ca_bundle
    hive.ca_bundle hive.keytab hive.ccache hive.krb5_conf
"""
OPTIONS = frozenset(_OPTIONS.split())

_LISTS = frozenset({"KRB5_CONFIG", "SSL_CERT_DIR"})  # of paths with colons between them

_PATH = re.compile(r"((?:WR)?FILE:)?(.*)", re.DOTALL | re.IGNORECASE)

# What these variables and options hold in place of a path: a switch, gcsfs' ways to log in, JSON, a
# variable that the hub's client expands, and Kerberos' caches that are in no file.
_NO_PATH = re.compile(
    r"\s*(?:$|\{|\$|(?:true|false|yes|no|[01]|anon|anonymous|cloud|browser|cache|google_default)$)|(?!(?:WR)?FILE:)[A-Z]+:", re.IGNORECASE
)


def options(given: Mapping[str, str]) -> dict[str, str]:
    """Storage options with absolute paths."""
    return {name: _absolute(value) if name.lower() in OPTIONS else value for name, value in given.items()}


def variables(given: Mapping[str, str]) -> dict[str, str]:
    """Variables with absolute paths."""
    return {name: _each(name, value) if name in VARIABLES else value for name, value in given.items()}


def _each(name: str, value: str) -> str:
    return ":".join(map(_absolute, value.split(":"))) if name in _LISTS else _absolute(value)


def _absolute(value: str) -> str:
    if _NO_PATH.match(value):
        return value
    kind, path = _PATH.fullmatch(value).groups("")  # type: ignore[union-attr]
    return kind + os.path.abspath(os.path.expanduser(path))
