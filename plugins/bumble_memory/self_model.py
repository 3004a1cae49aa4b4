"""How the agent did lately: which tools worked and failed, how turns ended, what the last review found."""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import Literal

from bumble_core import Turn, framed, shortened
from bumble_core.ports import Sessions
from bumble_core.types.events import Event, TurnFinished
from bumble_core.types.messages import ToolResult
from bumble_core.types.turn import TurnContext, Verdict

from .markdown import sections
from .memory import REVIEW, Memory

_TURNS = 8
_MOST_COUNTS = 50
_LONGEST_REASON = 100  # characters of why a call failed or a turn was sent back
_MOST_TOOLS = 8
_SURE = 0.9  # of talk: a greeting reaches 0.99, a short message without any other sign 0.7


class Recently:
    """The last turns of this home. It is told of the turns of this process; those before it are read once."""

    def __init__(self) -> None:
        self.turns: deque[Turn] = deque(maxlen=_TURNS)
        self._last = 0
        self._is_whole = False

    def notify(self, event: Event) -> None:
        if isinstance(event, TurnFinished) and event.turn.number:
            number = event.turn.number
            self._is_whole = self._is_whole and number <= self._last + 1  # else another process took turns as well
            self._last = max(self._last, number)
            self.turns.append(event.turn)

    async def catch_up(self, sessions: Sessions) -> None:
        if self._is_whole:
            return
        found = await sessions.turns(after=await _before_last(sessions))
        self.turns = deque(found, maxlen=_TURNS)
        self._last = found[-1].number if found else 0
        self._is_whole = True


class SelfModel:
    """What the agent should know of itself before it promises anything.

    Talk promises nothing, and a small model answers a greeting with whatever it is shown beside it.
    """

    placement: Literal["system", "turn"] = "turn"
    place = 60

    def __init__(self, memory: Memory, recently: Recently, sessions: Sessions, chars: int) -> None:
        self._memory, self._recently, self._sessions, self._chars = memory, recently, sessions, chars

    def key(self, turn: TurnContext) -> str:
        return turn.input.id

    async def render(self, turn: TurnContext) -> str:
        is_talk = turn.route.label == "CHAT" and turn.route.confidence >= _SURE
        if is_talk or not self._chars:
            return ""
        await self._recently.catch_up(self._sessions)
        lines = (_tools(self._recently.turns), _endings(self._recently.turns), self._review())
        text = shortened("\n".join(line for line in lines if line), self._chars)
        return framed("how you did lately", text) if text else ""

    def _review(self) -> str:
        return self._memory.once("review", (REVIEW,), lambda: _reviewed(self._memory.text(REVIEW)))


async def _before_last(sessions: Sessions) -> int:
    """Return the number after which about the last turns come; numbers of deleted sessions are missing."""
    after, left = 0, await sessions.count()
    for _ in range(_MOST_COUNTS):
        if left <= _TURNS:
            break
        after += left - _TURNS
        left = await sessions.count(after)
    return after


def _tools(turns: deque[Turn]) -> str:
    results = [result for turn in turns for message in turn.messages for result in message.tool_results]
    work = [result for result in results if result.is_work and result.status not in ("refused", "cancelled")]
    names = [name for name, _ in Counter(result.name for result in work).most_common(_MOST_TOOLS)]
    told = "; ".join(_tool(name, [result for result in work if result.name == name]) for name in sorted(names))
    return f"Tools: {told}." if told else ""


def _tool(name: str, results: list[ToolResult]) -> str:
    failed = [result for result in results if result.status != "ok"]
    if not failed:
        return f"{name} {len(results)} ok"
    return f"{name} {len(results) - len(failed)} ok, {len(failed)} failed (last: {_quoted(failed[-1].content)})"


def _endings(turns: deque[Turn]) -> str:
    if all(turn.status == "done" and not any(map(_sent_back, turn.verdicts)) for turn in turns):
        return ""
    counts = Counter(turn.status for turn in turns)
    told = ", ".join(f"{counts[status]} {status}" for status in sorted(counts))
    refused = [verdict for turn in turns for verdict in turn.verdicts if _sent_back(verdict)]
    times = "once" if len(refused) == 1 else f"{len(refused)} times, the last time"
    back = f" You were sent back {times}: {_quoted(refused[-1].reason)}." if refused else ""
    return f"Your last {f'{len(turns)} turns' if len(turns) > 1 else 'turn'}: {told}.{back}"


def _sent_back(verdict: Verdict) -> bool:
    return not verdict.done and verdict.on != "say"


def _reviewed(text: str) -> str:
    """Return the verdict of the last review and, where it is not `pass`, the issues."""
    if not text.strip():
        return ""
    head, *others = sections(text)
    facts = dict(line.removeprefix("- ").split(": ", 1) for line in head.body.splitlines() if ": " in line)
    issues = next((one.body.strip() for one in others if one.heading.casefold() == "issues"), "")
    verdict = facts.get("Verdict", "")
    if not verdict:
        return f"The last review of your work:\n{text.strip()}"
    found = f"The last review of your work (turns {facts.get('Turns', '?')}): {verdict}."
    return f"{found}\n{issues}" if issues and verdict != "pass" else found


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return json.dumps(line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}…", ensure_ascii=False)
