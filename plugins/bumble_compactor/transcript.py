"""Show messages to a model as material, in parts that it can hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from operator import not_

from bumble_core import Message, ToolCall, ToolResult, user
from bumble_core.ports import TokenCounter
from bumble_core.types.inference import ModelRef
from bumble_core.types.messages import Text

_LONGEST_OUTPUT = 8000  # characters of one call or result that a summary is made from: half of what the kernel lets in
_LONGEST_SHARE = 2  # no message takes more than half of a part
_CHARS_PER_TOKEN = 3
_SAMPLE = 64  # texts that tell how dense all of them are


@dataclass(frozen=True, slots=True)
class Section:
    """Consecutive messages, up to `end` of what was split, their text and about how many tokens that takes.

    `said` is what people and models said in them, without calls and results.
    """

    end: int
    text: str
    tokens: int
    said: str


def shown(message: Message, longest: int) -> str:
    """Return a message as lines of a record; each of its texts has at most `longest` characters."""
    role, parts = message.role, message.parts
    if len(parts) == 1 and isinstance(first := parts[0], Text):  # most messages are no more than that
        text = first.text
        return f"{role}: {text if len(text) <= longest else _excerpt(text, longest)}"
    lines = []
    for part in parts:
        if isinstance(part, Text):
            lines.append(f"{role}: {_excerpt(part.text, longest)}")
        elif isinstance(part, ToolResult):
            lines.append(f"result of {part.name} ({part.status}): {_excerpt(part.content, _LONGEST_OUTPUT)}")
        elif isinstance(part, ToolCall):
            arguments = json.dumps(part.arguments)  # twice as fast as with other settings
            if "\\u" in arguments:
                arguments = json.dumps(part.arguments, ensure_ascii=False)
            lines.append(f"call {part.name}: {_excerpt(arguments, _LONGEST_OUTPUT)}")
    return "\n".join(lines)


def sections(
    messages: Sequence[Message],
    originals: Mapping[str, Message],
    budget: int,
    counter: TokenCounter,
    model: ModelRef,
) -> list[Section]:
    """Part the log's text of `messages` into sections of at most `budget` tokens; a call stays with its results."""
    longest = max(200, budget * _CHARS_PER_TOKEN // _LONGEST_SHARE)
    texts: list[str] = []
    follows: list[bool] = []  # a result follows its call
    for message in messages:
        is_result = message.role == "tool"
        texts.append(shown(originals.get(message.id, message) if is_result else message, longest))
        follows.append(is_result)
    found: list[Section] = []
    open_spans = _packed(texts, follows, _most_chars(texts, budget, counter, model))[::-1]
    while open_spans:
        start, end = open_spans.pop()
        text = "\n\n".join(filter(None, texts[start:end]))
        tokens = _size(text, counter, model)
        if tokens > budget and (middle := _middle(texts, follows, start, end)):
            open_spans += [(middle, end), (start, middle)]
        elif text:
            said = "\n".join(compress(texts[start:end], map(not_, follows[start:end])))
            found.append(Section(end, text, tokens, said))
    return found


def _most_chars(texts: Sequence[str], budget: int, counter: TokenCounter, model: ModelRef) -> int:
    """Return how many characters of such texts make about `budget` tokens; judged by a sample of them."""
    sample = "\n\n".join(texts[:: len(texts) // _SAMPLE | 1])  # odd, for what repeats does so in twos and fours
    return len(sample) * budget // max(1, _size(sample, counter, model))


def _packed(texts: Sequence[str], follows: Sequence[bool], most: int) -> list[tuple[int, int]]:
    """Return spans of messages with at most `most` characters each, where no group is longer by itself."""
    spans: list[tuple[int, int]] = []
    start = begin = chars = group = 0
    for place, (text, is_result) in enumerate(zip(texts, follows, strict=True)):
        if not is_result:
            begin, group = place, 0
        length = len(text) + 2
        group += length
        chars += length
        if chars > most and begin > start:
            spans.append((start, begin))
            start, chars = begin, group
    return [*spans, (start, len(texts))]


def _size(text: str, counter: TokenCounter, model: ModelRef) -> int:
    return counter.count((user(text),), (), model)


def _middle(texts: Sequence[str], follows: Sequence[bool], start: int, end: int) -> int:
    """Return a place near the half of the text at which it may be parted; 0 when there is none."""
    half, place = sum(map(len, texts[start:end])) // 2, start
    while place < end - 1 and half > 0:
        half -= len(texts[place])
        place += 1
    while place < end and follows[place]:
        place += 1
    if place >= end:
        place = end - 1
        while place > start and follows[place]:
            place -= 1
    return place if start < place < end else 0


def _excerpt(text: str, longest: int) -> str:
    """Return the beginning and the end of what is too long: a text says at its ends what it is about."""
    if len(text) <= longest:
        return text
    end = longest // 4
    return f"{text[: longest - end]} [… {len(text) - longest:,} characters left out …] {text[-end:]}"
