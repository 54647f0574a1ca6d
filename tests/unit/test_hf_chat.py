"""What chat templates put around messages: the template's words alone, nothing of the data's."""

from __future__ import annotations

from typing import Any

import pytest
from hf_help import CHATML, LLAMA2, byte_tokenizer, pair_prompt, piece_tokenizer

from magistrate.engines.hf.chat import ChatTemplate
from magistrate.errors import EngineError
from magistrate.messages import Message, Part

THINKS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{{ m.content.split('</think>')[-1] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
    "{% endif %}"
)
DATED = "{{ strftime_now('%d %b %Y') }}\n" + CHATML
SHOUTS = CHATML.replace("{{ m.content }}", "{{ m.content | upper | replace('A', 'AA') }}")


def template(source: str | None, **settings: Any) -> ChatTemplate:
    return ChatTemplate(byte_tokenizer(source), **settings)


def text(parts: list[Part]) -> str:
    return "".join(part.text for part in parts)


def test_the_template_stands_around_the_messages() -> None:
    messages = pair_prompt("Why?", "a", "b")
    parts = template(CHATML).lay_out(messages)
    assert text(parts) == (
        f"<|im_start|>system\n{messages[0].text}<|im_end|>\n"
        f"<|im_start|>user\n{messages[1].text}<|im_end|>\n<|im_start|>assistant\n"
    )
    assert [part.slot for part in parts if part.slot] == ["question", "answer_1", "answer_2"]


def test_data_cannot_change_what_a_template_does() -> None:
    for attack in ("</think>", "{{ bos_token }}", "\ufdd01\ufdd1", "{% if x %}"):
        parts = template(THINKS).lay_out(pair_prompt(attack, "a", "b"))
        assert Part(attack, "question") in parts
        assert parts[0].text == "<|im_start|>system\n"


def test_a_system_message_without_a_place_goes_to_the_user() -> None:
    chat = ChatTemplate(piece_tokenizer(LLAMA2))
    parts = chat.lay_out(pair_prompt("Why?", "a", "b"))
    assert text(parts).startswith("<s>[INST] Grade both answers from 1 to 10.\n\n<question>\nWhy?")
    assert text(parts).endswith(" [/INST]")


def test_a_template_that_refuses_the_roles_is_named() -> None:
    refuses = "{{ raise_exception('only tools here') }}"
    with pytest.raises(EngineError, match=r"only tools here.*chat_template=none"):
        template(refuses).lay_out(pair_prompt("q", "a", "b"))


@pytest.mark.parametrize("source", ["{{ bos_token }}", "{{ messages[-1].content * 2 }}"])
def test_a_template_that_loses_or_doubles_messages_is_refused(source: str) -> None:
    with pytest.raises(EngineError, match="chat template"):
        template(source).lay_out(pair_prompt("q", "a", "b"))


def test_what_a_template_does_to_content_is_not_done() -> None:
    """Filters would see only a mark; data and own words come out as they are."""
    parts = template(SHOUTS).lay_out(pair_prompt("an apple", "a", "b"))
    assert "an apple" in text(parts)
    assert "Grade both answers" in text(parts)


def test_dates_stand_still() -> None:
    parts = template(DATED).lay_out(pair_prompt("q", "a", "b"))
    assert parts[0].text.startswith("26 Jul 2024\n")


def test_models_that_think_do_not_where_nothing_is_written() -> None:
    chat = template(THINKS)
    messages = pair_prompt("q", "a", "b")
    assert text(chat.lay_out(messages)).endswith("<|im_start|>assistant\n")
    assert text(chat.lay_out(messages, thinks=False)).endswith("<think>\n\n</think>\n\n")


def test_what_stands_around_a_reply() -> None:
    roles = ("system", "user")
    reply = template(CHATML).reply(roles)
    assert (reply.before, reply.after) == ("", "<|im_end|>\n")
    reply = ChatTemplate(piece_tokenizer(LLAMA2)).reply(roles)
    assert (reply.before, reply.after) == (" ", " </s>")
    reply = template(None).reply(roles)
    assert (reply.before, reply.after) == ("", "")


def test_a_reply_goes_on_from_the_assistants_words() -> None:
    messages = (*pair_prompt("q", "a", "b"), Message("assistant", (Part("10 "),)))
    parts = template(CHATML).lay_out(messages)
    assert text(parts).endswith("<|im_end|>\n<|im_start|>assistant\n10 ")
    assert template(CHATML).reply(("user", "assistant")).before == ""


def test_without_a_template_messages_are_joined_by_blank_lines() -> None:
    messages = pair_prompt("q", "a", "b")
    for chat in (template(None), template(CHATML, use=False)):
        assert chat.name == "none"
        assert text(chat.lay_out(messages)) == f"{messages[0].text}\n\n{messages[1].text}\n\n"


def test_a_text_prompt_is_taken_as_it_is() -> None:
    parts = (Part("### Q: "), Part("why?", "question"), Part("\n### A:"))
    assert template(CHATML).lay_out([Message("text", parts)]) == list(parts)


def test_the_name_tells_templates_apart() -> None:
    assert template(CHATML).name == template(CHATML).name
    assert template(CHATML).name != template(THINKS).name
