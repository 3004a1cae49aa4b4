"""What a turn may spend, and what its requests took."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from .base import Value
from .inference import Usage
from .kinds import Amount

_MILLION = 1_000_000


class Price(Value):
    """What one model costs per million tokens, in whatever currency you count."""

    input: Amount = Field(description="A million tokens of the request.")
    output: Amount = Field(description="A million tokens of the reply.")
    cached: Amount | None = Field(
        default=None, description="A million tokens of the request that the server had in its cache; unset: as `input`."
    )

    def of(self, usage: Usage) -> float:
        """Return what `usage` costs."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        rate = self.input if self.cached is None else self.cached
        sums = (usage.input_tokens - cached) * self.input + cached * rate + usage.output_tokens * self.output
        return sums / _MILLION


class Spent(Value):
    """What the requests of one purpose took. `cost` is None where a model without a price answered one of them."""

    usage: Usage = Usage()
    cost: float | None = None

    def __add__(self, other: Spent) -> Spent:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Spent(usage=self.usage + other.usage, cost=cost)

    def __sub__(self, other: Spent) -> Spent:
        cost = None if self.cost is None or other.cost is None else self.cost - other.cost
        return Spent(usage=self.usage - other.usage, cost=cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What one turn may spend: time, calls beside its steps, tokens and money. None is no limit.

    `max_auxiliary_calls` bounds router, judge, compaction and probe calls together; tokens and money are those of
    every request of the turn, whoever makes it.
    """

    deadline_s: float
    max_auxiliary_calls: int
    max_tokens: int | None = None
    max_cost: float | None = None
