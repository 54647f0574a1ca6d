"""What the API engine costs beside bare loops that send the same requests to the same server.

    python benchmarks/api.py --delays 0 0.02 --concurrency 16

starts a server on the loopback that answers every request after a fixed delay, sends the same
prompts with each client in turn (a process each, several rounds, interleaved so that a busy machine
slows all alike) and prints the median of the rounds: requests a second, processor time a request,
and the share of the bare aiohttp loop's throughput. The bare loops send a prepared body and parse
the JSON that comes back, and do nothing else: no retries, limits, budget or records. httpx is
measured where it is installed.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

PROMPT_CHARACTERS = 3000
REPLY = {
    "id": "x",
    "object": "chat.completion",
    "model": "m",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "8 7\nThe first is better."},
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 700, "completion_tokens": 9, "total_tokens": 709},
}


# --- the server ---------------------------------------------------------------------------------


class Server(asyncio.Protocol):
    """Answers every request alike, as fast as Python can."""

    delay = 0.0
    answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a client."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._data = b""

    def data_received(self, data: bytes) -> None:
        """Answer each whole request."""
        self._data += data
        while (end := self._data.find(b"\r\n\r\n")) >= 0:
            head = self._data[:end].lower()
            size = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
            if len(self._data) < end + 4 + size:
                return
            self._data = self._data[end + 4 + size :]
            if self.delay:
                loop = asyncio.get_running_loop()
                loop.call_later(self.delay, self._transport.write, self.answer)
            else:
                self._transport.write(self.answer)


async def serve(delay: float) -> None:
    """Serve until killed; the first line printed is the port."""
    body = json.dumps(REPLY).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    Server.answer = head.encode() + b"\r\n\r\n" + body
    Server.delay = delay
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


# --- the clients: each sends `count` requests and returns nothing -------------------------------


def prompt(number: int) -> str:
    """A prompt of the usual length."""
    return f"{number} ".ljust(PROMPT_CHARACTERS, "x")


def body(number: int) -> bytes:
    """A request as a bare loop sends it."""
    return json.dumps(
        {
            "model": "m",
            "messages": [{"role": "user", "content": prompt(number)}],
            "max_tokens": 512,
            "temperature": 0.0,
        }
    ).encode()


async def workers(send: Callable[[bytes], Awaitable[None]], count: int, concurrency: int) -> None:
    """Send with so many at once."""
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            await send(body(number))

    await asyncio.gather(*(work() for _ in range(concurrency)))


async def bare_aiohttp(url: str, count: int, concurrency: int) -> None:
    """Send with aiohttp alone."""
    import aiohttp

    connector = aiohttp.TCPConnector(limit=concurrency)
    headers = {"Content-Type": "application/json"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:

        async def send(data: bytes) -> None:
            async with session.post(url, data=data) as response:
                await response.json()

        await workers(send, count, concurrency)


async def bare_httpx(url: str, count: int, concurrency: int) -> None:
    """Send with httpx alone."""
    import httpx

    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    headers = {"Content-Type": "application/json"}
    async with httpx.AsyncClient(limits=limits, headers=headers, trust_env=False) as client:

        async def send(data: bytes) -> None:
            (await client.post(url, content=data)).json()

        await workers(send, count, concurrency)


def engine(url: str, count: int, concurrency: int) -> None:
    """Send with the engine."""
    from magistrate.engines.table import open_engine
    from magistrate.messages import Message, Part, Request

    requests = [
        Request(f"{i}/0", (Message("user", (Part(prompt(i), "question"),)),)) for i in range(count)
    ]
    base = url.removesuffix("/chat/completions")
    options = {"max_concurrency": str(concurrency), "context_tokens": "100000"}
    opened = open_engine("openai", "m", base, options)
    assert sum(1 for _ in opened.complete(requests)) == count
    opened.close()


CLIENTS = {"aiohttp": "bare aiohttp loop", "httpx": "bare httpx loop", "engine": "engine"}


def run_client(name: str, url: str, count: int, concurrency: int) -> None:
    """Send a few to warm up, then all; print seconds and processor seconds."""

    def send(number: int) -> None:
        if name == "engine":
            engine(url, number, concurrency)
        else:
            loop = bare_aiohttp if name == "aiohttp" else bare_httpx
            asyncio.run(loop(url, number, concurrency))

    send(2 * concurrency)
    began, used = time.perf_counter(), time.process_time()
    send(count)
    print(json.dumps([time.perf_counter() - began, time.process_time() - used]))


# --- measuring ----------------------------------------------------------------------------------


def measure(delay: float, count: int, concurrency: int, rounds: int) -> None:
    """Print the rows of one delay."""
    names = [name for name in CLIENTS if name == "engine" or importlib.util.find_spec(name)]
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve", str(delay)], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1/chat/completions"
        runs: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
        for _ in range(rounds):
            for name in names:
                command = [sys.executable, __file__, "--client", name, "--url", url]
                command += ["--requests", str(count), "--concurrency", str(concurrency)]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                runs[name].append(tuple(json.loads(done.stdout)))
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
    rates = {
        name: statistics.median(count / seconds for seconds, _ in found)
        for name, found in runs.items()
    }
    for name, found in runs.items():
        cpu = statistics.median(used / count for _, used in found) * 1000
        print(
            f"| {delay * 1000:g} ms | {concurrency} | {CLIENTS[name]} | {rates[name]:,.0f} "
            f"| {cpu:.2f} | {100 * rates[name] / rates['aiohttp']:.0f} % |",
            flush=True,
        )


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delays", type=float, nargs="+", default=[0.0, 0.02], metavar="SECONDS")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--client", choices=list(CLIENTS), help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve is not None:
        asyncio.run(serve(args.serve))
    if args.client:
        run_client(args.client, args.url, args.requests, args.concurrency)
        return
    print("| server's delay | at once | client | requests/s | CPU ms a request | of bare aiohttp |")
    print("|---:|---:|---|---:|---:|---:|")
    for delay in args.delays:
        measure(delay, args.requests, args.concurrency, args.rounds)


if __name__ == "__main__":
    main()
