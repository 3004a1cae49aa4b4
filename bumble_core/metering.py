"""Meter every request, outermost around inference: what a turn or a run asked, for what, at what cost."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import structlog

from .account import TURN, Account
from .closing import closing
from .contract import FAULTS, kept
from .errors import BudgetSpent, InferenceError, MalformedReply
from .ports import Emit, Inference, TokenCounter
from .types.budget import Budget
from .types.events import Inferred
from .types.inference import Completion, Delta, Request
from .types.settings import Cognition

log = structlog.get_logger(__name__)


class MeteredInference:
    """Counts before it asks, so that a stage that loops meets its limit and not the provider's bill.

    Where tokens or money are limited, a request is asked only when the longest reply that it allows can be paid too.

    Every request leaves with the configured window, whoever made it and whatever it holds: a server that sizes its
    context per request would load the model again at each change.
    """

    def __init__(self, inner: Inference, emit: Emit, settings: Cognition, counter: TokenCounter) -> None:
        self._inner, self._emit, self._settings, self._counter = inner, emit, settings, counter
        self._accounts: dict[str, tuple[Account, Emit]] = {}

    def open(self, owner: str, budget: Budget | None, emit: Emit | None = None) -> Account:
        """Begin to count for a turn or a run; `budget` is None for a run."""
        account = Account(budget, self._settings.prices)
        self._accounts[owner] = (account, emit or self._emit)
        return account

    def close(self, owner: str) -> None:
        self._accounts.pop(owner, None)

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]:
        """Pass the stream on.

        Raises:
            BudgetSpent: the turn has used up its calls for other purposes than its steps, its tokens or its money.
            InferenceError: no model answered, the stream ended without a completion, or the occupant failed.
        """
        request = request.model_copy(update={"context_window": self._settings.max_context_tokens})
        account, emit = self._accounts.get(request.owner, (Account(), self._emit))
        self._check(request, account)
        account.calls[request.purpose] += 1
        try:
            async with closing(self._inner.stream(request), type(self._inner).__name__) as stream:
                async for item in stream:
                    if isinstance(item, Completion):
                        check_author(item)
                        account.took(request, item)
                        emit(Inferred(request, item))
                        yield item
                        return
                    yield kept(item, Delta, "inference")
        except InferenceError:
            raise
        except FAULTS as error:
            log.warning("inference.failed", purpose=request.purpose, error=type(error).__name__)
            raise InferenceError(f"{type(error).__name__}: {error}") from error
        raise InferenceError(f"inference ended without a completion for `{request.purpose}`")

    def _check(self, request: Request, account: Account) -> None:
        budget = account.budget
        if budget is None:
            return
        if request.purpose != TURN and account.auxiliary_calls >= budget.max_auxiliary_calls:
            raise BudgetSpent(
                f"`{request.purpose}`: the turn has used its {budget.max_auxiliary_calls} auxiliary calls"
            )
        if not account.is_limited:
            return
        tokens = self._counter.count(request.messages, request.tools, request.models[0])
        if account.longest_reply(tokens, request.models) < request.profile.max_tokens:
            raise BudgetSpent(f"`{request.purpose}`: {account.problem}")


def check_author(completion: Completion) -> None:
    """Refuse what a model cannot have written: it is the assistant that answers, with words and calls.

    Raises:
        MalformedReply: the message is somebody else's, or holds results of tools.
    """
    message = completion.message
    if message.role != "assistant" or message.tool_results:
        holds = "with results of tools" if message.role == "assistant" else f"of the role `{message.role}`"
        raise MalformedReply(f"`{completion.model}` replied with a message {holds}")
