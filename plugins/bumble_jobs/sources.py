"""Find out who said what an entry says: the user, the agent, a tool, or a page of the web."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from bumble_core.types.messages import Message
from bumble_core.types.turn import Turn

from .entries import sameness

Speaker = Literal["user", "assistant", "tool"]

_SHORTEST = 8  # letters of a quotation that can prove something; characters of a dense script count double
_WIDE = 0x2E80
_WORD = re.compile(r"\w+(?:[.:/@_-]\w+)*")
_SHORTEST_WORD = 4
_MOST_READ = 60_000  # characters of one text: more of it is never shown
_ORDER = ("user", "tool", "assistant")
_WEB = ("web", "http", "url", "fetch", "browse", "search_engine", "internet")
_FROM_WEB = "from the web"
_BY_AGENT = "by the assistant"
_BY_PROGRAM = "from an automation"
_AGENCY = ("say", "think", "wait", "end_turn")  # what these give is the agent's own words


@dataclass(frozen=True, slots=True)
class Said:
    """A text of a turn; `source` is what the origin of an entry tells of it, nothing where the user said it.

    `folded` is the text as quotations are compared with it.
    """

    turn: int
    who: Speaker
    folded: str
    words: frozenset[str]
    source: str = ""

    @property
    def is_web(self) -> bool:
        return self.source.startswith(_FROM_WEB)


def said(turns: Iterable[Turn]) -> tuple[Said, ...]:
    """Return every text of `turns`, read once. What an automation put in is no user's word."""
    found: list[Said] = []
    for turn in turns:
        for message in turn.messages:
            found += _of_message(message, turn)
        found += [_said(turn, "assistant", text, _BY_AGENT) for text in turn.delivered]
    return tuple(one for one in found if one.folded)


def _of_message(message: Message, turn: Turn) -> list[Said]:
    found: list[Said] = []
    if message.role == "user" and message.source == "user":
        is_user = turn.origin == "user"
        found.append(_said(turn, "user" if is_user else "tool", message.text, "" if is_user else _BY_PROGRAM))
    elif message.role == "assistant":
        found.append(_said(turn, "assistant", message.text, _BY_AGENT))
    for result in message.tool_results:
        texts = [text for text in (result.whole or result.content, result.diff) if text]
        if result.name in _AGENCY:
            found += [_said(turn, "assistant", text, _BY_AGENT) for text in texts]
        else:
            is_web = any(word in result.name.casefold() for word in _WEB)
            source = f"{_FROM_WEB}, {result.name}" if is_web else f"from tool {result.name}"
            found += [_said(turn, "tool", text, source) for text in texts]
    return found


def find_quote(quote: str, turn: int, record: Sequence[Said]) -> Said | None:
    """Return who said `quote`: in that turn first, and the user before tools before the agent; None: nobody."""
    wanted = sameness(quote)
    weight = sum(2 if ord(c) >= _WIDE else 1 for c in wanted if not c.isspace())
    is_dense = any(ord(c) >= _WIDE for c in wanted)  # written without spaces: there are no words to end at
    for one in sorted(record, key=lambda each: (each.turn != turn, _ORDER.index(each.who))):
        if wanted and wanted == one.folded:
            return one
        if weight >= _SHORTEST and (wanted in one.folded if is_dense else f" {wanted} " in f" {one.folded} "):
            return one
    return None


def tainting(text: str, record: Sequence[Said]) -> Said | None:
    """Return the tool's output that `text` is made of rather than of the user's words; None: there is none.

    A quotation can be borrowed; words that stand only in the output of a tool, more of them than the user's own,
    tell where a sentence is from.
    """
    words = _words(text)
    user = words & frozenset().union(*(one.words for one in record if one.who == "user"))
    best = max(
        (one for one in record if one.who == "tool"), key=lambda one: len((words - user) & one.words), default=None
    )
    if best is None:
        return None
    return best if len((words - user) & best.words) > max(1, len(user)) else None


def _said(turn: Turn, who: Speaker, text: str, source: str = "") -> Said:
    read = text[:_MOST_READ]
    return Said(turn.number, who, sameness(read), _words(read), source)


def _words(text: str) -> frozenset[str]:
    found = set(_WORD.findall(text.casefold()))
    return frozenset(word for word in found if len(word) >= _SHORTEST_WORD or any(ord(c) >= _WIDE for c in word))
