"""A server on the loopback that answers as a test tells it to, faults of every kind included.

Plain sockets, so that it can do what no HTTP library lets a server do: reset connections, send half
a reply, dribble, keep silent.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from magistrate.messages import Message, Part, Request, Sampling


@dataclass(frozen=True)
class Asked:
    """One request as the server got it."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    number: int
    """Over all requests, from 0."""
    attempt: int
    """Of requests with this prompt, from 1."""
    at: float

    @property
    def prompt(self) -> str:
        if "prompt" in self.body:
            return str(self.body["prompt"])
        content = self.body["messages"][-1]["content"]
        return content if isinstance(content, str) else str(content[-1]["text"])


@dataclass(frozen=True)
class Answer:
    """What the server does."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    delay: float = 0.0
    fault: Literal["", "reset", "close", "hang", "short", "slow"] = ""


def said(*texts: str, prompt: int = 10, written: int = 2, **choice: Any) -> Answer:
    """A chat reply with one choice for each text."""
    choices = [
        {"index": i, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        | choice
        for i, text in enumerate(texts)
    ]
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": written,
        "total_tokens": prompt + written,
    }
    return Answer(json.dumps({"model": "m-1", "choices": choices, "usage": usage}).encode())


def error(
    status: int, message: str, *, headers: dict[str, str] | None = None, **more: Any
) -> Answer:
    """An error in OpenAI's form."""
    body = {"error": {"message": message, **more}}
    return Answer(json.dumps(body).encode(), status, headers or {})


def echo(asked: Asked) -> Answer:
    """Say the prompt again, so that a test can see that each request got its own reply."""
    return said(f"re {asked.prompt}")


Script = Callable[[Asked], Answer]


class FaultServer:
    """Use it as a context manager."""

    def __init__(self, script: Script = echo, models: Answer | None = None) -> None:
        self.script = script
        self.models = models or Answer(b'{"object": "list", "data": []}')
        self.asked: list[Asked] = []
        self.attempts: Counter[str] = Counter()
        self.most_at_once = 0
        self._at_once = 0
        self.broken_off = 0
        """Clients that went away before they had their answer."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(ready,))
        self._thread.start()
        assert ready.wait(10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End all connections and take no more. Calling it twice is harmless."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(10)
            assert not self._thread.is_alive()

    def _run(self, ready: threading.Event) -> None:
        async def serve() -> None:
            self._stop = asyncio.Event()
            server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=512)
            self.port = server.sockets[0].getsockname()[1]
            ready.set()
            await self._stop.wait()
            server.close()
            tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        try:
            self._loop.run_until_complete(serve())
        finally:
            self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        except asyncio.CancelledError:
            pass  # the server stops; asyncio's streams would report it as an error
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ")
        headers = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines[1:] if line)
        }
        data = await reader.readexactly(int(headers.get("content-length", 0)))
        if method == "GET":
            await self._send(reader, writer, self.models)
            return True
        body = json.loads(data)
        asked = Asked(path, headers, body, len(self.asked), 0, time.monotonic())
        self.attempts[asked.prompt] += 1
        asked = Asked(path, headers, body, len(self.asked), self.attempts[asked.prompt], asked.at)
        self.asked.append(asked)
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return await self._send(reader, writer, self.script(asked))
        finally:
            self._at_once -= 1

    async def _send(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: Answer
    ) -> bool:
        if answer.delay and await self._gone(reader, answer.delay):
            return False
        if answer.fault == "hang":
            await self._gone(reader, 3600)
            return False
        if answer.fault in ("reset", "close"):
            if answer.fault == "reset":
                writer.get_extra_info("socket").setsockopt(
                    socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                )
            writer.transport.abort()
            return False
        head = {"Content-Type": answer.content_type, "Content-Length": str(len(answer.body))}
        lines = [f"HTTP/1.1 {answer.status} X"]
        lines += [f"{name}: {value}" for name, value in (head | answer.headers).items()]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        if answer.fault == "short":
            writer.write(answer.body[: len(answer.body) // 2])
            await writer.drain()
            return False
        if answer.fault == "slow":
            for byte in answer.body:
                writer.write(bytes([byte]))
                if await self._gone(reader, 0.02):
                    return False
            return True
        writer.write(answer.body)
        await writer.drain()
        return True

    async def _gone(self, reader: asyncio.StreamReader, seconds: float) -> bool:
        """Wait, and see whether the client goes away meanwhile."""
        try:
            async with asyncio.timeout(seconds):
                gone = await reader.read(1) == b""
        except TimeoutError:
            return False
        except ConnectionError:
            gone = True
        self.broken_off += gone
        return gone


def requests(count: int, sampling: Sampling | None = None) -> list[Request]:
    """Requests with the prompts ``p0``, ``p1``, ..."""
    return [
        Request(
            key=f"{i:024x}/0",
            messages=(
                Message("system", (Part("Judge."),)),
                Message("user", (Part(f"p{i}", "question"),)),
            ),
            sampling=sampling or Sampling(max_tokens=16),
        )
        for i in range(count)
    ]
