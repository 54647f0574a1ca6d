"""Ask an engine for a text per row: resumable, counted, within a budget.

    with Session(Path("answers.asked")) as session, session.respondent("hf:MODEL") as model:
        replies = model.ask([Prompt(messages, sampling), ...])

A session can be killed at any moment; the same calls go on where it stopped, and nothing is asked
twice. How many requests are under way at once is the engine's own affair.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from magistrate.data.replies import Reply, ReplyFile
from magistrate.engines.base import ChecksItself, Engine
from magistrate.engines.naming import NamedEngine, open_named_engine, split_label
from magistrate.errors import EngineError
from magistrate.ids import content_id
from magistrate.judging.spending import Spending
from magistrate.judging.window import TooLongError, Window
from magistrate.messages import Completion, Message, Part, Request, Sampling
from magistrate.records import Role, Status, Turn, Usage
from magistrate.store.disk import writing
from magistrate.store.interrupt import Interruption, RunInterrupted
from magistrate.store.lock import RunLock
from magistrate.store.progress import OnProgress, Progress
from magistrate.store.work import OnNotice

SECONDS_BETWEEN_REPORTS = 0.1


@dataclass(frozen=True, slots=True)
class Prompt:
    """One thing to ask."""

    messages: tuple[Message, ...]
    sampling: Sampling


def prompt_of(turns: Sequence[Turn], sampling: Sampling, system: str | None = None) -> Prompt:
    """Return a dialogue as a prompt; all its turns are data, the system text is the user's own."""
    messages = [Message("system", (Part(system),))] if system else []
    messages += [Message(turn.role, (Part(turn.text, _SLOTS[turn.role]),)) for turn in turns]
    return Prompt(tuple(messages), sampling)


_SLOTS: dict[Role, str] = {"system": "question", "user": "question", "assistant": "reply"}


def asked_folder(out: Path) -> Path:
    """Return where the replies behind an output are kept.

    >>> asked_folder(Path("data/pairs-ref.jsonl")).as_posix()
    'data/pairs-ref.asked'
    """
    return out.with_name(out.name.split(".jsonl")[0] + ".asked")


def options_for(engine: str, options: Mapping[str, str]) -> dict[str, str]:
    """Return the options that are meant for an engine: ``NAME``, or ``ENGINE.NAME``.

    >>> options_for("hf", {"hf.device": "cpu", "openai.max_retries": "1", "threads": "2"})
    {'device': 'cpu', 'threads': '2'}
    """
    chosen = {}
    for name, value in options.items():
        whose, dot, own = name.rpartition(".")
        if not dot or whose == engine:
            chosen[own] = value
    return chosen


@dataclass(slots=True)
class _Meter:
    """How far all asking of a session is."""

    total: int = 0
    done: int = 0
    resumed: int = 0
    counts: dict[Status, int] = field(default_factory=lambda: {"ok": 0, "error": 0})
    began: float = field(default_factory=time.monotonic)
    reported: float = 0.0


class Session:
    """Whatever one command asks. Use it as a context manager."""

    def __init__(
        self,
        folder: Path,
        *,
        total: int = 0,
        max_cost: float | None = None,
        options: Mapping[str, str] | None = None,
        on_progress: OnProgress | None = None,
        on_notice: OnNotice | None = None,
    ) -> None:
        """Name the folder of the replies; it is made when needed.

        Args:
            folder: Holds ``replies.jsonl``.
            total: How many prompts will be asked, those of earlier commands included.
            max_cost: US dollars that all replies in the folder may cost together.
            options: Settings of engines by name, as :func:`options_for` reads them.
            on_progress: Called up to ten times a second and at the end.
            on_notice: Called with what the user should know at once.
        """
        self.folder = folder
        self._limit = max_cost
        self._options = options or {}
        self._on_progress = on_progress
        self._on_notice = on_notice
        self._meter = _Meter(total)
        self._stack = ExitStack()
        self._interruption = Interruption()

    def __enter__(self) -> Self:
        """Take the folder.

        Raises:
            RunLockedError: Another process is asking for the same output.
            RunError: The folder cannot be written.
        """
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            stack.enter_context(RunLock(self.folder))
            self.replies = stack.enter_context(ReplyFile(self.folder))
            stack.enter_context(self._interruption)
            self._stack = stack.pop_all()
        for notice in self.replies.notices:
            if self._on_notice is not None:
                self._on_notice(notice)
        self.spending = Spending(self.replies.cost, self._limit, doing="asking")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give the folder back."""
        self._report(last=True)
        self._stack.close()
        if isinstance(error, RunInterrupted):
            raise RunInterrupted(
                f"{error.args[0].split(';')[0]}; {self._meter.done:,} of {self._meter.total:,} "
                f"replies are kept in {self.folder}, and the same command goes on from there",
                error.number,
            ) from None

    @property
    def resumed(self) -> int:
        """Prompts so far that an earlier command had asked."""
        return self._meter.resumed

    @contextmanager
    def respondent(self, name: str) -> Iterator[Respondent]:
        """Open an engine by name, and close it at the end.

        Raises:
            JudgeNotFoundError: The name names no model that writes.
            EngineError: The model cannot be run, or its price is not known and there is a limit.
        """
        engine = split_label(name)[1].partition(":")[0]
        named = open_named_engine(name, options_for(engine, self._options))
        try:
            info = named.engine.info
            if self._limit is not None and info.price_unknown:
                raise EngineError(
                    f"a cost limit cannot be kept: the price of '{info.model}' is not known; give "
                    f"it as an engine option, or ask without --max-cost"
                )
            if isinstance(named.engine, ChecksItself):
                named.engine.check()
            yield Respondent(named, self)
        finally:
            named.engine.close()

    def count(self, prompts: int, status: Status, *, resumed: bool = False) -> None:
        """Count prompts that are done with.

        Args:
            prompts: How many.
            status: ``ok`` or ``error``.
            resumed: Whether an earlier command had asked them.
        """
        self._meter.done += prompts
        self._meter.counts[status] += prompts
        self._meter.resumed += prompts if resumed else 0
        self._report()

    def _report(self, *, last: bool = False) -> None:
        meter, now = self._meter, time.monotonic()
        if self._on_progress is None or (
            not last and now - meter.reported < SECONDS_BETWEEN_REPORTS
        ):
            return
        meter.reported = now
        self._on_progress(
            Progress(
                done=meter.done,
                total=max(meter.total, meter.done),
                resumed=meter.resumed,
                counts=dict(meter.counts),
                seconds=now - meter.began,
                cost=self.replies.cost,
            )
        )

    def keep(self, reply: Reply) -> None:
        """Put a reply on the disk, and its cost on the bill."""
        with self._interruption.shield():
            self.replies.append(reply)
            self.spending.add(reply.cost)


class Respondent:
    """One engine, asked within a session."""

    def __init__(self, named: NamedEngine, session: Session) -> None:
        """Take both."""
        self.label = named.label
        self.engine: Engine = named.engine
        self.batch = named.engine.info.preferred_batch
        """How many prompts are best asked at once."""
        self._session = session
        info = named.engine.info
        self._identity = [
            *(info.engine, info.model, info.weights_hash, info.settings),
            named.url,
        ]
        self._tried: dict[str, Reply] = {}
        self._windows: dict[int, Window] = {}

    def ask(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return a reply to each prompt, asking only what was never answered.

        Equal prompts are asked once. A failed request comes back as a reply with ``error``; the
        session asks it no more, the next one does.

        Raises:
            EngineError: The engine cannot go on; what came before is kept.
            CostLimitError: The next request could pass the limit; likewise.
        """
        fitted = [self._fitted(prompt) for prompt in prompts]
        keys = [self._key(prompt) for prompt in fitted]
        waiting: dict[str, Request] = {}
        repeats = 0
        for key, prompt in zip(keys, fitted, strict=True):
            if self._session.replies.reply(key) is not None:
                self._session.count(1, "ok", resumed=True)
            elif key in self._tried:
                self._session.count(1, "error")
            elif key in waiting:
                repeats += 1
            else:
                waiting[key] = Request(key, prompt.messages, prompt.sampling)
        self._complete([request for request in waiting.values() if self._fits(request)])
        if repeats:
            self._session.count(repeats, "ok")
        return [self._session.replies.reply(key) or self._failure(key) for key in keys]

    def _fitted(self, prompt: Prompt) -> Prompt:
        """Return the prompt with a reply that leaves room for it in the model's window."""
        context = self.engine.info.context_tokens
        if context is None or prompt.sampling.max_tokens <= context // 2:
            return prompt
        return replace(prompt, sampling=replace(prompt.sampling, max_tokens=max(1, context // 2)))

    def _key(self, prompt: Prompt) -> str:
        messages = [
            [message.role, [[part.text, part.slot] for part in message.parts]]
            for message in prompt.messages
        ]
        return content_id([messages, self._identity, asdict(prompt.sampling)])

    def _window(self, reserve: int) -> Window:
        if reserve not in self._windows:
            self._windows[reserve] = Window(self.engine, reserve)
        return self._windows[reserve]

    def _fits(self, request: Request) -> bool:
        """Whether a prompt fits the model's window; one that does not is a failure, never cut."""
        try:
            self._window(request.sampling.max_tokens).fit(request.messages, cut=False)
        except TooLongError as error:
            self._take(Completion(request.key, error=str(error), usage=Usage()))
            return False
        return True

    def _complete(self, left: list[Request]) -> None:
        spending = self._session.spending
        while left:
            window = self._window(left[0].sampling.max_tokens)
            number = spending.affordable(left, self.engine, window)
            now, left = left[:number], left[number:]
            open_keys = {request.key for request in now}
            with ExitStack() as stack:
                completions = self.engine.complete(now)
                if hasattr(completions, "close"):  # so that requests under way end with us
                    stack.callback(completions.close)
                for completion in completions:
                    open_keys.discard(completion.key)
                    self._take(completion)
                    if open_keys:
                        spending.check()
            for key in open_keys:
                self._take(Completion(key, error="the engine returned nothing for this request"))

    def _take(self, completion: Completion) -> None:
        reply = Reply(
            key=completion.key,
            model=self.label,
            text=completion.text if completion.error is None else "",
            finish_reason="error" if completion.error is not None else completion.finish_reason,
            error=completion.error,
            usage=completion.usage,
            cost=completion.cost,
            seconds=completion.seconds,
        )
        if reply.error is not None:
            self._tried[reply.key] = reply
        self._session.keep(reply)
        self._session.count(1, "ok" if reply.error is None else "error")

    def _failure(self, key: str) -> Reply:
        return (
            self._tried.get(key)
            or self._session.replies.failure(key)
            or Reply(key=key, model=self.label, error="not asked", finish_reason="error")
        )
