"""What an observer is told. Events are facts: nothing can be changed through them."""

from __future__ import annotations

from dataclasses import dataclass

from .budget import Spent
from .compaction import PhaseReport
from .inference import Completion, Delta, Request
from .jobs import RunRecord
from .messages import ToolCall, ToolResult
from .surfaces import Delivery
from .turn import Route, Turn, TurnInput, Verdict


@dataclass(frozen=True, slots=True)
class TurnStarted:
    input: TurnInput


@dataclass(frozen=True, slots=True)
class Routed:
    turn_id: str
    route: Route


@dataclass(frozen=True, slots=True)
class PromptCompiled:
    """The prompt of a turn is there; `rendered` names the system sections that were rendered again for it."""

    turn_id: str
    fingerprint: str
    rendered: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Drafted:
    """A piece of a reply as it is generated; it is not yet what the user was told."""

    turn_id: str
    delta: Delta


@dataclass(frozen=True, slots=True)
class Inferred:
    """A model answered; told for every purpose, background jobs included."""

    request: Request
    completion: Completion


@dataclass(frozen=True, slots=True)
class ToolStarted:
    turn_id: str
    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolFinished:
    turn_id: str
    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True)
class Said:
    """A text was handed to the surface."""

    turn_id: str
    text: str
    delivery: Delivery


@dataclass(frozen=True, slots=True)
class Steered:
    """Words of the user joined a running turn."""

    turn_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Compacted:
    """The view was made to fit, or was not; `spent` is what the requests for it took."""

    turn_id: str
    tokens_before: int
    tokens_after: int
    reports: tuple[PhaseReport, ...]
    spent: Spent | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    turn_id: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class TurnFinished:
    turn: Turn


@dataclass(frozen=True, slots=True)
class JobStarted:
    record: RunRecord


@dataclass(frozen=True, slots=True)
class JobFinished:
    record: RunRecord


@dataclass(frozen=True, slots=True)
class JobFailing:
    """A job has failed so many times in a row that a person should look at it; told once."""

    record: RunRecord
    failures: int


Event = (
    TurnStarted
    | Routed
    | PromptCompiled
    | Drafted
    | Inferred
    | ToolStarted
    | ToolFinished
    | Said
    | Steered
    | Compacted
    | Judged
    | TurnFinished
    | JobStarted
    | JobFinished
    | JobFailing
)
