"""Which calls an entry of the configuration means: a tool's name, and patterns for its arguments."""

from __future__ import annotations

import re
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from .base import Value

Approval = Literal["allow", "ask", "deny"]

_DECISIONS: tuple[Approval, ...] = get_args(Approval)
_ENTRY = re.compile(r"(?P<name>[^\s()=]+)(?:\((?P<inside>.*\S.*)\))?", re.DOTALL)
_NAMED = re.compile(r"\s*(\w+)=(.*)", re.DOTALL)
_NEXT = re.compile(r",(?=\s*\w+=)")
_EXPECTED_RULE = "expected `allow: CALLS`, `ask: CALLS` or `deny: CALLS`"
_EXPECTED = "expected a tool's name, `NAME(PATTERN)` or `NAME(ARGUMENT=PATTERN)`"


class CallPattern(Value):
    """`run_command`, `run_command(git *)`, `write_file(path=docs/*, append=true)`.

    `name` is a shell pattern. `arguments` pairs an argument's name, empty for the first that the tool has, with a
    shell pattern for its whole value.
    """

    text: str
    name: str
    arguments: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> CallPattern:
        """Read one entry.

        Raises:
            ValueError: it is none.
        """
        found = _ENTRY.fullmatch(text.strip())
        if found is None:
            raise ValueError(_EXPECTED)
        inside = found["inside"]
        if inside is None:
            return cls(text=found[0], name=found["name"])
        if not _NAMED.fullmatch(inside):
            return cls(text=found[0], name=found["name"], arguments=(("", inside.strip()),))
        named = [_NAMED.fullmatch(part) for part in _NEXT.split(inside)]
        pairs = tuple((each[1], each[2].strip()) for each in named if each)
        return cls(text=found[0], name=found["name"], arguments=pairs)

    @property
    def has_wildcard(self) -> bool:
        """True when its name may mean more than one tool."""
        return any(sign in self.name for sign in "*?[")


class Rule(Value):
    """What is decided about the calls that a pattern means; `key` is where the configuration says so."""

    approval: Approval
    pattern: CallPattern
    key: str

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Read `allow: PATTERN`, `ask: PATTERN` or `deny: PATTERN`.

        Raises:
            ValueError: it is none of these.
        """
        word, colon, rest = text.partition(":")
        approval = next((each for each in _DECISIONS if each == word.strip()), None)
        if approval is None or not colon:
            raise ValueError(_EXPECTED_RULE)
        return cls(approval=approval, pattern=CallPattern.parse(rest), key="tools.rules")


def _pattern_text(value: str) -> str:
    return CallPattern.parse(value).text


def _folded(value: object) -> object:
    """Take `{allow: PATTERN}`, as YAML reads `allow: PATTERN`, as the text that it was."""
    if not isinstance(value, dict):
        return value
    texts = [f"{word}: {pattern}" for word, pattern in value.items() if isinstance(pattern, str)]
    if len(value) != 1 or not texts:
        raise ValueError(_EXPECTED_RULE)
    return texts[0]


def _rule_text(value: str) -> str:
    rule = Rule.parse(value)
    return f"{rule.approval}: {rule.pattern.text}"


PatternText = Annotated[str, AfterValidator(_pattern_text)]
RuleText = Annotated[
    str,
    BeforeValidator(_folded),
    AfterValidator(_rule_text),
    WithJsonSchema(
        {
            "type": ["object", "string"],
            "pattern": r"^\s*(allow|ask|deny)\s*:",
            "properties": {word: {"type": "string"} for word in _DECISIONS},
            "additionalProperties": False,
            "minProperties": 1,
            "maxProperties": 1,
        }
    ),
]
