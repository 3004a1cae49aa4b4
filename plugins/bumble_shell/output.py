"""Keep the beginning and the end of an output of any length."""

from __future__ import annotations

import re

_SAMPLE_CHARS = 4096
_UNREADABLE = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")


class Output:
    """Takes bytes and keeps at most `limit` of them, half from each end."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Take what came next."""
        self.total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[max(room, 0) :][-self._half :]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    @property
    def text(self) -> str:
        """What is kept, with a mark where something is not; binary output is described."""
        tail = bytes(self._tail[-self._half :])
        left_out = self.total - len(self._head) - len(tail)
        marker = f"\n[… {left_out} of {self.total} bytes left out here; they were not kept …]\n" if left_out else ""
        if left_out:
            text = self._head.decode("utf-8", "replace") + marker + tail.decode("utf-8", "replace")
        else:
            text = (bytes(self._head) + tail).decode("utf-8", "replace")
        return f"binary output of {self.total} bytes, not shown" if _is_binary(text) else text


def _is_binary(text: str) -> bool:
    sample = text[:_SAMPLE_CHARS]
    return "\x00" in text or len(_UNREADABLE.findall(sample)) > max(8, len(sample) // 10)
