"""Weigh what speaks for each kind of answer. Every sign adds to the score of some labels; nothing else decides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from bumble_core.types.turn import Label, Sign

from .form import Form
from .vocabulary import Words

LABELS: Final[tuple[Label, ...]] = ("CHAT", "GROUNDED", "EXACT", "DEEP")
_LONG, _VERY_LONG = 5, 25  # times what is short
_LEAST_PLEASANT = 0.2  # a share of pleasant words up to which they are by the way
_MOSTLY = 0.5
_TASKS = ("work", "thing", "live", "exact")

_WEIGHTS: Final[Mapping[str, Mapping[Label, float]]] = {
    "short": {"CHAT": 1.9},
    "tells": {"CHAT": 1.7},
    "long": {"DEEP": 1.5},
    "very long": {"GROUNDED": 4.0, "EXACT": 4.0, "DEEP": 4.0},
    "wordless": {"CHAT": 5.0},
    "pleasant": {"CHAT": 4.5},
    "laughs": {"CHAT": 4.0},
    "asks": {"GROUNDED": 0.5, "EXACT": 0.3, "DEEP": 0.5},
    "wants": {"GROUNDED": 0.9, "EXACT": 0.9, "DEEP": 0.9},
    "about you": {"CHAT": 2.6},
    "trivia": {"CHAT": 2.2},
    "work": {"GROUNDED": 2.4},
    "work within": {"GROUNDED": 1.2},
    "thing": {"GROUNDED": 1.8},
    "live": {"GROUNDED": 1.8},
    "exact": {"EXACT": 2.2},
    "deep": {"DEEP": 2.2},
    "deep within": {"DEEP": 1.2},
    "emotion": {"DEEP": 2.8},
    "code": {"EXACT": 2.5, "GROUNDED": 0.5},
    "file": {"GROUNDED": 3.5},
    "path": {"GROUNDED": 3.5},
    "url": {"GROUNDED": 3.0},
    "arithmetic": {"EXACT": 3.0},
    "numbers": {"EXACT": 0.5},
    "quotes": {"EXACT": 0.5},
    "listing": {"EXACT": 1.5},
    "attachments": {"DEEP": 2.5, "EXACT": 2.0, "GROUNDED": 2.0},
    "open task": {"GROUNDED": 2.5},
    "after work": {"GROUNDED": 0.6},
    "intensity": {"DEEP": 4.0},
}


@dataclass(frozen=True, slots=True)
class Opinion:
    """What all signs say together: each label's share, and so the profile's."""

    signs: tuple[Sign, ...]
    shares: Mapping[Label, float]

    @property
    def reflex(self) -> float:
        """How likely a reflex is enough."""
        return self.shares["CHAT"]

    @property
    def label(self) -> Label:
        """The likeliest label of the likelier profile."""
        if self.reflex >= 0.5:
            return "CHAT"
        return max((label for label in LABELS if label != "CHAT"), key=lambda label: self.shares[label])

    @property
    def confidence(self) -> float:
        """How sure the profile is, from 0.5 to 1."""
        return max(self.reflex, 1 - self.reflex)


def weigh(form: Form, words: Words, *, short: int, calm: float) -> Opinion:
    """Return what the signs say. Below `short` characters a message is short, below `calm` its intensity is low."""
    signs = (*_signs_of_form(form, short, calm), *_signs_of_words(form, words, short))
    scores = {label: sum(sign.adds.get(label, 0.0) for sign in signs) for label in LABELS}
    powers = {label: math.exp(score) for label, score in scores.items()}
    total = sum(powers.values())
    return Opinion(signs, {label: power / total for label, power in powers.items()})


def _signs_of_form(form: Form, short: int, calm: float) -> Iterator[Sign]:
    yield from _signs_of_length(form.chars, short)
    seen: Mapping[str, object] = {
        "wordless": form.is_wordless and not form.attachments and "no word",
        "laughs": form.laughs and "laughter",
        "code": form.code,
        "file": form.file,
        "path": form.path,
        "url": form.url,
        "arithmetic": form.arithmetic,
        "numbers": (form.is_question or form.numbers > 2) and form.numbers,
        "quotes": form.quotes and "quotation marks",
        "listing": form.listing and "a list after a colon",
        "attachments": form.attachments,
        "open task": form.has_open_task and "the work of the last turn is not finished",
    }
    yield from (_sign(name, str(what)) for name, what in seen.items() if what)
    if form.intensity >= calm:
        yield _sign("intensity", f"{form.intensity:.2f}", 1 + (form.intensity - calm) / max(1 - calm, 0.01))
    if form.since_work is not None and not form.has_open_task:
        yield _sign("after work", f"{form.since_work} messages ago", 0.5**form.since_work)


def _signs_of_length(chars: int, short: int) -> Iterator[Sign]:
    if chars < short:
        yield _sign("short", f"{chars} characters")
    elif chars >= _VERY_LONG * short:
        yield _sign("very long", f"{chars} characters")
    elif chars >= _LONG * short:
        yield _sign("long", f"{chars} characters")


def _signs_of_words(form: Form, words: Words, short: int) -> Iterator[Sign]:
    found, leading = words.found, words.leading
    has_task = any(name in found for name in _TASKS) or bool(form.file or form.path or form.url or form.code)
    is_asked = form.is_question or "question" in found or "opening" in leading
    if words.pleasant:
        share = max(0.0, words.pleasant - _LEAST_PLEASANT) / (1 - _LEAST_PLEASANT)
        yield _sign("pleasant", f"{words.pleasant:.0%} of the words", share * (0.6 if has_task else 1.0))
    if is_asked and words.pleasant < _MOSTLY:
        yield _sign("asks", "a question")
    if "request" in leading and not has_task:
        yield _sign("wants", _some(leading["request"]))
    for name in ("about you", "trivia"):
        if name in found:
            yield _sign(name, _some(found[name]), 0.3 if has_task or "emotion" in found else 1.0)
    asks_nothing = not is_asked and "request" not in leading and "work" not in leading
    yield from _signs_of_tasks(words, asks_nothing=asks_nothing)
    if form.chars >= short and asks_nothing:
        yield _sign("tells", "nothing is asked")


def _signs_of_tasks(words: Words, *, asks_nothing: bool) -> Iterator[Sign]:
    found, leading = words.found, words.leading
    for name in ("work", "deep"):
        if name in leading:
            yield _sign(name, _some(leading[name]))
        elif name in found:
            yield _sign(f"{name} within", _some(found[name]), 0.5 if asks_nothing and name == "work" else 1.0)
    for name in ("thing", "live", "exact", "emotion"):
        if name in found:
            mere = 0.7 if asks_nothing and name == "live" else 1.0
            yield _sign(name, _some(found[name]), mere * min(1.5, 0.75 + 0.25 * len(found[name])))


def _sign(name: str, seen: str, times: float = 1.0) -> Sign:
    return Sign(
        name=name, seen=seen, adds={label: round(weight * times, 3) for label, weight in _WEIGHTS[name].items()}
    )


def _some(phrases: tuple[str, ...]) -> str:
    return ", ".join(phrases[:3])
