"""How the completion gate is configured."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .base import Value
from .kinds import ModelText, Number, Switch, Whole
from .record import GatePolicy


class Gate(Value):
    """How the completion gate may hold a turn open."""

    policy: GatePolicy = Field(
        default="full", description="How endings are judged: `off`, `heuristics` (no model is asked) or `full`."
    )
    surfaces: dict[str, GatePolicy] = Field(default={}, description="Another policy for single surfaces, by name.")
    max_pushbacks: Whole = Field(default=2, ge=0, description="Refusals of the judge in one turn at most.")
    on_error: Literal["accept", "reject"] = Field(
        default="accept", description="Whether a turn may end when the judge fails or gives no clear answer."
    )
    timeout_s: Number = Field(default=60, gt=0, description="Longest time of one judgement, in seconds.")
    judge_model: ModelText | None = Field(
        default=None, description="The model that judges; unset: the models of the turn."
    )
    escalate: Switch = Field(
        default=False, description="Whether a judge that is not sure asks once more, with the deliberate profile."
    )

    def policy_for(self, surface: str) -> GatePolicy:
        """Return the policy in force on a surface."""
        return self.surfaces.get(surface, self.policy)
