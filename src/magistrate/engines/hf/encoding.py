"""Requests to token ids and back: what every engine does that holds a model's own tokenizer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from magistrate.engines.exact import VerdictTree
from magistrate.engines.hf.chat import ChatTemplate
from magistrate.engines.hf.plain import PlainTokenizer, readable
from magistrate.engines.hf.prompts import Prompt, PromptEncoder
from magistrate.engines.hf.verdicts import VerdictTrees
from magistrate.errors import EngineError
from magistrate.messages import Completion, Request, TokenLogprob
from magistrate.records import Usage

_NO_LIMIT = 10**9
"""Tokenizers without a limit say a number with thirty digits."""


class RequestEncoder:
    """Encodes the requests of one model, and names its tokens."""

    def __init__(
        self,
        tokenizer: Any,
        *,
        engine: str,
        context: int | None,
        ends: frozenset[int],
        use_template: bool,
    ) -> None:
        """Take the tokenizer.

        Args:
            tokenizer: A tokenizer of transformers.
            engine: Name of the engine, for messages.
            context: The model's window in tokens; None when unknown.
            ends: Tokens that end any reply of the model.
            use_template: Whether to use the tokenizer's chat template, if it has one.

        Raises:
            EngineError: The tokenizer has no fast version.
        """
        self._tokenizer = tokenizer
        self._engine = engine
        self._context = context
        self._ends = ends
        self._use_template = use_template
        self._chat = ChatTemplate(tokenizer, use=use_template)
        self.plain = PlainTokenizer(tokenizer)
        self.prompts = PromptEncoder(self._chat, self.plain, context)
        self._trees = VerdictTrees(tokenizer, self.plain)

    @property
    def settings(self) -> dict[str, Any]:
        """What of this changes the output: the chat template."""
        settings: dict[str, Any] = {"template": self._chat.name}
        if not self._chat.is_there and self._use_template:
            settings["note"] = "the model has no chat template: messages are joined by blank lines"
        return settings

    def encode(self, request: Request) -> tuple[Prompt, VerdictTree | None]:
        """Return the prompt, and the tree of its verdicts where it has choices.

        Raises:
            EngineError: The prompt does not fit, it shows images, or the verdicts cannot be.
        """
        if images := sum(len(message.images) for message in request.messages):
            raise EngineError(
                f"the prompt shows {images} images, and the {self._engine} engine reads text "
                f"alone; use an engine that reads images, such as openai"
            )
        if request.choices is None:
            reserve = request.sampling.max_tokens
            return self.prompts.encode(request.messages, reserve=reserve), None
        prompt = self.prompts.encode(request.messages, reserve=0, thinks=False)
        tree = self._trees.tree(request.choices, prompt.anchor, prompt.reply.before)
        if self._context is not None and len(prompt.ids) > self._context - tree.longest:
            prompt = self.prompts.encode(request.messages, reserve=tree.longest, thinks=False)
        return prompt, tree

    def ends_of(self, prompt: Prompt) -> frozenset[int]:
        """Return the tokens that end a reply: the model's, and that of its chat template."""
        end = self.plain.begins_with_control(prompt.reply.after)
        return self._ends if end is None else self._ends | {end}

    def reply(self, prompt: Prompt, text: str) -> list[tuple[int, int, int]]:
        """Return the tokens of a reply as the model would write them behind a prompt.

        Returns:
            Of each token its id, and which characters of ``text`` it stands for.
        """
        before = len(prompt.reply.before)
        pieces = self._trees.behind(prompt.anchor, prompt.reply.before + readable(text))
        return [(token, max(a - before, 0), max(b - before, 0)) for token, a, b in pieces]

    def end_of(self, request: Request, prompt: Prompt) -> int:
        """Return the token with which a reply to a prompt should end.

        It is the sign that the chat template puts after a reply, else the tokenizer's end sign; in
        any case one at which this model's replies are taken to be over.

        Raises:
            EngineError: There is none.
        """
        roles = tuple(message.role for message in request.messages)
        frames = [prompt.reply]
        if len(roles) > 1 and roles[-1] == "assistant":
            frames.append(self._chat.reply(roles[:-1], request.choices is None))
        found = [self.plain.begins_with_control(frame.after) for frame in frames]
        ends = self.ends_of(prompt)
        for end in (*found, self._tokenizer.eos_token_id, *sorted(ends)):
            if end is not None and end in ends:
                return int(end)
        raise EngineError(
            "the tokenizer has no sign that ends a text (eos_token), so no reply could end; "
            "set one in tokenizer_config.json"
        )

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of some tokens, without control tokens."""
        return str(
            self._tokenizer.decode(
                list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False
            )
        )

    def named(
        self, logprobs: Iterable[tuple[int, float, Sequence[tuple[int, float]]]]
    ) -> tuple[TokenLogprob, ...]:
        """Return log-probabilities with the texts of their tokens.

        Args:
            logprobs: Of each written token: its id, its log-probability, the likeliest with theirs.
        """
        return tuple(
            TokenLogprob(
                self._name(token),
                logprob,
                tuple((self._name(other), share) for other, share in top),
            )
            for token, logprob, top in logprobs
        )

    def _name(self, token: int) -> str:
        """Return a token's text; models have more rows than their tokenizer has words."""
        names = self._trees.vocabulary()
        return names[token] if token < len(names) else ""


def context_of(config: Any, tokenizer: Any) -> int | None:
    """Return the model's window in tokens; None when neither it nor its tokenizer says."""
    found = [
        getattr(config.get_text_config(), "max_position_embeddings", None),
        tokenizer.model_max_length,
    ]
    sizes = [size for size in found if isinstance(size, int) and 0 < size < _NO_LIMIT]
    return min(sizes) if sizes else None


def ends_of(generation: Any, config: Any, tokenizer: Any) -> frozenset[int]:
    """Return the tokens that end a reply.

    Args:
        generation: The model's generation config, or None.
        config: Its configuration.
        tokenizer: Its tokenizer.
    """
    found: set[int] = set()
    for ends in (
        getattr(generation, "eos_token_id", None),
        getattr(config.get_text_config(), "eos_token_id", None),
        tokenizer.eos_token_id,
    ):
        found |= {ends} if isinstance(ends, int) else set(ends or ())
    return frozenset(found)


def failed(key: str, error: str, prompt: Prompt | None = None) -> Completion:
    """Return the completion of a request that could not be answered."""
    return Completion(
        key=key,
        finish_reason="error",
        usage=Usage(requests=1),
        truncated=prompt.truncated if prompt else {},
        error=error,
    )
