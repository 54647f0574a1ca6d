"""A live cascade on PandaLM's test set: mini, then a server that says what GPT-4 said.

    python benchmarks/cascade_live.py DATA OUT [--limit 200] [--budget 0.5]

DATA is the folder of public data (MAGISTRATE_DATA). GPT-4's scores of every pair are stored there;
a server on the loopback gives them as an OpenAI-compatible server would, a third of a second each,
with a burst of refusals (429), errors (500) and broken connections now and then. The cascade does
not know that they are stored. Printed are what each judge did, and agreement with people.
"""

from __future__ import annotations

import argparse
import json
import random
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any

import magistrate as mg
from magistrate.report.cascade_live import cascade_table
from magistrate.report.table import plain_text

SECONDS_A_REPLY = 0.33
FAULTS = 0.15
"""Share of requests that fail at first."""
OPTIONS = {
    "openai.price": "2.5,10",
    "openai.context_tokens": "8000",
    "openai.max_concurrency": "8",
}


def replies_of(data: Path, limit: int) -> dict[str, str]:
    """Return what GPT-4 said to every prompt, as scores in the order shown."""
    samples = mg.read_samples(data / "pandalm" / "testset-v1.json")
    scores = (data / "unlimitedjudge/CrossEvalGpt/pandalm-gpt4.jsonl").read_text().splitlines()
    replies = {}
    with mg.load_judge("scripted:tie#pair") as judge:
        for sample, line in islice(zip(samples, scores, strict=True), limit):
            first, second = json.loads(line)
            for order, said in (((0, 1), (first, second)), ((1, 0), (second, first))):
                (messages,) = judge.family.prompts(sample, order)
                text = f"{said[0]} {said[1]}" if first >= 0 else "I cannot say."
                replies[messages[-1].text] = text
    return replies


def serve(replies: dict[str, str]) -> ThreadingHTTPServer:
    """Serve the replies on the loopback; the number of requests is its attribute ``asked``."""
    tried: set[str] = set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send({"object": "list", "data": [{"id": "gpt-4"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            prompt = body["messages"][-1]["content"]
            server.asked += 1  # type: ignore[attr-defined]
            draw = random.Random(prompt).random()
            if draw < FAULTS and prompt not in tried:
                tried.add(prompt)
                if draw < FAULTS / 3:
                    self.close_connection = True
                    return
                self._send({"error": {"message": "busy"}}, 429 if draw < FAULTS / 2 else 500)
                return
            time.sleep(SECONDS_A_REPLY)
            said = replies[prompt]
            usage = {
                "prompt_tokens": len(prompt) // 4,
                "completion_tokens": 5,
                "total_tokens": len(prompt) // 4 + 5,
            }
            choice = {
                "index": 0,
                "message": {"role": "assistant", "content": said},
                "finish_reason": "stop",
            }
            self._send({"model": "gpt-4", "choices": [choice], "usage": usage})

        def _send(self, value: dict[str, Any], status: int = 200) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked = 0  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--budget", type=float, default=0.5)
    parser.add_argument("--stream", type=int, default=None)
    asked = parser.parse_args()
    labels = asked.data / "pandalm" / "testset-v1.json"
    server = serve(replies_of(asked.data, asked.limit))
    strong = f"openai:gpt-4@http://127.0.0.1:{server.server_port}/v1#pair"
    try:
        done = mg.run_cascade(
            str(labels),
            ["mini", strong],
            asked.out,
            budget=asked.budget,
            stream=asked.stream,
            limit=asked.limit,
            fallback="cheap",
            engine_options=OPTIONS,
            cache=False,
            on_notice=lambda notice: print("note:", notice.message),
        )
    finally:
        server.shutdown()
        server.server_close()
    print(plain_text(cascade_table(done.manifest), 110))
    print(f"requests that the server got: {server.asked}")  # type: ignore[attr-defined]
    for name, run in (("cascade", done.path), ("mini alone", done.tiers()[0].path)):
        found = mg.summarise(mg.open_run(run)).agreement
        if found is not None and found.three_class.judge.value is not None:
            rate = found.three_class.judge
            print(f"{name}: agrees with people on {rate.value:.1%} of {rate.n} pairs")


if __name__ == "__main__":
    main()
