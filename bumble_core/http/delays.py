"""Read from a response's headers how long the server wants to be left alone."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_EPOCH = 1_000_000_000  # numbers beyond are moments, not spans
_EPOCH_MS = 1_000_000_000_000


def retry_delay(headers: Mapping[str, str], now: datetime, *, limited: bool = True) -> float | None:
    """Return the seconds to wait, or None when the server does not say; never negative.

    `headers` has names in lower case. `Retry-After` wins; else the latest reset of a limit that is used up
    (`x-ratelimit-reset-requests: 6m0s` and its relatives of OpenAI, OpenRouter, Anthropic), when the response says
    that a limit was hit: OpenAI sends those headers with every response.
    """
    if (millis := _number(headers.get("retry-after-ms", ""))) is not None:
        return millis / 1000
    if "retry-after" in headers:
        return _seconds(headers["retry-after"], now)
    if not limited:
        return None
    resets = [
        seconds
        for name, value in headers.items()
        if "ratelimit" in name and "reset" in name and _is_used_up(name, headers)
        if (seconds := _seconds(value, now)) is not None
    ]
    return max(resets, default=None)


def _is_used_up(name: str, headers: Mapping[str, str]) -> bool:
    remaining = headers.get(name.replace("reset", "remaining"))
    return remaining is None or _number(remaining) == 0


def _seconds(text: str, now: datetime) -> float | None:
    """Read seconds, a span such as `1m30s`, a moment as a date or as seconds or milliseconds since 1970."""
    number = _number(text)
    if number is not None:
        if number < _EPOCH:
            return number
        return max(0.0, number / (1000 if number > _EPOCH_MS else 1) - now.timestamp())
    spans = _SPAN.findall(text)
    if spans and _SPAN.sub("", text).strip() == "":
        return sum(float(amount) * _UNITS[unit] for amount, unit in spans)
    moment = _moment(text)
    return None if moment is None else max(0.0, (moment - now).total_seconds())


def _moment(text: str) -> datetime | None:
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            moment = read(text.strip())
        except (ValueError, OverflowError):
            continue
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None
