"""One HTTP request: sent once, read whole, and every way it can fail told by name."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import aiohttp

from magistrate._version import __version__
from magistrate.engines.api.address import Address, Key
from magistrate.engines.api.failures import Fatal, Problem, TryAgain, raise_for
from magistrate.engines.api.settings import ApiOptions

MOST_BYTES = 64 * 2**20
"""Of a reply; a server that sends without end is cut off."""

KEEP_SECONDS = 4.0
"""How long an idle connection is kept: less than the five seconds after which servers close it, so
that none is used just when it goes."""

_JSON = {"Content-Type": "application/json", "Accept": "application/json"}


@dataclass(frozen=True, slots=True)
class Response:
    """What a server answered with success."""

    body: bytes
    headers: dict[str, str]
    """By name in lower case."""

    @property
    def content_type(self) -> str:
        """What the server says that the body is."""
        return self.headers.get("content-type", "")


class Client:
    """Connections to one server. Made and used on one event loop."""

    def __init__(self, address: Address, key: Key, options: ApiOptions) -> None:
        """Open nothing yet; connections are made when needed and kept."""
        self._address = address
        self._options = options
        self._proxy = address.proxy
        self._session = aiohttp.ClientSession(
            # How many are open at once is for the gate to say.
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_SECONDS),
            headers={**_JSON, "User-Agent": f"magistrate/{__version__}", **key.header},
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def post(self, path: str, body: bytes, *, limit: float, key: str) -> Response:
        """Send a request once.

        Args:
            path: Behind the server's URL, such as ``/chat/completions``.
            body: JSON.
            limit: Seconds that it may take in all.
            key: Sent as ``Idempotency-Key``: gateways that know it do no work twice.

        Raises:
            TryAgain: It may succeed later.
            Refused: The server will not take this one request.
            Fatal: It will take none.
        """
        return await self._send("POST", path, limit, data=body, headers={"Idempotency-Key": key})

    async def get(self, path: str, *, limit: float) -> Response:
        """Read something of the server; raises as :meth:`post` does."""
        return await self._send("GET", path, limit)

    async def _send(self, method: str, path: str, limit: float, **more: Any) -> Response:
        options = self._options
        timeout = aiohttp.ClientTimeout(
            total=limit, sock_connect=options.connect_timeout, sock_read=options.read_timeout
        )
        url = self._address.base + path
        try:
            async with self._session.request(
                method, url, timeout=timeout, allow_redirects=False, proxy=self._proxy, **more
            ) as response:
                body = await _read(response)
                headers = {name.lower(): value for name, value in response.headers.items()}
                status = response.status
        except aiohttp.ClientConnectorCertificateError as error:
            raise Fatal(Problem(0, f"its certificate is not valid ({_words(error)})")) from None
        except (aiohttp.InvalidURL, aiohttp.ClientHttpProxyError) as error:
            raise Fatal(Problem(0, _words(error))) from None
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise TryAgain("unreachable", f"no connection ({_words(error)})") from None
        except TimeoutError:
            raise TryAgain(
                "slow", f"no whole reply within {_seconds(limit, options)}", may_be_billed=True
            ) from None
        except (aiohttp.ClientError, OSError) as error:
            raise TryAgain(
                "garbled", f"the connection broke ({_words(error)})", may_be_billed=True
            ) from None
        raise_for(status, headers, body, time.time())
        return Response(body, headers)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > MOST_BYTES:
            response.close()
            raise TryAgain(
                "garbled", f"a reply of more than {MOST_BYTES:,} bytes", may_be_billed=True
            )
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def _words(error: Exception) -> str:
    return str(error) or type(error).__name__


def _seconds(limit: float, options: ApiOptions) -> str:
    return f"{min(limit, options.read_timeout):g} s"
