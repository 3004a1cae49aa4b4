"""Count on when the token counter of a plugin does not: what it cannot count is estimated by characters."""

from __future__ import annotations

import structlog

from ..contract import FAULTS, kept
from ..errors import ContractError
from ..ports import TokenCounter
from ..types.inference import ModelRef, ToolSpec
from ..types.messages import Message
from .tokens import CharacterCounter

log = structlog.get_logger(__name__)


class SteadyCounter:
    """A counter around the slot's occupant: gives a whole number from 0 on, whatever that one does."""

    def __init__(self, inner: TokenCounter) -> None:
        self._inner = inner
        self._instead = CharacterCounter()
        self._has_failed = False

    def count(self, messages: tuple[Message, ...], tools: tuple[ToolSpec, ...], model: ModelRef | None) -> int:
        try:
            tokens = kept(self._inner.count(messages, tools, model), int, "the token counter")
            if tokens >= 0:
                return tokens
            raise ContractError(f"the token counter gave {tokens}, expected a number from 0 on")
        except FAULTS as error:
            self._note(error)
            return self._instead.count(messages, tools, model)

    def learn(self, estimated: int, actual: int, model: ModelRef) -> None:
        try:
            self._inner.learn(estimated, actual, model)
        except FAULTS as error:
            self._note(error)

    def _note(self, error: BaseException) -> None:
        """Log the first failure; a request is counted several times a step."""
        if not self._has_failed:
            self._has_failed = True
            log.warning("token_counter.failed", counter=type(self._inner).__name__, error=repr(error))
