"""Whether the server as a whole still answers.

One bad request is not an outage, and an outage is not a hundred thousand bad requests.
"""

from __future__ import annotations

import time

from magistrate.engines.api.address import Address, Key
from magistrate.engines.api.failures import Problem, TryAgain
from magistrate.engines.api.trying import Tries
from magistrate.errors import EngineError

GIVEN_UP_IN_A_ROW = 20
"""So many requests out of tries, and none answered between them, are an outage."""

REFUSED_AT_FIRST = 10
"""So many requests refused, and none ever answered, are a fault that all share."""


class Health:
    """Counts what succeeds and what fails."""

    def __init__(self, address: Address, key: Key) -> None:
        """Begin with no opinion."""
        self._address = address
        self._key = key
        self._answered_at = float("-inf")
        self._given_up = 0
        self._refused = 0
        self.models: tuple[str, ...] = ()
        """What the server lists, where it was asked."""

    def answered(self) -> None:
        """Note an answer."""
        self._answered_at = time.monotonic()
        self._given_up = self._refused = 0

    def refused(self, problem: Problem) -> None:
        """Note a refusal.

        Raises:
            EngineError: Every request so far was refused.
        """
        if self._answered_at > float("-inf"):
            return
        self._refused += 1
        if self._refused >= REFUSED_AT_FIRST:
            raise self._error(f"refused each of the first {self._refused} requests", problem.words)

    def exhausted(self, error: TryAgain, tries: Tries) -> str:
        """Note a request that is out of tries or time; return what to say of it.

        Raises:
            EngineError: The server is out of reach, or has answered nothing for long.
        """
        words = self._key.hide(error.words)
        begun = tries.begun if tries.begun is not None else time.monotonic()
        if error.blame == "unreachable" and self._answered_at < begun:
            raise self.unreachable(error)
        self._given_up += 1
        if self._given_up >= GIVEN_UP_IN_A_ROW:
            raise self._error(f"answered none of the last {self._given_up} requests", words)
        times = "1 try" if tries.sent == 1 else f"{tries.sent} tries"
        return f"no answer after {times} in {tries.seconds:.1f} s: {words}"

    def unreachable(self, error: TryAgain) -> EngineError:
        """Return the error for a server that does not answer before anything is asked."""
        return self._error(
            "does not answer", f"{error.words}; is the server running, and is the URL right?"
        )

    def fatal(self, problem: Problem) -> EngineError:
        """Return the error for what no request can succeed after."""
        words = problem.words if problem.status else problem.message
        return self._error("takes no requests", words + self._advice(problem))

    def _advice(self, problem: Problem) -> str:
        if problem.is_money:
            return " (the account has nothing left to spend; what was judged is kept)"
        if problem.status in (401, 403):
            if self._key.secret is None:
                return (
                    f" (no key was sent: set {self._key.variable}, or name another environment "
                    f"variable with the option key_env=NAME)"
                )
            return f" (the key is that of the environment variable {self._key.variable})"
        if problem.status == 404:
            listed = ", ".join(self.models[:8])
            here = f"; models there: {listed}" if listed else ""
            return f" (is the model's name right, and does the URL end in /v1?{here})"
        return ""

    def _error(self, what: str, words: str) -> EngineError:
        return EngineError(f"the server {self._address.base} {what}: {self._key.hide(words)}")
