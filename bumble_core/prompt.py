"""A request from a turn: what never changes, then the history, then a tail with what does.

Only the tail may change from step to step: after the user's words in the same message on the first step, else in one
last user message. So a server's prompt cache holds up to the tail.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import structlog

from .contract import FAULTS
from .framing import fitted, framed
from .history import merged
from .nudge import note
from .ports import Looking, Placed, PromptSection
from .types.inference import Request, ToolChoice, ToolSpec
from .types.messages import Message, Text, system
from .types.prompt import CompiledPrompt
from .types.settings import Cognition
from .types.turn import TurnContext

log = structlog.get_logger(__name__)

T = TypeVar("T")

_TURN_HEADER = "[Turn context]"  # the words of Bumblebee's Cognition page
_LONGEST_REMARK = 80  # characters
_PLACE = 50  # of a section that names none
_KEPT_TEXTS = 16  # of one section; as many sessions can have a text of their own without rendering it in turns
_LONGEST_LOOK_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How long the system prompt and the turn context may be, in characters."""

    system: int
    context: int


class Prompt:
    """Renders the sections in their order; a system section is rendered again only when its key changes."""

    def __init__(self, sections: Sequence[PromptSection], tools: Sequence[ToolSpec], limits: Limits) -> None:
        ordered = sorted(sections, key=_place)
        self._system = [_Kept(section) for section in ordered if section.placement == "system"]
        self._turn = [section for section in ordered if section.placement == "turn"]
        self._lookers = [section for section in ordered if isinstance(section, Looking)]
        self._declared = json.dumps([tool.model_dump(mode="json") for tool in tools], ensure_ascii=False)
        self._limits = limits
        self._heads: OrderedDict[str, CompiledPrompt] = OrderedDict()

    async def compiled(self, turn: TurnContext) -> TurnContext:
        """Return the turn with its prompt; it stays the same for all of the turn's requests, so that caches hold."""
        turn = await self.recompiled(turn)
        return replace(turn, prompt=replace(turn.prompt, context=await self._context(turn)))

    async def recompiled(self, turn: TurnContext) -> TurnContext:
        """Return the turn with a system prompt of what is true now, after a compaction has changed the prefix."""
        await asyncio.gather(*(_looked(section, turn) for section in self._lookers))
        found = [await kept.text(turn) for kept in self._system]
        texts = fitted([text for text, _ in found if text], self._limits.system)
        prompt = self._head(_joined(texts))
        rendered = tuple(kept.name for kept, (_, is_new) in zip(self._system, found, strict=True) if is_new)
        return replace(turn, prompt=replace(prompt, context=turn.prompt.context, rendered=rendered))

    def _head(self, text: str) -> CompiledPrompt:
        """Return the very same message for the same text: what is worked out per message is kept."""
        if text not in self._heads:
            digest = hashlib.sha256(f"{text}\n{self._declared}".encode("utf-8", "surrogatepass")).hexdigest()
            self._heads[text] = CompiledPrompt(head=(system(text),) if text else (), fingerprint=digest)
        return _recent(self._heads, text)

    async def _context(self, turn: TurnContext) -> str:
        texts = [text for section in self._turn if (text := await _rendered(section, turn))]
        text = _joined(fitted(texts, self._limits.context))
        return f"{_TURN_HEADER}\n{text if _is_remark(text) else framed('context', text)}" if text else ""


class _Kept:
    """A system section and what it gave, by key."""

    def __init__(self, section: PromptSection) -> None:
        self.name = type(section).__name__
        self._section = section
        self._texts: OrderedDict[str, str] = OrderedDict()
        self._rendering = asyncio.Lock()  # two turns that meet a new key render it once

    async def text(self, turn: TurnContext) -> tuple[str, bool]:
        """Return the text and whether it was rendered just now."""
        try:
            key = self._section.key(turn)
        except FAULTS as error:
            log.warning("prompt.section_failed", section=self.name, error=repr(error))
            return "", False
        if key in self._texts:
            return _recent(self._texts, key), False
        async with self._rendering:
            if key in self._texts:
                return _recent(self._texts, key), False
            text = await _rendered(self._section, turn)
            if text is None:  # what failed is tried again; until then the former text keeps the prefix
                return next(reversed(self._texts.values()), ""), False
            self._texts[key] = text
            return _recent(self._texts, key), True


def _is_remark(text: str) -> bool:
    """Tell whether a text is a line that nothing can hide in, like the time: small models trip over a frame."""
    return len(text) <= _LONGEST_REMARK and not set("\n\r<>[]") & set(text)


def prompt_limits(settings: Cognition) -> Limits:
    """Return the limits of the settings, less where the window is small.

    A character is a quarter of a token in English and about a whole one in Chinese, so that of a small window the
    system prompt takes a quarter, and the turn context an eighth, of the one and never more than all of the other.
    """
    window = settings.max_context_tokens
    return Limits(
        system=min(settings.system_prompt_max_chars, window), context=min(settings.turn_context_max_chars, window // 2)
    )


def build(
    turn: TurnContext, tools: tuple[ToolSpec, ...], *, tool_choice: Literal["auto", "required"] = "auto"
) -> Request:
    """Return the request for the next step; the turn's view is left without prompt text.

    The last step may call nothing, for nothing that it called could be answered: it is asked with the choice `none`.
    A reply in words that was cut is not forced into calls.
    """
    is_last = turn.steps_left <= 1
    tail = _joined([turn.prompt.context, note(turn, tools)])
    wanted: ToolChoice = "auto" if turn.is_unfinished else tool_choice
    history = merged(turn.view)
    messages, tail = with_tail(history, tail)
    return Request(
        owner=turn.input.id,
        purpose="turn",
        models=turn.route.models,
        profile=turn.route.profile,
        messages=(*turn.prompt.head, *messages),
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


async def _looked(section: Looking, turn: TurnContext) -> None:
    """Have a section look; one that fails or is slow goes on with what it knows."""
    try:
        async with asyncio.timeout(_LONGEST_LOOK_S):
            await section.look(turn)
    except FAULTS as error:
        log.warning("prompt.section_failed", section=type(section).__name__, error=repr(error))


async def _rendered(section: PromptSection, turn: TurnContext) -> str | None:
    """Return a section's text, or None when it failed."""
    try:
        return (await section.render(turn)).strip()
    except FAULTS as error:
        log.warning("prompt.section_failed", section=type(section).__name__, error=repr(error))
        return None


def _recent(known: OrderedDict[str, T], key: str) -> T:
    """Return what is known under `key`, and forget what was asked for longest ago."""
    known.move_to_end(key)
    while len(known) > _KEPT_TEXTS:
        known.popitem(last=False)
    return known[key]


def _place(section: PromptSection) -> int:
    return section.place if isinstance(section, Placed) else _PLACE


def _joined(texts: Sequence[str]) -> str:
    return "\n\n".join(text for text in texts if text)
