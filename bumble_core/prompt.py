"""A request from a turn: what never changes, then the history, then a tail with what does.

Only the tail may change from step to step: after the user's words in the same message on the first step, else in one
last user message. So a server's prompt cache holds up to the tail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import structlog

from .history import merged
from .nudge import note
from .ports import PromptSection
from .types.inference import Request, ToolChoice, ToolSpec
from .types.messages import Message, Text, system
from .types.turn import TurnContext

log = structlog.get_logger(__name__)

_TURN_HEADER = "[Turn context]"  # the words of Bumblebee's Cognition page


class Prompt:
    """Renders the sections; a system section is rendered again only when its key changes."""

    def __init__(self, sections: Sequence[PromptSection]) -> None:
        self._system = [section for section in sections if section.placement == "system"]
        self._turn = [section for section in sections if section.placement == "turn"]
        self._rendered: dict[int, tuple[str, str]] = {}
        self._head: tuple[Message, ...] = ()

    async def head(self, turn: TurnContext) -> tuple[Message, ...]:
        """Return the system message, or nothing; the very same one while no key changes."""
        text = _joined([await self._stable(place, section, turn) for place, section in enumerate(self._system)])
        if text != "".join(message.text for message in self._head):
            self._head = (system(text),) if text else ()
        return self._head

    async def context_text(self, turn: TurnContext) -> str:
        """Return the turn context with its header, or nothing when no section has anything to say."""
        text = _joined([await _rendered(section, turn) or "" for section in self._turn])
        return f"{_TURN_HEADER}\n{text}" if text else ""

    async def _stable(self, place: int, section: PromptSection, turn: TurnContext) -> str:
        try:
            key = section.key(turn)
        except Exception as error:
            log.warning("prompt.section_failed", section=type(section).__name__, error=repr(error))
            return ""
        if (kept := self._rendered.get(place)) and kept[0] == key:
            return kept[1]
        text = await _rendered(section, turn)
        if text is None:  # what failed is tried again; until then the former text keeps the prefix
            return kept[1] if kept else ""
        self._rendered[place] = (key, text)
        return text


def build(
    turn: TurnContext,
    head: tuple[Message, ...],
    context: str,
    tools: tuple[ToolSpec, ...],
    *,
    tool_choice: Literal["auto", "required"] = "auto",
) -> Request:
    """Return the request for the next step; `turn` itself is left without prompt text.

    The last step may call nothing, for nothing that it called could be answered: it is asked with the choice `none`.
    A reply in words that was cut is not forced into calls.
    """
    is_last = turn.steps_left <= 1
    tail = _joined([context, note(turn, tools)])
    wanted: ToolChoice = "auto" if turn.is_unfinished else tool_choice
    history = merged(turn.view)
    messages, tail = with_tail(history, tail)
    return Request(
        owner=turn.input.id,
        purpose="turn",
        models=turn.route.models,
        profile=turn.route.profile,
        messages=(*head, *messages),
        tools=tools,
        tool_choice="none" if is_last or not tools else wanted,
        tail=tail,
    )


def with_tail(history: tuple[Message, ...], tail: str) -> tuple[tuple[Message, ...], str]:
    """Return `history` ending with `tail`, and the tail as it stands there."""
    if not tail:
        return history, ""
    if history and history[-1].role == "user":
        text = f"\n\n{tail}" if history[-1].parts else tail
        last = history[-1].model_copy(update={"parts": (*history[-1].parts, Text(text=text))})
        return (*history[:-1], last), text
    return (*history, Message(id="tail", role="user", parts=(Text(text=tail),), source="kernel")), tail


async def _rendered(section: PromptSection, turn: TurnContext) -> str | None:
    """Return a section's text, or None when it failed."""
    try:
        return (await section.render(turn)).strip()
    except Exception as error:
        log.warning("prompt.section_failed", section=type(section).__name__, error=repr(error))
        return None


def _joined(texts: Sequence[str]) -> str:
    return "\n\n".join(text for text in texts if text)
