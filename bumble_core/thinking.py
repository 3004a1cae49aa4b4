"""Ask the model for one step: with room in the window and in the budget, and with what it says on disk."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace

from .account import Account
from .delivery import Mouth
from .errors import BudgetSpent, ContextOverflow, InferenceError
from .journal import Journal
from .ports import Emit, Inference, TokenCounter
from .room import Fitted, Room
from .tool_calls import with_safe_calls
from .types.events import Drafted
from .types.inference import Completion, Request
from .types.turn import TurnContext

_SHORTEST_REPLY = 64  # tokens; with fewer nobody can say how things stand


@dataclass(frozen=True, slots=True, kw_only=True)
class Mind:
    """One turn's way to its models."""

    room: Room
    counter: TokenCounter
    inference: Inference
    account: Account
    journal: Journal
    mouth: Mouth
    emit: Emit

    async def ask(self, turn: TurnContext) -> AsyncGenerator[TurnContext, None]:
        """Ask once; a request that does not fit is compacted to the window that the server named.

        The turn is yielded when it fits and when it is answered.

        Raises:
            BudgetSpent: what is left of the turn's budget does not pay a reply.
            ContextOverflow: even what must stay does not fit.
            InferenceError: no model answered.
        """
        fitted = await self._fitted(turn)
        yield (turn := fitted.turn)
        fitted.check()
        try:
            completion = await self._stream(fitted.request, turn)
        except ContextOverflow as error:
            if error.partial:
                raise
            await self.mouth.withdraw(turn)
            fitted = await self._fitted(turn, min(error.window or fitted.tokens, fitted.tokens))
            yield (turn := fitted.turn)
            fitted.check()
            completion = await self._stream(fitted.request, turn)
        usage = completion.usage
        if usage.input_tokens and not usage.estimated:
            self.counter.learn(fitted.tokens, usage.input_tokens, completion.model)
        completion = _continuing(with_safe_calls(completion, turn), turn)
        if not completion.message.is_empty:
            await self.journal.append(completion.message)
        yield turn.answered(completion)

    async def _fitted(self, turn: TurnContext, window: int | None = None) -> Fitted:
        """Return a request that fits the window and can be paid.

        Where the budget does not pay another like it, this step is the turn's last one, and its reply as long as can
        be paid.
        """
        fitted = await self.room.fitted(turn, window)
        account, profile = self.account, fitted.turn.route.profile
        if not account.is_limited:
            return fitted
        if fitted.turn.steps_left > 1 and account.affords(fitted.tokens, profile.max_tokens, fitted.request.models) < 2:
            fitted = await self.room.fitted(fitted.turn.on_last_step(), window)
        longest = int(min(profile.max_tokens, account.longest_reply(fitted.tokens, fitted.request.models)))
        if longest < min(_SHORTEST_REPLY, profile.max_tokens):
            raise BudgetSpent(account.problem)
        shorter = profile.model_copy(update={"max_tokens": longest})
        return replace(fitted, request=fitted.request.model_copy(update={"profile": shorter}))

    async def _stream(self, request: Request, turn: TurnContext) -> Completion:
        async with aclosing(self.inference.stream(request)) as stream:
            async for item in stream:
                if isinstance(item, Completion):
                    return item
                self.emit(Drafted(turn.input.id, item))
                await self.mouth.draft(item, turn)
        raise InferenceError("the model gave no completion")


def _continuing(completion: Completion, turn: TurnContext) -> Completion:
    """Mark words that go on with a reply that was cut by its length."""
    message = completion.message
    if not turn.is_unfinished or not turn.reply.strip() or not message.text:
        return completion
    return completion.model_copy(update={"message": message.model_copy(update={"continues": True})})
