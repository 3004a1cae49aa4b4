"""What one turn or run has spent, and what is left of its budget."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .types.budget import Budget, Price, Spent
from .types.inference import Completion, ModelRef, Request, Usage

TURN = "turn"


@dataclass(slots=True)
class Account:
    """Counts by purpose. `budget` is None for a run, which has no steps; `prices` are by `provider:model`.

    `cost` is the money that the models with a price took.
    """

    budget: Budget | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    spent: dict[str, Spent] = field(default_factory=dict)
    cost: float = 0.0

    @property
    def usage(self) -> Usage:
        return sum((each.usage for each in self.spent.values()), Usage())

    @property
    def auxiliary_calls(self) -> int:
        return self.calls.total() - self.calls[TURN]

    def since(self, calls: int, before: Spent | None, purpose: str) -> tuple[int, Spent | None]:
        """Return what requests of a purpose took after `calls` of them had taken `before`; None for no answer."""
        new, after = self.calls[purpose] - calls, self.spent.get(purpose)
        if after is None or after == before:
            return new, None
        return new, after if before is None else after - before

    @property
    def is_limited(self) -> bool:
        """Tell whether tokens or money are limited, so that requests have to be estimated."""
        return self.budget is not None and (self.budget.max_tokens, self.budget.max_cost) != (None, None)

    @property
    def problem(self) -> str:
        """Say that nothing more can be paid, and what has been spent."""
        return f"what is left of the turn's budget does not pay another request ({' and '.join(self._parts())} spent)"

    def took(self, request: Request, completion: Completion) -> None:
        """Write down what a request took."""
        price = self._price(completion.model)
        new = Spent(usage=completion.usage, cost=None if price is None else price.of(completion.usage))
        known = self.spent.get(request.purpose)
        self.spent[request.purpose] = new if known is None else known + new
        self.cost += new.cost or 0.0

    def affords(self, tokens: int, reply: int, models: Sequence[ModelRef]) -> float:
        """Return how many requests of `tokens` tokens can be paid, each with a reply of `reply` tokens."""
        whole = Usage(input_tokens=tokens, output_tokens=reply)
        costs = [price.of(whole) for price in self._prices(models)]
        shares = [left / cost for left in self._money for cost in costs if cost > 0]
        return min([*shares, *(left / max(1, tokens + reply) for left in self._tokens)], default=math.inf)

    def longest_reply(self, tokens: int, models: Sequence[ModelRef]) -> float:
        """Return how many tokens the reply to a request of `tokens` tokens may have, whichever model gives it."""
        rooms: list[float] = [left - tokens for left in self._tokens]
        for left in self._money:
            for price in self._prices(models):
                rest = left - price.of(Usage(input_tokens=tokens))
                token = price.of(Usage(output_tokens=1))
                rooms.append(rest / token if token > 0 else math.inf if rest >= 0 else 0)
        return min(rooms, default=math.inf)

    @property
    def _tokens(self) -> list[int]:
        """The tokens that are left, if they are limited."""
        if self.budget is None or self.budget.max_tokens is None:
            return []
        return [self.budget.max_tokens - self._used]

    @property
    def _money(self) -> list[float]:
        """The money that is left, if it is limited."""
        return [] if self.budget is None or self.budget.max_cost is None else [self.budget.max_cost - self.cost]

    @property
    def _used(self) -> int:
        return self.usage.input_tokens + self.usage.output_tokens

    def _parts(self) -> list[str]:
        budget, parts = self.budget, list[str]()
        if budget is not None and budget.max_tokens is not None:
            parts.append(f"{self._used:,} of {budget.max_tokens:,} tokens")
        if budget is not None and budget.max_cost is not None:
            parts.append(f"{self.cost:.4g} of {budget.max_cost:.4g} in money")
        return parts

    def _price(self, ref: ModelRef) -> Price | None:
        if ref.provider is not None or not self.prices:
            return self.prices.get(str(ref))
        named = [price for name, price in self.prices.items() if ModelRef.parse(name).model == ref.model]
        return max(named, key=lambda price: price.output, default=None)

    def _prices(self, models: Sequence[ModelRef]) -> list[Price]:
        return [price for price in map(self._price, models) if price is not None]
