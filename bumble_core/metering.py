"""Meter every request, outermost around inference: what a turn or a run asked, for what, at what cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

import structlog

from .contract import kept
from .errors import BudgetSpent, InferenceError, MalformedReply
from .ports import Emit, Inference
from .types.events import Inferred
from .types.inference import Completion, Delta, Request, Usage

log = structlog.get_logger(__name__)

TURN = "turn"


@dataclass(slots=True)
class Account:
    """What one turn or run has spent. `max_auxiliary_calls` is None for a run, which has no steps of its own."""

    max_auxiliary_calls: int | None
    emit: Emit
    calls: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)

    @property
    def auxiliary_calls(self) -> int:
        return self.calls.total() - self.calls[TURN]


class MeteredInference:
    """Counts before it asks, so that a stage that loops meets its limit and not the provider's bill.

    Every request leaves with the configured window, whoever made it and whatever it holds: a server that sizes its
    context per request would load the model again at each change.
    """

    def __init__(self, inner: Inference, emit: Emit, window: int) -> None:
        self._inner, self._emit, self._window = inner, emit, window
        self._accounts: dict[str, Account] = {}

    def open(self, owner: str, max_auxiliary_calls: int | None, emit: Emit | None = None) -> Account:
        account = Account(max_auxiliary_calls, emit or self._emit)
        self._accounts[owner] = account
        return account

    def close(self, owner: str) -> None:
        self._accounts.pop(owner, None)

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]:
        """Pass the stream on.

        Raises:
            BudgetSpent: the turn has used up its calls for other purposes than its steps.
            InferenceError: no model answered, the stream ended without a completion, or the occupant failed.
        """
        request = request.model_copy(update={"context_window": self._window})
        account = self._accounts.get(request.owner)
        if account is not None:
            limit = account.max_auxiliary_calls
            if request.purpose != TURN and limit is not None and account.auxiliary_calls >= limit:
                raise BudgetSpent(f"`{request.purpose}`: the turn has used its {limit} auxiliary calls")
            account.calls[request.purpose] += 1
        try:
            async with aclosing(self._inner.stream(request)) as stream:
                async for item in stream:
                    if isinstance(item, Completion):
                        check_author(item)
                        if account is not None:
                            account.usage += item.usage
                        (account.emit if account is not None else self._emit)(Inferred(request, item))
                        yield item
                        return
                    yield kept(item, Delta, "inference")
        except InferenceError:
            raise
        except Exception as error:
            log.warning("inference.failed", purpose=request.purpose, error=type(error).__name__)
            raise InferenceError(f"{type(error).__name__}: {error}") from error
        raise InferenceError(f"inference ended without a completion for `{request.purpose}`")


def check_author(completion: Completion) -> None:
    """Refuse what a model cannot have written: it is the assistant that answers, with words and calls.

    Raises:
        MalformedReply: the message is somebody else's, or holds results of tools.
    """
    message = completion.message
    if message.role != "assistant" or message.tool_results:
        holds = "with results of tools" if message.role == "assistant" else f"of the role `{message.role}`"
        raise MalformedReply(f"`{completion.model}` replied with a message {holds}")
