"""A tool that looks up what was said earlier in this session, as it was said."""

from __future__ import annotations

import asyncio
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from bumble_core import Message, framed
from bumble_core.ports import Sessions
from bumble_core.types.turn import TurnContext

_MOST_TERMS, _MOST_HITS, _MOST_SHOWN = 16, 40, 5
_SHORTEST_TERM = 3  # shorter ones stand everywhere
_AROUND = 300  # characters before and after the place that fits best
_WORD = re.compile(r"[^\s\"'`,;:=(){}\[\]<>!?。，、；：？！（）「」]+")
_WITHOUT_BLANKS = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]{4,}")


class Recall:
    """Words that stand in few messages count most; `recall` itself is the tool's function."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def recall(
        self,
        query: Annotated[str, Field(description="Words that stood in what you look for, the rarest first.")],
        turn: TurnContext,
    ) -> str:
        """Look up what was said or read earlier in this conversation and is no longer shown to you."""
        known = {message.id for message in turn.log}
        found = await look_up(self._sessions, turn.input.session_id, query, known)
        if not found:
            return "Nothing earlier in this conversation holds these words."
        return framed("earlier messages", "\n\n".join(found))


async def look_up(sessions: Sessions, session: str, query: str, known: set[str]) -> list[str]:
    """Return excerpts of the messages that fit `query` best, the best first; those of `known` are passed over."""
    terms = terms_of(query)
    hits = await asyncio.gather(*(sessions.search(term, session, _MOST_HITS) for term in terms))
    scores: defaultdict[str, float] = defaultdict(float)
    for found in hits:
        weight = 1 / math.log2(2 + len(found))
        for hit in found:
            if hit.message_id not in known:
                scores[hit.message_id] += weight
    best = sorted(scores, key=scores.__getitem__, reverse=True)[:_MOST_SHOWN]
    originals = await sessions.originals(session, best)
    return [_excerpt(originals[id], terms) for id in best if id in originals]


def terms_of(query: str) -> list[str]:
    """Return what to search for: the longest words, and pieces of what is written without blanks."""
    terms: dict[str, None] = {}
    for word in _WORD.findall(query):
        bare = word.strip(".-*#")
        if match := _WITHOUT_BLANKS.search(bare):
            run = match.group()
            terms.update(dict.fromkeys(run[start : start + 3] for start in range(0, len(run) - 2, 2)))
        elif len(bare) >= _SHORTEST_TERM:
            terms[bare] = None
    return sorted(terms, key=len, reverse=True)[:_MOST_TERMS]


def _excerpt(message: Message, terms: Sequence[str]) -> str:
    text = message.text or "\n".join(result.content for result in message.tool_results)
    folded = text.casefold()
    places = sorted(place for term in terms if (place := folded.find(term.casefold())) >= 0)
    middle = places[len(places) // 2] if places else 0
    start, end = max(0, middle - _AROUND), middle + _AROUND
    cut = f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
    return f"{message.role}: {cut}"
