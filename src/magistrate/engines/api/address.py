"""Where the server is, and the key that it wants. Keys come from the environment alone."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from pydantic import SecretStr

from magistrate.errors import EngineError

DEFAULT_URL = "https://api.openai.com/v1"
DEFAULT_KEY_ENV = "OPENAI_API_KEY"

_ENDPOINTS = ("/chat/completions", "/completions", "/models")
# Providers repeat part of a wrong key in their message.
_LOOKS_LIKE_A_KEY = re.compile(r"\b(?:sk|gsk|xai|pk|rk|key)-[\w\-*.…]{3,}|Bearer\s+\S+")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is."""

    base: str
    """URL without a slash at its end, such as ``http://127.0.0.1:8080/v1``."""
    host: str
    is_secure: bool
    """Whether what is sent is encrypted."""
    is_loopback: bool
    """Whether it is this machine, where nothing costs money."""

    @property
    def is_openai(self) -> bool:
        """Whether it is OpenAI's own service."""
        return self.host == "api.openai.com"

    @property
    def proxy(self) -> str | None:
        """The proxy that the environment names for this server."""
        if self.is_loopback:
            return None
        from urllib.request import getproxies, proxy_bypass

        if proxy_bypass(self.host):
            return None
        return getproxies().get("https" if self.is_secure else "http")


def read_address(url: str | None) -> Address:
    """Check a URL.

    Args:
        url: Where the API begins; OpenAI's own when None. An endpoint at its end is left out.

    Raises:
        EngineError: It is no ``http`` or ``https`` URL, or it holds a password or a query.

    >>> read_address("http://127.0.0.1:8080/v1/").base
    'http://127.0.0.1:8080/v1'
    >>> read_address(None).is_openai
    True
    """
    text = (url or DEFAULT_URL).strip()
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port  # a port that is no number raises here
    except ValueError as error:
        raise EngineError(f"the server's URL cannot be read: {error}") from error
    if parts.username is not None or parts.password is not None:
        raise EngineError(
            "the server's URL holds a user name or password, which would be stored with the run; "
            "give the key in an environment variable instead (OPENAI_API_KEY, or key_env=NAME)"
        )
    if parts.scheme not in ("http", "https") or not host:
        raise EngineError(
            f"'{text}' is no URL of a server; needed is one such as http://127.0.0.1:8080/v1"
        )
    if parts.query or parts.fragment:
        raise EngineError(
            "the server's URL has a query or a fragment ('?' or '#'), which cannot be kept; "
            "give the URL up to /v1 only"
        )
    base = text.rstrip("/")
    for ending in _ENDPOINTS:
        base = base.removesuffix(ending)
    return Address(base, host.lower(), parts.scheme == "https", _is_loopback(host))


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a server, which no text ever shows."""

    variable: str
    secret: SecretStr | None
    """None when the variable is not set, or the key must not be sent."""

    @property
    def header(self) -> dict[str, str]:
        """The header that carries it; empty without a key."""
        if self.secret is None:
            return {}
        return {"Authorization": f"Bearer {self.secret.get_secret_value()}"}

    def hide(self, text: str) -> str:
        """Return text without the key, or anything that looks like one."""
        if self.secret is not None:
            text = text.replace(self.secret.get_secret_value(), "[key]")
        return _LOOKS_LIKE_A_KEY.sub("[key]", text)

    def require(self, address: Address) -> None:
        """Refuse to ask OpenAI without a key.

        Raises:
            EngineError: There is none; the message says where it is looked for.
        """
        if self.secret is None and address.is_openai:
            raise EngineError(
                f"{address.base} needs a key, and the environment variable {self.variable} is not "
                f"set; set it, or name another one with the option key_env=NAME"
            )


def find_key(address: Address, key_env: str | None) -> Key:
    """Read the key from the environment.

    Without ``key_env`` no key is sent over an unencrypted line to another machine: the variable
    that most people have set holds the key of another service.

    Raises:
        EngineError: The variable that ``key_env`` names is not set, or holds what is no key.
    """
    variable = key_env or DEFAULT_KEY_ENV
    value = os.environ.get(variable, "").strip()
    if key_env and not value:
        raise EngineError(f"key_env={key_env}: this environment variable is not set")
    if not value or not (key_env or address.is_secure or address.is_loopback):
        return Key(variable, None)
    if not value.isascii() or not value.isprintable() or " " in value:
        raise EngineError(
            f"the environment variable {variable} holds blanks, line ends or other characters that "
            f"no key has"
        )
    return Key(variable, SecretStr(value))
