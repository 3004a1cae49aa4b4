"""Read how many tokens a server counted, in the shapes that servers and proxies send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..types.inference import Usage

_CACHE = ("read", "creation")


def read_usage(chunk: Mapping[str, Any]) -> Usage | None:
    """Return what a chunk counts; None when it counts nothing, which zeros for everything are too."""
    usage, timings = chunk.get("usage"), chunk.get("timings")
    own = _timed(timings) if isinstance(timings, Mapping) else Usage()  # llama.cpp, also when not asked for usage
    told = _told(usage) if isinstance(usage, Mapping) else Usage()
    if told.input_tokens or told.output_tokens:
        return told if told.cached_tokens else told.model_copy(update={"cached_tokens": own.cached_tokens})
    return own if own.input_tokens or own.output_tokens else None


def _told(usage: Mapping[str, Any]) -> Usage:
    details = usage.get("prompt_tokens_details")
    cached = _first(details if isinstance(details, Mapping) else {}, "cached_tokens")
    cached = cached or _first(usage, "prompt_cache_hit_tokens", "cache_read_input_tokens")
    total = _first(usage, "prompt_tokens")
    if not total:  # Anthropic's shape, which counts what was read from the cache or written to it apart
        total = _first(usage, "input_tokens") + sum(_first(usage, f"cache_{how}_input_tokens") for how in _CACHE)
    return Usage(
        input_tokens=total,
        output_tokens=_first(usage, "completion_tokens", "output_tokens"),
        cached_tokens=min(cached, total),
    )


def _timed(timings: Mapping[str, Any]) -> Usage:
    cached = _first(timings, "cache_n")
    return Usage(
        input_tokens=_first(timings, "prompt_n") + cached,
        output_tokens=_first(timings, "predicted_n"),
        cached_tokens=cached,
    )


def _first(counts: Mapping[str, Any], *keys: str) -> int:
    return next((n for key in keys if isinstance(n := counts.get(key), int) and n > 0), 0)
