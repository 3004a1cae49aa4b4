"""Read server-sent events and NDJSON from bytes, however they are cut.

Pure: bytes go in, events come out, in time proportional to the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import MalformedReply

LARGEST_EVENT = 16 * 1024 * 1024  # bytes; a reply's whole text in one event is some hundred kilobytes
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event. `terminated` is False for what stood at the end of a stream without the mark of an event's end."""

    data: str
    name: str = ""
    terminated: bool = True


class _Lines:
    """Cuts bytes into lines at CR, LF and CRLF, and nowhere else."""

    def __init__(self, largest: int) -> None:
        self._size = 0
        self._largest = largest
        self._pieces: list[bytes] = []
        self._after_cr = False
        self._started = False

    def feed(self, data: bytes) -> list[bytes]:
        if self._after_cr and data:
            self._after_cr = False
            data = data.removeprefix(b"\n")
        if not data:
            return []
        self._after_cr = data.endswith(b"\r")
        lines = data.splitlines()  # for bytes: CR, LF and CRLF only
        rest = b"" if data.endswith((b"\n", b"\r")) else lines.pop()
        can_be_too_large = self._size + len(data) > self._largest
        if lines and self._pieces:
            lines[0] = b"".join((*self._pieces, lines[0]))
            self._pieces, self._size = [], 0
        if rest:
            self._pieces.append(rest)
            self._size += len(rest)
        if can_be_too_large and (self._size > self._largest or max(map(len, lines), default=0) > self._largest):
            raise too_large(self._largest)
        return lines if self._started else self._without_bom(lines)

    def end(self) -> bytes:
        """Return what stood behind the last end of a line."""
        rest, self._pieces = b"".join(self._pieces), []
        return (self._without_bom([rest]) or [b""])[0]

    def _without_bom(self, lines: list[bytes]) -> list[bytes]:
        if lines and not self._started:
            self._started = True
            lines[0] = lines[0].removeprefix(_BOM)
        return lines


class SseReader:
    """Reads `text/event-stream`.

    Raises:
        MalformedReply: one event is larger than `largest` bytes.
    """

    def __init__(self, largest: int = LARGEST_EVENT) -> None:
        self._lines = _Lines(largest)
        self._largest = largest
        self._data: list[bytes] = []
        self._name = ""
        self._size = 0

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Return the events that `data` completes."""
        events = []
        for line in self._lines.feed(data):
            if line:
                self._line(line)
            elif (event := self._event(terminated=True)) is not None:
                events.append(event)
        return events

    def end(self) -> list[StreamEvent]:
        """Return the event that the stream's end left open, if it has data."""
        if rest := self._lines.end():
            self._line(rest)
        event = self._event(terminated=False)
        return [event] if event else []

    def _line(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if name == b"data":
            value = value.removeprefix(b" ")
            self._data.append(value)
            self._size += len(value)
            if self._size > self._largest:
                raise too_large(self._largest)
        elif name == b"event":
            self._name = value.removeprefix(b" ").decode("utf-8", "replace")

    def _event(self, *, terminated: bool) -> StreamEvent | None:
        data, name = self._data, self._name
        self._name, self._size = "", 0
        if not data:
            return None
        self._data = []
        return StreamEvent(b"\n".join(data).decode("utf-8", "replace"), name, terminated)


class NdjsonReader:
    """Reads one event per line; blank lines are none.

    Raises:
        MalformedReply: one line is larger than `largest` bytes.
    """

    def __init__(self, largest: int = LARGEST_EVENT) -> None:
        self._lines = _Lines(largest)

    def feed(self, data: bytes) -> list[StreamEvent]:
        """Return the lines that `data` completes."""
        return [StreamEvent(line.decode("utf-8", "replace")) for line in self._lines.feed(data) if line.strip()]

    def end(self) -> list[StreamEvent]:
        """Return the line that the stream's end left open."""
        rest = self._lines.end()
        return [StreamEvent(rest.decode("utf-8", "replace"), terminated=False)] if rest.strip() else []


def too_large(largest: int) -> MalformedReply:
    """Return the error for an event beyond `largest` bytes."""
    return MalformedReply(f"one event of the reply is larger than {largest:,} bytes")
