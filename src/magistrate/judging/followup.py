"""Questions to a judge about a judgment: its own prompt and its reply, then the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from magistrate.errors import EngineError
from magistrate.judging.asking import Asker
from magistrate.judging.judge import Judge
from magistrate.judging.plan import Reading
from magistrate.judging.spending import Spending
from magistrate.judging.window import TooLongError, Window
from magistrate.messages import Choices, Completion, Message, Part, Request, Sampling
from magistrate.records import Judgment

REPLY_TOKENS = 512
"""Longest reply to a question."""

_QUESTION, _ANSWER = "\n\n### Question\n", "\n\n### Answer\n"
"""Of completion-style prompts, which know no turns."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A question to the judge, and what it replied."""

    question: str
    completion: Completion


class Conversation:
    """A judge's prompt for one reading, its reply, and the questions since."""

    def __init__(
        self,
        judge: Judge,
        reading: Reading,
        judgment: Judgment,
        *,
        part: int = 0,
        spending: Spending | None = None,
    ) -> None:
        """Lay out the judge's prompt and its reply.

        The reply is the stored one. Where none is stored for this prompt alone (several prompts
        make up the reading, or the judge gave probabilities and wrote nothing), the judge is asked
        for it again.

        Args:
            judge: Who gave the judgment.
            reading: What it read.
            judgment: What came of it.
            part: Which prompt of the reading, where each answer is read alone.
            spending: What was spent on the run, and its limit.

        Raises:
            EngineError: The judge writes no text, or the engine failed.
            CostLimitError: Its reply is needed anew and could pass the limit.
        """
        info = judge.engine.info
        if info.scores:
            raise EngineError(
                f"judge '{judge.spec.name}' has a scoring head: it writes no text and cannot be "
                f"asked; only judges that write can"
            )
        self._engine = judge.engine
        self._spending = spending or Spending()
        self._unbilled: Completion | None = None
        asker = Asker(judge)
        self._window = asker.window
        asked = asker.ask(reading)
        if isinstance(asked, Judgment):
            raise EngineError(f"the judge cannot be asked about this reading: {asked.error}")
        request = asked.requests[part]
        alone = len(asked.requests) == 1
        self.reply = judgment.raw if alone and judgment.raw else self._reply_anew(request)
        self.turns: list[Turn] = []
        self._sampling = Sampling(
            max_tokens=min(REPLY_TOKENS, (info.context_tokens or 4 * REPLY_TOKENS) // 4),
            temperature=judge.sampling.temperature,
            seed=judge.sampling.seed,
        )
        self._window = Window(judge.engine, self._sampling.max_tokens)
        self._messages = with_reply(request.messages, self.reply)

    def ask(self, question: str) -> Completion:
        """Ask one more question; what was asked before stands before it.

        Raises:
            EngineError: The engine failed, or all that is there does not fit into its window.
            CostLimitError: The question could pass the limit.
        """
        messages = self._with_question(question)
        try:
            fitted = self._window.fit(messages)
        except TooLongError as error:
            raise EngineError(f"the conversation is too long: {error}") from error
        if {"reply", "follow_up"} & fitted.cut.keys():
            raise EngineError(
                f"the conversation is too long: prompt, replies and questions do not fit into the "
                f"{self._window.context:,} tokens that the model reads; ask less at once"
            )
        stop = (_QUESTION.rstrip(),) if messages[0].role == "text" else ()
        request = Request(
            f"ask/{len(self.turns)}", fitted.messages, replace(self._sampling, stop=stop)
        )
        completion = self._complete(request)
        if self._unbilled is not None:
            first, self._unbilled = self._unbilled, None
            completion = replace(
                completion,
                usage=completion.usage + first.usage,
                cost=completion.cost + first.cost,
                seconds=completion.seconds + first.seconds,
            )
        self.turns.append(Turn(question, completion))
        self._messages = with_reply(messages, completion.text)
        return completion

    def _with_question(self, question: str) -> tuple[Message, ...]:
        if self._messages[0].role == "text":
            (message,) = self._messages
            added = (Part(_QUESTION), Part(question, "follow_up"), Part(_ANSWER))
            return (replace(message, parts=(*message.parts, *added)),)
        return (*self._messages, Message("user", (Part(question, "follow_up"),)))

    def _reply_anew(self, request: Request) -> str:
        completion = self._unbilled = self._complete(request)
        if request.choices is not None:
            return likeliest(request.choices, completion.choices)
        return completion.text

    def _complete(self, request: Request) -> Completion:
        self._spending.affordable([request], self._engine, self._window)
        completions = list(self._engine.complete([request]))
        self._spending.add(sum(completion.cost for completion in completions))
        if not completions:
            raise EngineError("the engine returned no completion for this request")
        if completions[0].error is not None:
            raise EngineError(f"the judge could not be asked: {completions[0].error}")
        return completions[0]


def with_reply(messages: tuple[Message, ...], reply: str) -> tuple[Message, ...]:
    """Return a prompt with what the judge replied to it.

    The reply is data: it may quote what stood in an answer. Where the prompt holds the start of the
    reply already, the reply goes on from there.
    """
    part = Part(reply, "reply")
    last = messages[-1]
    if last.role in ("assistant", "text"):
        return (*messages[:-1], replace(last, parts=(*last.parts, part)))
    return (*messages, Message("assistant", (part,)))


def likeliest(choices: Choices, logprobs: Sequence[float]) -> str:
    """Return the likeliest verdict as the judge would have written it.

    >>> likeliest(Choices(("1", "2"), " ", 2), (-3.0, -1.0, -2.0, -4.0))
    '1 2'

    Raises:
        EngineError: The log-probabilities are not those of the choices.
    """
    if len(logprobs) != choices.total:
        raise EngineError(f"the engine weighed {len(logprobs)} verdicts of {choices.total}")
    place = max(range(len(logprobs)), key=logprobs.__getitem__)
    said: list[str] = []
    for _ in range(choices.count):
        place, option = divmod(place, len(choices.options))
        said.append(choices.options[option])
    return choices.separator.join(reversed(said))
