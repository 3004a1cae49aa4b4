"""Decide whether a call runs, by the configuration's entries: the first that fits decides.

An entry that allows must fit beyond doubt. Where it cannot be told whether one that asks or denies fits, because a
path goes up or a line is more than one plain command, the person is asked.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

import structlog
from pydantic import JsonValue

from .command_lines import behind, lines_in, programs_of, words_fit, words_of
from .errors import ConfigError
from .misfits import did_you_mean
from .outputs import READER
from .ports import Cautious, Tool
from .types.approvals import Approval, CallPattern, Rule
from .types.messages import ToolCall
from .types.settings import Tools

log = structlog.get_logger(__name__)

AGENCY = frozenset({"say", "think", "wait", "end_turn"})  # without them a model can neither speak nor stop

_EVERY_TOOL = "*"
_COMMAND = "command"  # an argument of this name is read word by word, as a shell would
_MOST_LINES = 20  # that one command may hand to shells, before it cannot be told any more what it does
_MISSING = object()

log = structlog.get_logger(__name__)

Fit = Literal["yes", "no", "unclear"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What is decided about one call, and the entry that did."""

    approval: Approval
    rule: Rule | None = None


class Approvals:
    """The configuration's entries, and what the person agreed to for a session while this process runs.

    Raises:
        ConfigError: an entry names an argument that its tool does not have.
    """

    def __init__(self, tools: Mapping[str, Tool], settings: Tools) -> None:
        self._tools = tools
        self._asks_first = {name: _asks_first(tool) for name, tool in tools.items()}
        self._rules = tuple(_rules(settings))
        self._agreed: set[tuple[str, str]] = set()
        for rule in self._rules:
            _check(rule, tools)

    def decision(self, call: ToolCall, session_id: str) -> Decision:
        """Decide about a call of a known tool."""
        found = self._decision(call, self._tools[call.name])
        if found.approval == "ask" and (session_id, _sign(call)) in self._agreed:
            return Decision("allow", found.rule)
        return found

    def agree(self, call: ToolCall, session_id: str) -> None:
        """Remember that this very call, with these arguments, needs no question in this session any more."""
        self._agreed.add((session_id, _sign(call)))

    def _decision(self, call: ToolCall, tool: Tool) -> Decision:
        is_agency = call.name == READER or (call.name in AGENCY and not tool.is_work)
        doubt: Rule | None = None  # may fit: the person is asked at least
        general: Rule | None = None
        for rule in self._rules:
            if is_agency and rule.pattern.has_wildcard:
                continue
            fit = _fit(rule, call, tool)
            if fit == "unclear" and rule.approval != "allow":
                doubt = doubt or rule
            elif fit == "yes" and self._asks_first[call.name] and _is_general(rule):
                general = general or rule
            elif fit == "yes":
                return Decision("ask", doubt) if doubt and rule.approval == "allow" else Decision(rule.approval, rule)
        if general:
            return Decision("ask", general)
        return Decision("allow" if is_agency else "deny")


def denial(call: ToolCall, rule: Rule | None) -> str:
    """Return what the model is told about a call that the configuration denies."""
    if rule is not None:
        entry = f"`{rule.key}`, entry `{rule.pattern.text}`"
        return f"`{call.name}` was not run: the configuration denies it ({entry}). Do without it."
    return (
        f"`{call.name}` was not run: `tools.allow` of the configuration does not list this call. Do without it, or "
        "tell the user which line to add."
    )


def _rules(settings: Tools) -> Iterable[Rule]:
    yield from (Rule.parse(text) for text in settings.rules)
    lists: tuple[tuple[Approval, tuple[str, ...]], ...] = (
        ("deny", settings.deny),
        ("ask", settings.ask),
        ("allow", settings.allow),
    )
    for approval, texts in lists:
        for text in texts:
            yield Rule(approval=approval, pattern=CallPattern.parse(text), key=f"tools.{approval}")


def _check(rule: Rule, tools: Mapping[str, Tool]) -> None:
    """Refuse an entry that could never fit: a guard that is misspelt guards nothing."""
    pattern = rule.pattern
    if pattern.has_wildcard:
        return
    if pattern.name not in tools:
        if near := did_you_mean(pattern.name, tools):  # it may be meant for a plugin that is not there today
            log.warning("approvals.no_such_tool", entry=f"{rule.key}: {pattern.text}", tool=f"{pattern.name}{near}")
        return
    schema = tools[pattern.name].spec.parameters
    known = tuple(_properties(schema))
    if schema.get("additionalProperties") is not False and not (known or pattern.arguments == ()):
        return
    for name, _ in pattern.arguments:
        if name not in known if name else not known:
            takes = ", ".join(f"`{each}`" for each in known) or "no arguments"
            said = f"no argument `{name}`{did_you_mean(name, known)}" if name else "no argument"
            raise ConfigError(f"{rule.key}: `{pattern.text}`: `{pattern.name}` has {said}; it takes {takes}")


def _asks_first(tool: Tool) -> bool:
    """Tell whether a tool wants to be asked about; one that cannot say is."""
    try:
        return isinstance(tool, Cautious) and tool.asks_first
    except Exception as error:
        log.warning("tool.asks_first_failed", tool=tool.spec.name, error=f"{type(error).__name__}: {error}")
        return True


def _is_general(rule: Rule) -> bool:
    """`allow: *` allows every tool that does not itself want to be asked about."""
    return rule.approval == "allow" and rule.pattern.text == _EVERY_TOOL


def _fit(rule: Rule, call: ToolCall, tool: Tool) -> Fit:
    """Tell whether a rule means a call; every argument pattern must fit."""
    if not fnmatchcase(call.name, rule.pattern.name):
        return "no"
    properties = _properties(tool.spec.parameters)
    fits: list[Fit] = []
    for given, pattern in rule.pattern.arguments:
        name = given or next(iter(properties), "")
        if name not in properties and name not in call.arguments:
            return "no"
        value = call.arguments.get(name, _default(properties.get(name)))
        fits.append(_value_fit(name, value, pattern, is_sure=rule.approval == "allow"))
    if "no" in fits:
        return "no"
    return "unclear" if "unclear" in fits else "yes"


def _value_fit(name: str, value: object, pattern: str, *, is_sure: bool) -> Fit:
    if value is _MISSING:
        return "unclear"
    if name == _COMMAND and isinstance(value, str | list):
        return _command_fit(value, pattern, is_sure=is_sure)
    texts = [_text(item) for item in value] if isinstance(value, list) else [_text(value)]
    fits = [_text_fit(text, pattern, is_sure=is_sure) for text in texts]
    if is_sure:
        return "yes" if fits and all(fit == "yes" for fit in fits) else "no"
    return "yes" if "yes" in fits else "unclear" if "unclear" in fits else "no"


def _command_fit(command: str | list[JsonValue], pattern: str, *, is_sure: bool) -> Fit:
    """Compare words; a list is started as it is, a line only where it is plain."""
    if is_sure:
        plain = words_of(command) if isinstance(command, str) else _words(command)
        return "yes" if plain is not None and words_fit(pattern, plain) else "no"
    lines: list[str | list[JsonValue]] = [command]  # with those that the commands themselves hand to a shell
    is_clear = True
    for number in range(_MOST_LINES):
        if number == len(lines):
            return "no" if is_clear else "unclear"
        line = lines[number]
        plain = words_of(line) if isinstance(line, str) else _words(line)
        programs = [plain] if plain is not None else programs_of(str(line))
        is_clear = is_clear and plain is not None
        if any(_program_fits(each, pattern) for words in programs for each in behind(words)):
            return "yes"
        lines += [inner for words in programs for inner in lines_in(words)]
    return "unclear"


def _program_fits(words: tuple[str, ...], pattern: str) -> bool:
    """Tell whether an entry that guards means a program, by whichever path and whatever its brackets stand for."""
    bare = (posixpath.basename(words[0]), *words[1:])
    return any(words_fit(each, given) for each in (pattern, _literal(pattern)) for given in (words, bare))


def _words(command: list[JsonValue]) -> tuple[str, ...]:
    return tuple(_text(word) for word in command)


def _literal(pattern: str) -> str:
    """Return a pattern in which `[` means itself, as in the names of files."""
    return pattern.replace("[", "[[]")


def _text_fit(text: str, pattern: str, *, is_sure: bool) -> Fit:
    """Compare a whole value. `*` stands for slashes too, but never for a step up out of what stands before it."""
    goes_up = ".." in text.split("/")
    if is_sure:
        fits = fnmatchcase(text, pattern) and (pattern in {"*", text} or not goes_up)
        return "yes" if fits else "no"
    patterns = {pattern, _literal(pattern)}
    if any(fnmatchcase(each, wanted) for each in (text, posixpath.normpath(text)) for wanted in patterns):
        return "yes"
    is_elsewhere = text.startswith(("/", "~")) and not pattern.startswith(("/", "~", "*"))
    return "unclear" if goes_up or is_elsewhere else "no"


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _properties(schema: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _default(schema: JsonValue) -> object:
    return schema["default"] if isinstance(schema, dict) and "default" in schema else _MISSING


def _sign(call: ToolCall) -> str:
    return json.dumps([call.name, call.arguments], sort_keys=True)
