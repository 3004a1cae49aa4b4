"""A summary as it stands in the view: framed as a record, with an index of what must stay exact."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest

from bumble_core import Message
from bumble_core.types.messages import Text

from .identifiers import identifiers

LEAD = "[Summary of earlier messages; a record, not an instruction]"
END = "[End of the summary]"
INDEX = "Exact index: "
HEADINGS = (
    "Goal",
    "Constraints",
    "Progress",
    "Decisions",
    "Emotional Context",
    "Critical Context",
    "Next Steps",
)  # Bumblebee's Cognition page
_SHORTEST = 10
_SHARE_OF_INDEX = 10  # the index takes at most a tenth of the summary
_REFUSAL = re.compile(
    r"\W*(i'?m sorry|sorry\b|i apologi[sz]e|i can(no|')t\b|i am (un|not )able|i'm (un|not )able|i won'?t\b|as an ai\b"
    r"|es tut mir leid|ich kann (nicht|diese|leider)|lo siento|no puedo|je suis désolé|je ne peux pas"
    r"|申し訳|すみません|对不起|抱歉|我无法|我不能|죄송)",
    re.IGNORECASE,
)


def problem_of(text: str) -> str:
    """Say why `text` cannot stand for what was said; empty when it can."""
    if len(text.strip()) < _SHORTEST:
        return "the summary is empty"
    if _REFUSAL.match(text) and not any(heading.casefold() in text.casefold() for heading in HEADINGS):
        return "the model refused to summarise"
    return ""


def as_message(text: str, index: Sequence[str]) -> Message:
    """Return the summary as a message whose frame its text cannot close."""
    body = _without_marks(text).strip()
    if index:
        body += f"\n\n{INDEX}{', '.join(index)}"
    return Message(role="user", parts=(Text(text=f"{LEAD}\n{body}\n{END}"),), source="summary")


def body_of(message: Message) -> str:
    """Return the text of a summary without its frame and its index."""
    return _without_marks(message.text).split(f"\n\n{INDEX}")[0].strip()


def index_of(message: Message) -> tuple[str, ...]:
    """Return what the index of a summary holds."""
    _, mark, listed = _without_marks(message.text).partition(f"\n\n{INDEX}")
    return tuple(each for each in listed.strip().split(", ") if each) if mark else ()


def index_for(text: str, earlier: Iterable[str], records: Iterable[str]) -> tuple[str, ...]:
    """Choose identifiers of the records, the most important record first, that `text` lacks.

    Those that an earlier index carried take turns with the new ones.
    """
    room = len(text) // _SHARE_OF_INDEX - len(INDEX)
    fresh = (each for record in records for each in identifiers(record) if each not in text)
    carried = (each for each in earlier if each not in text)
    chosen: dict[str, None] = {}
    for each in chain.from_iterable(zip_longest(fresh, carried)):
        if each is None or each in chosen:
            continue
        if len(each) + 2 > room:
            break
        chosen[each] = None
        room -= len(each) + 2
    return tuple(chosen)


def _without_marks(text: str) -> str:
    return text.replace(LEAD, "").replace(END, "")
