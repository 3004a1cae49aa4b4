"""Put a call before a person, so that what is agreed to is what will run."""

from __future__ import annotations

import json

from .types.messages import ToolCall
from .types.surfaces import Answer, Question

YES, NO, ALWAYS = "yes", "no", "always"

_LONGEST_VALUE = 1000
_LONGEST_CALL = 4000


def question_about(call: ToolCall) -> Question:
    """Ask whether a call may run: the whole call on one line, every character that cannot be seen written out.

    Of a value that is too long, the beginning, the end and the size are shown.
    """
    given = ", ".join(f"{_visible(name)}={_shown(value)}" for name, value in call.arguments.items())
    return Question(text=f"Run {_visible(call.name)}({_cut(given, _LONGEST_CALL)})?", choices=(YES, NO, ALWAYS))


def agrees(answer: Answer) -> bool:
    return answer.answered and answer.text.strip().lower() in {YES, ALWAYS}


def agrees_always(answer: Answer) -> bool:
    """True when the same call needs no question any more in this session."""
    return answer.answered and answer.text.strip().lower() == ALWAYS


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return _visible(_cut(text, _LONGEST_VALUE))


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    tail = longest // 4
    return f"{text[: longest - tail]} [… {len(text):,} characters in all …] {text[-tail:]}"


def _visible(text: str) -> str:
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
