"""``magistrate judge --dry-run``: what would be sent, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from magistrate.cli.terminal import Terminal
from magistrate.report.text import counted, dollars, duration, harmless, shortened

if TYPE_CHECKING:
    from magistrate.judging.preview import Preview, ShownPrompt
    from magistrate.records import Sample
    from magistrate.store.dry import DryRun

_LONGEST_REASON = 200
_REASONS_SHOWN = 3


def show_dry_run(found: DryRun, terminal: Terminal) -> None:
    """Print prompts and counts."""
    terminal.notices(found.notices)
    terminal.bad_rows(found.bad, found.bad_rows, None)
    for prompt in found.preview.prompts:
        terminal.line(_heading(prompt))
        for message in prompt.messages:
            terminal.line(f"[{message.role}]")
            for image in message.images:
                terminal.line(f"[image {harmless(shortened(image, _LONGEST_REASON))}]")
            terminal.line(message.text.rstrip("\n"))
        terminal.line("")
    terminal.facts(_facts(found))
    terminal.json(dry_run_json(found))


def dry_run_json(found: DryRun) -> dict[str, Any]:
    """Return the result under its stable keys."""
    values = found.model_dump(mode="json", exclude={"demonstrations"})
    values["demonstrations"] = [
        {"source_id": sample.source_id, "text_id": sample.text_id}
        for sample in found.demonstrations
    ]
    preview = values.pop("preview")
    cost = preview.pop("cost")
    return {
        **values,
        **preview,
        "cost": cost and {"least": cost[0], "most": cost[1]},
    }


def _heading(prompt: ShownPrompt) -> str:
    name = f" (id {prompt.source_id})" if prompt.source_id is not None else ""
    order = ", ".join(str(1 + answer) for answer in prompt.order)
    what = f"order {order}" if prompt.answer is None else f"answer {1 + prompt.answer} alone"
    cut = ""
    if prompt.cut:
        cut = "; left out: " + ", ".join(f"{n:,} of {slot}" for slot, n in prompt.cut.items())
    return f"--- row {prompt.row}{name}, {what}: about {counted(prompt.tokens, 'token')}{cut}"


def _name_of(sample: Sample) -> str:
    return sample.source_id if sample.source_id is not None else sample.text_id[:8]


def _facts(found: DryRun) -> Iterator[tuple[str, str]]:
    seen = found.preview
    yield "judge", harmless(found.judge) + (f", mode {found.mode}" if found.mode else "")
    if found.demonstrations:
        names = ", ".join(harmless(_name_of(sample)) for sample in found.demonstrations)
        shown = counted(len(found.demonstrations), "demonstration")
        yield "shown solved", f"{shown} before each sample: {names}"
    if found.run:
        yield "run folder", harmless(found.run)
    yield "samples", f"{seen.samples:,}"
    made = seen.readings - seen.to_judge
    yield (
        "readings",
        f"{seen.to_judge:,} to make"
        + (f", {made:,} of {seen.readings:,} are there" if made else ""),
    )
    yield from _token_facts(seen)
    if seen.cost is not None:
        yield (
            "cost",
            f"{dollars(seen.cost[0])} to {dollars(seen.cost[1])}, by the length of replies",
        )
    else:
        yield "cost", "not known: give the price to the engine" if seen.price_unknown else "nothing"
    if found.seconds is not None:
        yield "time", f"about {duration(found.seconds)}, by the speed of this run so far"
    yield "sent", "nothing, and nothing was written"


def _token_facts(seen: Preview) -> Iterator[tuple[str, str]]:
    basis = f"of {counted(seen.counted_samples, 'sample')}"
    if seen.tokens is not None:
        spread = f"{seen.tokens.min:,} to {seen.tokens.max:,}, median {seen.tokens.median:,.0f}"
        yield "prompt tokens", f"{spread} ({counted(seen.tokens.prompts, 'prompt')} {basis})"
        yield (
            "in all",
            f"about {seen.prompt_tokens:,} prompt tokens, at most {seen.reply_tokens:,} written",
        )
    yield (
        "cut",
        f"{counted(seen.cut_readings, 'reading')} by {counted(seen.cut_tokens, 'token')} {basis}"
        if seen.cut_readings
        else f"nothing {basis}",
    )
    for reason, number in list(seen.not_asked.items())[:_REASONS_SHOWN]:
        text = shortened(harmless(reason), _LONGEST_REASON)
        yield "not asked", f"{counted(number, 'reading')}: {text}"
