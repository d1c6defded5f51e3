"""Addresses as messages may show them: without passwords and signatures, as the engine's shard.Redact has them."""

from __future__ import annotations

import re

_SCHEME = re.compile(r"@?[A-Za-z][A-Za-z0-9+.-]*://")
_SECRETS = (
    "x-amz-signature x-amz-credential x-amz-security-token awsaccesskeyid signature sig token access_token session_token "
    "access_key secret_key secret password delegation x-goog-signature x-goog-credential"
)
_PARAMETER = re.compile(rf"(?<=[?&])({'|'.join(_SECRETS.split())})=[^&]*", re.IGNORECASE)


def address(text: str) -> str:
    """Returns an address with *** for its secrets. A path without a scheme is shown whole."""
    scheme = _SCHEME.match(text)
    if scheme is None or scheme[0].lower().lstrip("@") == "file://":
        return text
    rest, mark, query = text[scheme.end() :].partition("?")
    return scheme[0] + _user(rest) + _PARAMETER.sub(r"\1=***", mark + query)


def _user(rest: str) -> str:
    """Hides the password of user:password@host. One that was pasted unescaped may hold slashes."""
    authority = rest.partition("/")[0]
    user, colon, secret = authority.partition(":")
    end = authority.rfind("@")
    if colon and end < 0 and secret.strip("0123456789"):
        end = rest.rfind("@")
    return f"{user}:***{rest[end:]}" if colon and end >= len(user) else rest
