"""See what a message looks like, whatever its language: what costs nothing and knows no words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bumble_core.languages import words
from bumble_core.types.messages import Message
from bumble_core.types.turn import TurnInput

from .intensity import EMOJI, INTENSITY, intensity

_LOOKED_AT = 6000  # characters of a long text that are looked at: its beginning and its end
_QUESTION = re.compile("[?？؟]")
_FENCE = re.compile(r"```.{0,40}")
_INLINE_CODE = re.compile(r"`[^`\n]{1,200}`")
_CODE = re.compile(
    r"\b\w+\([\w\s,.'\"=+*/<>-]*\)\s*[:;{=]|[{};]\s*$|[=!<>]=|=>|->|&&|\|\||::|</?[a-zA-Z]+[ />]|\$\w+"
    r"|^\s*(?:def|class|import|from|return|if|for|while|let|const|var|function)\b.*[:({=]"
    r"|\b\w+\.\w+\([^)]*\)|\b[a-z]+(?:_[a-z]+)+\b|\b[a-z]{3,}[A-Z][a-z]\w*",
    re.MULTILINE,
)
_FILE = re.compile(
    r"(?<![\w@/.-])[\w\u0900-\u097f-]{1,80}\.(?:py|js|ts|tsx|jsx|java|c|h|cpp|hpp|cs|go|rs|rb|php|kt|swift|sh|sql|txt|md|rst|csv|tsv|json"
    r"|ya?ml|toml|ini|cfg|conf|env|log|xml|html?|css|pdf|docx?|xlsx?|pptx?|odt|ods|png|jpe?g|gif|svg|webp|heic|mp3|mp4|wav|mkv|mov"
    r"|zip|tar|gz|7z|rar|exe|db|sqlite|ipynb|lock|bak|eml|ics)(?![\w])",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"(?<![\w/:.])(?:~|\.{1,2})?/[\w.\u0900-\u097f-]+(?:/[\w.*\u0900-\u097f-]*)*|\b[A-Za-z]:\\\S+|(?<!\w)~/\S*"
)
_URL = re.compile(r"\bhttps?://\S+|\bwww\.\S+|\b[\w-]+\.(?:com|org|net|io|dev|example)(?:/\S*)?\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_ARITHMETIC = re.compile(
    r"\d\s*[%٪％]|\d\s*[+*/×÷^·x]\s*\d|\d\s+[-−]\s+\d|[²³√∫∑π]|\b[a-zس]\s*[\^=]|\d\s*[a-zس]\b\s*[-+=]|[=]\s*\d|\)\s*=|\d\s?(?:€|£|¥|元)?\s*[x×]\s*\d"
)
_QUOTE = re.compile('["“”„«»「『《‘]')
_LISTED = re.compile(r"[:：]\s*\S[^:：\n]*(?:[,;，、؛；،][^,;，、؛；،\n]*){2,}")
_MARK = re.compile(r"[.!?。！？؟।…]+(?:\s|$)|[。！？]|\n+")
_LAUGH = re.compile(
    r"\W*(?:.?(\w[\w\u0900-\u097f]{1,2}?)\1{2,}.{0,2}|[kw]{2,}|(?:ja|ha|he|ah|ха|ах){2,}\w?)\W*", re.IGNORECASE
)
_UNFINISHED = re.compile("[?？؟]\\W*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a message looks like. `since_work` counts the user's messages since a tool did work; None: none did."""

    chars: int
    words: int
    clauses: tuple[str, ...]
    is_question: bool
    is_wordless: bool
    laughs: bool
    code: str
    file: str
    path: str
    url: str
    numbers: int
    arithmetic: str
    quotes: bool
    listing: bool
    attachments: int
    since_work: int | None
    has_open_task: bool
    intensity: float


def form_of(input: TurnInput) -> Form:
    """Return what the message and the session look like; the time it takes is linear in the text."""
    whole = input.message.text.strip()
    text = whole if len(whole) <= _LOOKED_AT else f"{whole[: _LOOKED_AT // 2]}\n{whole[-_LOOKED_AT // 2 :]}"
    url = _first(_URL, text)
    prose = _FENCE.split(text)[0]
    prose = _PATH.sub(" ", _URL.sub(" ", _INLINE_CODE.sub(" ", prose)))
    has_code = _first(_FENCE, text) or _first(_INLINE_CODE, text) or _first(_CODE, _FILE.sub(" ", _URL.sub(" ", text)))
    return Form(
        chars=len(whole),
        words=len(words(EMOJI.sub(" ", prose))),
        clauses=tuple(clause for clause in _MARK.split(prose) if clause.strip()),
        is_question=bool(_QUESTION.search(prose)),
        is_wordless=not words(text),
        laughs=bool(_LAUGH.fullmatch(EMOJI.sub("", text[:200]))),
        code=has_code,
        file=_first(_FILE, _URL.sub(" ", text)),
        path=_first(_PATH, _URL.sub(" ", text)),
        url=url,
        numbers=len(_NUMBER.findall(text)),
        arithmetic=_first(_ARITHMETIC, _URL.sub(" ", text)),
        quotes=bool(_QUOTE.search(text)),
        listing=bool(_LISTED.search(prose)),
        attachments=sum(part.kind not in ("text", "thinking") for part in input.message.parts),
        since_work=_since_work(input.history),
        has_open_task=_has_open_task(input.history),
        intensity=input.signals.get(INTENSITY, intensity(whole)),
    )


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return " ".join(found[0].split())[:60] if found else ""


def _since_work(history: Sequence[Message]) -> int | None:
    """Count the user's messages after the last result of a work tool, this one not included."""
    count = 0
    for message in reversed(history):
        if any(result.is_work for result in message.tool_results):
            return count
        count += message.role == "user"
    return None


def _has_open_task(history: Sequence[Message]) -> bool:
    """Tell whether the last turn did work and was not finished: it broke off, or it ended with a question."""
    if _since_work(history) != 0:
        return False
    last = history[-1]
    return last.role != "assistant" or last.source == "kernel" or bool(_UNFINISHED.search(last.text.rstrip()))
