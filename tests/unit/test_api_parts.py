"""The parts of the API engine that need no server: addresses, keys, waits, prices, counting."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from magistrate.engines.api.address import find_key, read_address
from magistrate.engines.api.budget import Budget
from magistrate.engines.api.counting import estimate_tokens, make_counter
from magistrate.engines.api.engine import ApiEngine
from magistrate.engines.api.failures import Fatal, Refused, TryAgain, raise_for, read_problem
from magistrate.engines.api.pace import Gate
from magistrate.engines.api.prices import Price, known_price
from magistrate.engines.api.settings import ApiOptions
from magistrate.engines.api.waiting import LONGEST_WAIT, backoff, named_wait, used_up
from magistrate.engines.options import read_options
from magistrate.engines.table import open_engine
from magistrate.errors import CostLimitError, EngineError
from magistrate.records import Usage

KEY = "sk-test-0123456789abcdefghijKLMNOP"
LOCAL = read_address("http://127.0.0.1:8080/v1")
OPENAI = read_address(None)


# --- where, and with which key ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "base", "is_loopback"),
    [
        (None, "https://api.openai.com/v1", False),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1", True),
        ("http://[::1]:8000", "http://[::1]:8000", True),
        ("http://127.0.0.1:1/v1/chat/completions", "http://127.0.0.1:1/v1", True),
        ("https://example.org/api/v1", "https://example.org/api/v1", False),
        ("http://10.0.0.1/v1", "http://10.0.0.1/v1", False),
        ("http://127.0.0.1.example.org/v1", "http://127.0.0.1.example.org/v1", False),
    ],
)
def test_addresses(url: str | None, base: str, is_loopback: bool) -> None:
    address = read_address(url)
    assert (address.base, address.is_loopback) == (base, is_loopback)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://user:secret@example.org/v1", "holds a user name or password"),
        ("https://example.org/v1?key=secret", "a query or a fragment"),
        ("ftp://example.org", "is no URL of a server"),
        ("example.org/v1", "is no URL of a server"),
        ("http://example.org:port/v1", "cannot be read"),
        ("http://", "is no URL of a server"),
    ],
)
def test_urls_that_are_refused_do_not_show_secrets(url: str, words: str) -> None:
    with pytest.raises(EngineError, match=words) as caught:
        read_address(url)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "key_env", "is_sent"),
    [
        (None, None, True),
        ("https://example.org/v1", None, True),
        ("http://127.0.0.1:8000/v1", None, True),
        ("http://10.0.0.1:8000/v1", None, False),  # the line is open to all, the key another's
        ("http://10.0.0.1:8000/v1", "OPENAI_API_KEY", True),
    ],
)
def test_where_the_key_is_sent(
    url: str | None, key_env: str | None, is_sent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    key = find_key(read_address(url), key_env)
    assert key.header == ({"Authorization": f"Bearer {KEY}"} if is_sent else {})
    assert KEY not in repr(key)
    assert KEY not in str(key.secret)


def test_another_variable_may_hold_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of somebody else")
    monkeypatch.setenv("MY_KEY", KEY)
    assert find_key(OPENAI, "MY_KEY").header == {"Authorization": f"Bearer {KEY}"}
    with pytest.raises(EngineError, match="key_env=NO_KEY: this environment variable is not set"):
        find_key(OPENAI, "NO_KEY")


@pytest.mark.parametrize("value", ["two words", "line\nend", "schlüssel"])
def test_what_is_no_key_is_not_sent(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(EngineError, match="OPENAI_API_KEY holds blanks") as caught:
        find_key(OPENAI, None)
    assert value not in str(caught.value)


def test_openai_is_not_asked_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    engine = open_engine("openai", "gpt-4o-mini", None, {})  # a dry run needs none
    assert engine.info.context_tokens == 128_000
    with pytest.raises(EngineError, match="OPENAI_API_KEY is not set"):
        list(engine.complete([]))


def test_keys_are_hidden_in_what_servers_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "plain-looking-secret")
    key = find_key(OPENAI, None)
    said = "wrong: plain-looking-secret, sk-proj-12**********cdef, gsk_no, Bearer abc.def"
    assert key.hide(said) == "wrong: [key], [key], gsk_no, [key]"
    assert key.hide("a task-force of risk-takers") == "a task-force of risk-takers"


# --- options ------------------------------------------------------------------------------------


def test_options_come_as_text() -> None:
    options = read_options(
        ApiOptions,
        "openai",
        {
            "max_concurrency": "4",
            "price": "2.5,1.25,10",
            "extra_body": '{"reasoning_effort": "low"}',
            "leave_out": "seed, temperature",
        },
    )
    assert options.max_concurrency == 4
    assert options.price == Price(prompt=2.5, cached=1.25, written=10)
    assert options.extra_body == {"reasoning_effort": "low"}
    assert options.leave_out == ("seed", "temperature")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("max_concurrency", "0", "must be 1 or more"),
        ("price", "free", "IN,OUT or IN,CACHED,OUT"),
        ("price", "1,nan", "IN,OUT or IN,CACHED,OUT"),
        ("extra_body", "{", "not JSON"),
        ("extra_body", "[1]", "a JSON object is needed"),
        ("extra_body", '{"messages": []}', "messages cannot be set"),
        ("leave_out", "model", "'model' is not one of temperature"),
        ("key_env", "sk-1234", "must have the form"),
        ("api_key", "sk-1234", "no option 'api_key'"),
        ("prices", "/no/such/file", "cannot be read"),
        ("tokenizer", "/no/such/file", "not a tokenizer.json"),
    ],
)
def test_wrong_options_are_told(name: str, value: str, words: str) -> None:
    with pytest.raises(EngineError, match=words):
        open_engine("openai", "m", "http://127.0.0.1:9/v1", {"context_tokens": "99", name: value})


def test_only_what_changes_answers_is_a_setting_of_the_judge() -> None:
    def settings(**options: str) -> dict[str, object]:
        return open_engine("openai", "gpt-4o", None, options).info.settings

    plain = settings()
    assert settings(max_concurrency="3", price="1,2", max_cost="1", deadline="5") == plain
    assert settings(samples="3") == plain | {"samples": 3, "sample_temperature": 1.0}
    assert settings(extra_body='{"a": 1}') == plain | {"extra_body": {"a": 1}}
    assert settings(leave_out="seed") == plain | {"leave_out": ["seed"]}


# --- waiting ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Sun, 06 Nov 1994 08:50:07 GMT"}, 30),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:07 GMT"}, 0),  # gone by
        ({"retry-after": "5", "retry-after-ms": "1500"}, 1.5),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "120ms"}, 0.12),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, 360),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1h2m3.5s"}, 3723.5),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "784111787"}, 784111787),
        ({"x-ratelimit-remaining-tokens": "5", "x-ratelimit-reset-tokens": "6m0s"}, None),
        (
            {
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-tokens": "1994-11-06T08:50:07Z",
            },
            30,
        ),
    ],
)
def test_named_waits(headers: dict[str, str], seconds: float | None) -> None:
    now = 784111777.0  # Sun, 06 Nov 1994 08:49:37 GMT
    assert named_wait(headers, now) == (None if seconds is None else pytest.approx(seconds))


def test_a_reset_may_be_a_moment() -> None:
    headers = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1700000060"}
    assert used_up(headers, 1_700_000_000) == 60
    headers["x-ratelimit-reset-requests"] = "1700000060000"
    assert used_up(headers, 1_700_000_000) == 60


def test_waits_grow_and_differ() -> None:
    import random

    draw = random.Random(1)
    for failures, bound in ((1, 0.5), (2, 1), (3, 2), (99, LONGEST_WAIT)):
        waits = [backoff(failures, draw) for _ in range(200)]
        assert bound / 2 <= min(waits) < bound * 0.6
        assert bound * 0.9 < max(waits) <= bound


# --- what errors mean ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"message": "no", "code": "c", "type": "t"}}', "no"),
        (b'{"error": "no"}', "no"),
        (b'{"message": "no"}', "no"),
        (b'{"object": "error", "message": "no", "code": 400}', "no"),
        (b'{"detail": "no"}', "no"),
        (b'{"detail": [{"loc": ["body", "n"], "msg": "bad"}]}', "body.n: bad"),
        (b'[{"error": {"message": "no"}}]', "no"),
        (b"plain   text\n", "plain text"),
        (b"", "no message"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"x" * 5000, "x" * 500 + " ..."),
    ],
)
def test_messages_are_found_in_any_form(body: bytes, message: str) -> None:
    assert read_problem(400, body).message == message


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"", None),
        (400, b"{}", Refused),
        (401, b"{}", Fatal),
        (402, b"{}", Fatal),
        (403, b"{}", Fatal),
        (403, b'{"error": {"message": "Your input was flagged"}}', Refused),
        (404, b"{}", Fatal),
        (408, b"{}", TryAgain),
        (409, b"{}", TryAgain),
        (413, b"{}", Refused),
        (422, b"{}", Refused),
        (425, b"{}", TryAgain),
        (429, b"{}", TryAgain),
        (429, b'{"error": {"code": "insufficient_quota", "message": "x"}}', Fatal),
        (418, b"{}", Fatal),
        (307, b"{}", Fatal),
        (500, b"{}", TryAgain),
        (500, b'{"error": {"message": "logprobs is not supported for such models"}}', Refused),
        (529, b"{}", TryAgain),
    ],
)
def test_what_a_status_means(status: int, body: bytes, kind: type[Exception] | None) -> None:
    if kind is None:
        raise_for(status, {}, body, 0.0)
        return
    with pytest.raises(kind):
        raise_for(status, {}, body, 0.0)


# --- prices -------------------------------------------------------------------------------------


def test_bundled_prices_say_where_they_are_from() -> None:
    from magistrate.engines.api.prices import _bundled

    rows = _bundled()
    names = [name for row in rows for name in row.models]
    assert len(names) == len(set(names)) > 10
    for row in rows:
        assert row.host
        assert row.checked
        assert (row.source or "").startswith("https://")
        assert row.cached is None or row.cached < row.prompt < row.written


def test_a_price_is_that_of_the_server_and_the_model() -> None:
    assert known_price(OPENAI, "gpt-4o-mini").price == Price(prompt=0.15, cached=0.075, written=0.6)
    assert (
        known_price(OPENAI, "gpt-4o-mini-2024-07-18").price
        == known_price(OPENAI, "gpt-4o-mini").price
    )
    assert known_price(OPENAI, "gpt-4o-2024-05-13").price == Price(prompt=5, written=15)
    assert known_price(OPENAI, "gpt-4o-audio").price is None
    assert known_price(OPENAI, "gpt-4o-audio").source == "unknown"
    assert known_price(read_address("https://example.org/v1"), "gpt-4o-mini").price is None
    free = known_price(LOCAL, "gpt-4o-mini")
    assert free.price == Price(prompt=0, written=0)


def test_what_is_given_goes_before_what_is_known(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text('[[price]]\nmodels = ["gpt-4o"]\nprompt = 1\nwritten = 2\n')
    assert known_price(OPENAI, "gpt-4o", own_file=own).price == Price(prompt=1, written=2)
    assert known_price(OPENAI, "o3", own_file=own).price == Price(prompt=2, cached=0.5, written=8)
    given = Price(prompt=7, written=9)
    assert known_price(OPENAI, "gpt-4o", given, own).price == given


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[price]", "not valid TOML"),
        ("a = 1", r"no table \[\[price\]\]"),
        ('[[price]]\nmodels = ["m"]\nprompt = 1', "price 1: written: is missing"),
        ('[[price]]\nmodels = ["m"]\nprompt = -1\nwritten = 1', "price 1: prompt: "),
    ],
)
def test_a_wrong_price_file_names_the_row(text: str, words: str, tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(text)
    with pytest.raises(EngineError, match=words):
        known_price(OPENAI, "m", own_file=own)


def test_an_unknown_price_is_told_and_a_free_one_is_none() -> None:
    unknown = ApiEngine("some-model", read_address("https://example.org/v1"), find_key(LOCAL, None))
    assert (unknown.info.price, unknown.info.price_unknown) == (None, True)
    free = ApiEngine("some-model", LOCAL, find_key(LOCAL, None))
    assert (free.info.price, free.info.price_unknown) == (None, False)


def test_cost_of_cached_tokens() -> None:
    usage = Usage(prompt_tokens=100, cached_tokens=60, completion_tokens=10)
    assert Price(prompt=10, written=20).cost(usage) == pytest.approx(1200 / 1e6)
    assert Price(prompt=10, cached=1, written=20).cost(usage) == pytest.approx(660 / 1e6)
    assert Price(prompt=10, cached=1, written=20).most(100, 10) == pytest.approx(1200 / 1e6)


# --- counting -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "The quick brown fox jumps over the lazy dog.",
        "def f(x):\n    return x ** 2 + 1  # squared\n",
        "Pi is 3.14159265358979; e is 2.718281828.",
        "Größere Häuser kosten üblicherweise mehr.",
        "这个回答是正确的，而且很容易理解。",
        "Ответ верный и понятный.",
        "🙂🙃🚀 done",
        "",
    ],
)
def test_the_estimate_lies_above_a_real_vocabulary(text: str, repo: Path) -> None:
    tokenizer = repo / "src/magistrate/bundled/mini/tokenizer.json"
    exact = make_counter("m", tokenizer, is_openai=False)
    assert exact.method.startswith("tokenizer ")
    assert exact.count(text) <= estimate_tokens(text) <= 2.2 * exact.count(text) + 3


def test_tiktoken_counts_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Encoding:
        name = "o200k_base"

        def encode(self, text: str, disallowed_special: object) -> list[str]:
            assert disallowed_special == ()
            return text.split()

    fake = ModuleType("tiktoken")
    fake.encoding_for_model = lambda model: Encoding()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tiktoken", fake)
    counter = make_counter("gpt-4o", None, is_openai=True)
    assert (counter.count("one two <|im_end|>"), counter.method) == (3, "tiktoken o200k_base")
    assert make_counter("local", None, is_openai=False).method == "estimate 1"

    def no_network(model: str) -> Encoding:
        raise OSError(model)

    fake.encoding_for_model = no_network  # type: ignore[attr-defined]
    assert make_counter("gpt-4o", None, is_openai=True).method == "estimate 1"


# --- limits -------------------------------------------------------------------------------------


def test_the_gate_narrows_and_widens() -> None:
    async def run() -> None:
        gate = Gate(8)
        at_once = most = 0

        async def one() -> None:
            nonlocal at_once, most
            async with gate:
                at_once += 1
                most = max(most, at_once)
                await asyncio.sleep(0)
                at_once -= 1

        await asyncio.gather(*(one() for _ in range(50)))
        assert most == 8
        async with gate:
            gate.inside += 7
            gate.overloaded()
            gate.overloaded()  # the same overload
            gate.inside -= 7
        assert gate.width == 4
        most = 0
        await asyncio.gather(*(one() for _ in range(50)))
        assert most == 4
        for _ in range(200):
            gate.succeeded()
        most = 0
        await asyncio.gather(*(one() for _ in range(50)))
        assert most == 8

    asyncio.run(run())


def test_a_place_at_the_gate_is_not_lost_when_a_waiter_is_cancelled() -> None:
    async def run() -> None:
        gate = Gate(1)

        async def hold(done: asyncio.Event) -> None:
            async with gate:
                await done.wait()

        done = asyncio.Event()
        holder = asyncio.create_task(hold(done))
        await asyncio.sleep(0)
        waiters = [asyncio.create_task(hold(asyncio.Event())) for _ in range(3)]
        last = asyncio.create_task(hold(done))
        await asyncio.sleep(0)
        done.set()
        await holder
        for waiter in waiters:
            waiter.cancel()
        async with asyncio.timeout(5):
            await last
            await asyncio.gather(*waiters, return_exceptions=True)
        assert gate.inside == 0

    asyncio.run(run())


def test_a_budget_waits_for_what_is_under_way_before_it_stops() -> None:
    async def run() -> None:
        budget = Budget(10.0)
        await budget.reserve(6.0)
        second = asyncio.create_task(budget.reserve(6.0))
        await asyncio.sleep(0.01)
        assert not second.done()
        budget.settle(6.0, 1.0)
        await asyncio.wait_for(second, 5)
        third = asyncio.create_task(budget.reserve(6.0))
        await asyncio.sleep(0.01)
        budget.settle(6.0, 5.0)
        with pytest.raises(CostLimitError, match=r"\$6.0000 are spent"):
            await asyncio.wait_for(third, 5)
        assert SimpleNamespace(spent=6.0, aside=0.0) == SimpleNamespace(
            spent=budget.spent, aside=budget.set_aside
        )

    asyncio.run(run())
