"""The options of the engine, as text from the command line or a config file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import Field, field_validator

from magistrate.engines.api.prices import Price
from magistrate.records import Record

OURS = frozenset(
    {"model", "messages", "prompt", "stream", "add_generation_prompt", "continue_final_message"}
)
"""Keys of a request's body that ``extra_body`` may not set."""

OPTIONAL = ("temperature", "top_p", "seed", "stop", "top_logprobs", "logprobs", "n")
"""Parameters that are left out for servers that refuse them."""

AUTO: Literal["auto"] = "auto"


class ApiOptions(Record):
    """Options of the engine; times are in seconds, money in US dollars."""

    max_concurrency: int = Field(default=16, ge=1, le=4096)
    """Requests under way at once."""
    requests_per_minute: float | None = Field(default=None, gt=0)
    """Requests are spread evenly: 60 means one a second."""
    tokens_per_minute: float | None = Field(default=None, gt=0)
    """Prompt and reply together."""
    max_retries: int = Field(default=6, ge=0, le=100)
    """How often a request is sent again. Waits that the server asked for do not count."""
    connect_timeout: float = Field(default=10, gt=0)
    read_timeout: float = Field(default=300, gt=0)
    """Longest silence. A reply comes whole, so this is also how long a model may write."""
    try_timeout: float = Field(default=600, gt=0)
    """One try, from its beginning to the last byte."""
    deadline: float = Field(default=900, gt=0)
    """All tries of a request together, and the waits between them."""
    key_env: str | None = Field(default=None, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    """Name of the environment variable with the key; ``OPENAI_API_KEY`` when None."""
    token_parameter: Literal["auto", "max_tokens", "max_completion_tokens"] = AUTO
    """How the server calls the limit of a reply's length; learnt from its refusal when ``auto``."""
    continue_reply: Literal["auto", "yes", "no"] = AUTO
    """Whether the server is asked to go on from a reply's fixed start (``continue_final_message``).
    ``auto`` does where the list of models says that the server is vLLM or SGLang. Others take the
    start for a whole reply and begin a new one, which is read just as well."""
    leave_out: tuple[str, ...] = ()
    """Parameters that are never sent, with commas between: of :data:`OPTIONAL`. What a server
    refuses is left out without this; a batch has nobody to learn that from."""
    samples: int = Field(default=1, ge=1, le=128)
    """Replies to each prompt: where a server gives no log-probabilities, their spread says how sure
    a judge is."""
    sample_temperature: float = Field(default=1.0, gt=0, le=2)
    """Temperature of several samples where the family asks for 0: they would all be alike."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """More keys for the body of each request, as JSON."""
    context_tokens: int | None = Field(default=None, ge=16)
    """Longest prompt and reply together; asked of the server when None."""
    tokenizer: Path | None = None
    """A ``tokenizer.json`` of the model, to count tokens exactly."""
    price: Price | None = None
    """``IN,OUT`` or ``IN,CACHED,OUT``: dollars for a million tokens."""
    prices: Path | None = None
    """A TOML file of prices that go before those of the package."""
    max_cost: float | None = Field(default=None, gt=0)
    """No request is sent that could bring the engine's costs above this."""
    max_image_bytes: int = Field(default=20_000_000, ge=1)
    """Largest image file that is sent."""

    @field_validator("price", mode="before")
    @classmethod
    def _read_price(cls, value: object) -> object:
        return Price.read(value) if isinstance(value, str) else value

    @field_validator("leave_out", mode="before")
    @classmethod
    def _read_names(cls, value: object) -> object:
        if isinstance(value, str):
            value = tuple(name.strip() for name in value.split(",") if name.strip())
        return value

    @field_validator("leave_out")
    @classmethod
    def _check_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in OPTIONAL:
                raise ValueError(f"'{name}' is not one of {', '.join(OPTIONAL)}")
        return value

    @field_validator("extra_body", mode="before")
    @classmethod
    def _read_body(cls, value: object) -> object:
        if isinstance(value, str):
            try:
                value = orjson.loads(value)
            except ValueError as error:
                raise ValueError(f"not JSON ({error})") from error
            if not isinstance(value, dict):
                raise ValueError(  # noqa: TRY004  # of pydantic's two, the one with a message
                    'a JSON object is needed, such as {"reasoning_effort": "low"}'
                )
        return value

    @field_validator("extra_body")
    @classmethod
    def _leave_ours_alone(cls, value: dict[str, Any]) -> dict[str, Any]:
        if taken := sorted(OURS & value.keys()):
            raise ValueError(f"{', '.join(taken)} cannot be set")
        return value
