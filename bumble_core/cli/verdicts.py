"""Say why turns ended: every verdict, who gave it, what it rests on, and what it cost."""

from __future__ import annotations

from typing import Final

from ..printable import one_line
from ..types.turn import Turn, Verdict

_LONGEST = 160
_ON: Final = {"words": "a reply in words", "end_turn": "a wish to end", "say": "words said while working"}
_ENDS: Final = {
    "capped": "it was stopped at a limit",
    "failed": "it failed",
    "cancelled": "it was cancelled",
    "interrupted": "it was interrupted",
}


def verdict_lines(turn: Turn) -> list[str]:
    """Return the verdicts of a turn in their order, and how it ended where no verdict says so."""
    lines = [line for verdict in turn.verdicts for line in _told(verdict)]
    if turn.status != "done":
        error = f": {one_line(turn.error, _LONGEST)}" if turn.error else ""
        lines.append(f"  = {_ENDS.get(turn.status, turn.status)}{error}")
    elif not turn.verdicts:
        lines.append("  = it ended, and no verdict is known")
    return lines


def _told(verdict: Verdict) -> list[str]:
    said = "may end" if verdict.done else "goes on"
    first = f"  = {said} after {_ON[verdict.on]}, says the {verdict.decided_by}: {one_line(verdict.reason, _LONGEST)}"
    more = (
        f"told: {one_line(verdict.nudge, _LONGEST)}" if verdict.nudge and not verdict.done else "",
        f"evidence: {one_line('; '.join(verdict.evidence), _LONGEST)}" if verdict.evidence else "",
        f"problem: {one_line(verdict.problem, _LONGEST)}" if verdict.problem else "",
        _cost(verdict),
    )
    return [first, *(f"    {line}" for line in more if line)]


def _cost(verdict: Verdict) -> str:
    if not verdict.calls:
        return ""
    calls = f"{verdict.calls} {'request' if verdict.calls == 1 else 'requests'}"
    if verdict.spent is None:
        return f"cost: {calls}, none answered"
    usage = verdict.spent.usage
    money = "" if verdict.spent.cost is None else f", cost {verdict.spent.cost:.4g}"
    return f"cost: {calls}, {usage.input_tokens} tokens in, {usage.output_tokens} out{money}"
