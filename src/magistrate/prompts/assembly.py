"""A family's messages, what stands before them, and the start of the reply behind them."""

from __future__ import annotations

from dataclasses import replace

from magistrate.messages import Message, Part


def with_demonstrations(
    messages: tuple[Message, ...], shown: tuple[Message, ...]
) -> tuple[Message, ...]:
    """Put demonstrations before what is judged, behind the system message if there is one."""
    if not shown:
        return messages
    if messages[-1].role == "text":
        before = tuple(part for message in shown for part in message.parts)
        return (Message("text", before + messages[-1].parts),)
    system = [message for message in messages if message.role == "system"]
    return (*system, *shown, *(message for message in messages if message.role != "system"))


def with_images(messages: tuple[Message, ...], images: tuple[str, ...]) -> tuple[Message, ...]:
    """Return a prompt whose last message of the user shows images before its text."""
    if not images:
        return messages
    last = max(place for place, message in enumerate(messages) if message.role == "user")
    shown = replace(messages[last], images=images)
    return (*messages[:last], shown, *messages[last + 1 :])


def with_start(messages: tuple[Message, ...], start: str) -> tuple[Message, ...]:
    """Return a prompt with the fixed start of the reply at its end."""
    if not start:
        return messages
    last = messages[-1]
    if last.role != "text":
        return (*messages, Message("assistant", (Part(start),)))
    parts = last.parts
    if parts and parts[-1].slot is None:
        parts = (*parts[:-1], Part(parts[-1].text + start))
    else:
        parts = (*parts, Part(start))
    return (*messages[:-1], Message("text", parts))
