"""How much of a model's window one request takes."""

from __future__ import annotations

_REPLY_PART = 4  # of a window: a quarter is enough for a reply, for compaction leaves no more


def needed(window: int, tokens: int, longest_reply: int) -> int:
    """Return the tokens that a request of `tokens` takes with its reply."""
    return tokens + min(longest_reply, window // _REPLY_PART)
