"""How much of a model's window one request takes."""

from __future__ import annotations

_REPLY_PART = 4  # of a window: a quarter is enough for a reply, for compaction leaves no more
_SMALLEST_USUAL = 4096  # tokens: what llama.cpp and Ollama give a model where nobody says how much
FITS_ANYWHERE = _SMALLEST_USUAL - _SMALLEST_USUAL // _REPLY_PART  # beside a reply: no list of windows is asked for


def needed(window: int, tokens: int, longest_reply: int) -> int:
    """Return the tokens that a request of `tokens` takes with its reply."""
    return tokens + min(longest_reply, window // _REPLY_PART)
