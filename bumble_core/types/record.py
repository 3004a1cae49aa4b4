"""The record of a turn, and what was decided about it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from .base import Value
from .budget import Spent
from .compaction import Compaction
from .inference import ModelRef, Profile, Usage
from .log import Preview, previews
from .messages import Message

Status = Literal["done", "capped", "failed", "cancelled", "interrupted"]
Origin = Literal["user", "automation", "autonomous"]
GatePolicy = Literal["off", "heuristics", "full"]
Label = Literal["CHAT", "GROUNDED", "EXACT", "DEEP"]


class Route(Value):
    """Which profile answers with which models, and why. `confidence` is between 0 and 1.

    `label` is what kind of answer is wanted: talk, one that rests on tools, an exact one, or one that takes thought;
    None where nobody said. `grounded` tells that it has to rest on what tools gave, so that words without work are no
    answer. `escalated_from` names the profile that the turn began with, when that was not enough, and
    `escalated_because` says why. `too_small` are models that were left out because they cannot hold the request.
    """

    profile: Profile
    models: tuple[ModelRef, ...]
    decided_by: Literal["forced", "heuristic", "classifier"]
    reason: str
    confidence: float = 1.0
    label: Label | None = None
    grounded: bool = False
    escalated_from: str = ""
    escalated_because: str = ""
    too_small: tuple[ModelRef, ...] = ()


class Sign(Value):
    """One thing that a router saw in an input, and what it adds to the score of each label."""

    name: str
    seen: str
    adds: dict[Label, float] = {}


class Explanation(Value):
    """What a router makes of an input without asking anybody: the signs, and how likely each label is.

    One that is not certain would ask a model, if it may.
    """

    signs: tuple[Sign, ...] = ()
    shares: dict[Label, float] = {}
    is_certain: bool = True


class Verdict(Value):
    """May the turn end? `nudge` is shown to the model when it may not.

    `on` is what was judged: a reply in words, the wish to end, or a step of `say` alone. The kernel sets it; of these
    the last is no wish of the model's, so that its refusal is not a push-back.

    `decided_by` is one word for who decided, for example `heuristic`, `model` or `kernel`; `evidence` is what that
    rests on, and `problem` why it is not decided by what was meant to decide. `calls` and `spent` are what the judge's
    requests took; the kernel sets them too.
    """

    done: bool
    decided_by: str
    reason: str
    nudge: str = ""
    on: Literal["words", "end_turn", "say"] = "words"
    evidence: tuple[str, ...] = ()
    problem: str = ""
    calls: int = 0
    spent: Spent | None = None


class Turn(Value):
    """The record of a finished turn: what is stored and what jobs read.

    `delivered` holds what the user saw, in order; `messages` is the log. `number` counts the turns of a home.
    `calls` and `spent` are by the purpose of the requests; `compactions` are those of the view, in their order.
    `prompt` is the fingerprint of the system prompt.
    """

    id: str
    session_id: str
    number: int = 0
    origin: Origin = "user"
    surface: str = "none"
    started: datetime
    finished: datetime
    status: Status
    error: str | None = None
    route: Route | None = None
    messages: tuple[Message, ...]
    delivered: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    usage: Usage = Usage()
    calls: dict[str, int] = {}
    spent: dict[str, Spent] = {}
    compactions: tuple[Compaction, ...] = ()
    prompt: str = ""

    @property
    def cost(self) -> float | None:
        """What the turn's requests cost together; None where that is not known."""
        costs = [each.cost for each in self.spent.values()]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if costs and len(known) == len(costs) else None

    @property
    def previews(self) -> tuple[Preview, ...]:
        """The beginnings of what the latest work calls gave."""
        return previews(self.messages)

    @property
    def text(self) -> str:
        """Everything that the user saw, as one text."""
        return "\n\n".join(self.delivered)
