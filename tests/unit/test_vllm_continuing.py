"""Fixed starts of replies behind a server: gone on with where the server can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import ValidationError

from magistrate.engines.api.batch import write_batch
from magistrate.engines.api.bodies import Dialect, body_of
from magistrate.engines.api.probing import continues_replies
from magistrate.engines.api.settings import ApiOptions
from magistrate.messages import Message, Part, Request

ASKED = Message("user", (Part("Grade it.", "question"),))
STARTED = Request("a", (ASKED, Message("assistant", (Part("10 "),))))
PLAIN = Request("b", (ASKED,))
GOES_ON = {"add_generation_prompt": False, "continue_final_message": True}


def sent(request: Request, **options: Any) -> dict[str, Any]:
    chosen = ApiOptions(**options)
    return body_of(request, "m", chosen, Dialect(chosen, is_openai=False))


def test_only_replies_with_a_start_are_gone_on_with() -> None:
    assert sent(STARTED, continue_reply="yes").items() >= GOES_ON.items()
    for body in (
        sent(PLAIN, continue_reply="yes"),
        sent(STARTED),
        sent(STARTED, continue_reply="no"),
        sent(Request("t", (Message("text", (Part("x"),)),)), continue_reply="yes"),
    ):
        assert not body.keys() & GOES_ON.keys()


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ([{"id": "m", "owned_by": "vllm", "max_model_len": 2048}], True),
        ([{"id": "other", "owned_by": "sglang"}], True),  # servers of one model take any name
        ([{"id": "m", "owned_by": "llamacpp"}], False),
        ([{"id": "m", "owned_by": "me"}, {"id": "n", "owned_by": "vllm"}], False),
        ([{"id": "m"}], False),
        ([], False),
    ],
)
def test_servers_that_can_are_known_by_their_list_of_models(
    listed: list[Any], expected: bool
) -> None:
    assert continues_replies(listed, "m") is expected


def test_batches_go_on_where_they_are_told_to(tmp_path: Path) -> None:
    (file,) = write_batch(
        [STARTED, PLAIN], tmp_path / "b.jsonl", "m", ApiOptions(continue_reply="yes")
    )
    started, plain = (orjson.loads(line)["body"] for line in file.read_bytes().splitlines())
    assert started.items() >= GOES_ON.items()
    assert not plain.keys() & GOES_ON.keys()


def test_extra_keys_do_not_contradict_the_option() -> None:
    with pytest.raises(ValidationError, match="continue_final_message cannot be set"):
        ApiOptions(extra_body={"continue_final_message": True})
