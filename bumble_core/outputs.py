"""Bound what comes back from a tool: what the model sees, what the log keeps, and how the rest is read."""

from __future__ import annotations

import json
import re

from .types.messages import ToolResult

READER = "read_output"  # the tool that `builtin/read_output.py` makes

_MOST_KEPT = 1_000_000  # characters of one output, and of one diff, that the log keeps
_LONGEST_ID = 64  # of a call; the output of one with a longer id is read as the latest
_SAMPLE_CHARS = 4096
_SURROGATES = re.compile("[\ud800-\udfff]")
_UNREADABLE = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ud800-\udfff\ufffd]")


def limited(result: ToolResult, max_chars: int) -> ToolResult:
    """Return `result` with a content of at most `max_chars` that any server can read.

    What is longer loses its middle, and is kept as `whole`; of more than a million characters that has a gap too.
    Binary content is described instead; what is not Unicode is replaced.
    """
    content, total, whole = result.content, len(result.content), ""
    if "\x00" in content or _is_binary(content[:_SAMPLE_CHARS]):
        content = f"binary output of {total} characters, not shown"
    elif total > max_chars:
        whole = _without_middle(content, _MOST_KEPT, "") if total > _MOST_KEPT else content
        content = _without_middle(content, max_chars, result.call_id)
    content, whole = _readable(content), _readable(whole)
    said, diff = _readable(result.said), _readable(result.diff[:_MOST_KEPT])
    if (content, whole, said, diff) == (result.content, result.whole, result.said, result.diff):
        return result
    return result.model_copy(update={"content": content, "whole": whole, "said": said, "diff": diff})


def _without_middle(text: str, max_chars: int, call_id: str) -> str:
    """Cut the middle out, and say how the rest can be read where it is kept under `call_id`."""
    total = len(text)
    room = max(0, max_chars - len(_marker(total, total, total, call_id)))
    tail = room // 3
    head = room - tail
    return text[:head] + _marker(total - room, total, head, call_id) + text[total - tail :]


def _marker(left_out: int, total: int, start: int, call_id: str) -> str:
    named = f"call_id={json.dumps(call_id)}, " if len(call_id) <= _LONGEST_ID else ""
    read_on = f"{READER}({named}start={start}) reads on" if call_id else "they were not kept"
    return f"\n[… {left_out} of {total} characters left out here; {read_on} …]\n"


def _readable(text: str) -> str:
    return _SURROGATES.sub("\ufffd", text)


def _is_binary(sample: str) -> bool:
    return len(_UNREADABLE.findall(sample)) > max(8, len(sample) // 10)
