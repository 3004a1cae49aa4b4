"""A model server in a process of its own, so that its CPU is not counted as the client's.

Run as a module it plays streamed replies and prints its address; on each line that it reads it prints what it has seen
so far and forgets the requests.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from bumble_core.testing.stub_replies import json_reply, openai_stream, sse_reply
from bumble_core.testing.stub_server import Pause, Replies, StubReply, StubRequest, StubServer
from bumble_core.types.messages import ToolCall, assistant

_ROOT = Path(__file__).parent.parent
_TOKEN = "seventh"  # the stub sends seven characters to a piece


@dataclass(frozen=True)
class Seen:
    """What the server saw: connections since its start, requests for replies since the last time it was asked."""

    connections: int
    requests: int


class StubProcess:
    """Replies with `tokens` pieces of text, `apart_s` between two of them, or as fast as it can.

    The first `steps` replies of a conversation call the tools of `calls` instead, each with a number of its own.
    """

    def __init__(self, tokens: int, apart_s: float = 0.0, *, steps: int = 0, calls: tuple[str, ...] = ()) -> None:
        self.url = ""
        self._command = [sys.executable, "-m", "benchmarks.stub", str(tokens), str(apart_s), str(steps), *calls]
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        path = os.pathsep.join((str(_ROOT), str(_ROOT / "plugins"), os.environ.get("PYTHONPATH", "")))
        self._process = subprocess.Popen(
            self._command,
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.url = self._line()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.communicate(timeout=10)

    def seen(self) -> Seen:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return Seen(**json.loads(self._line()))

    def _line(self) -> str:
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            raise RuntimeError("the stub server has ended")
        return line


def _reply(tokens: int, apart_s: float) -> StubReply:
    events = openai_stream(assistant(_TOKEN * tokens))
    if not apart_s:
        return sse_reply(events)
    spaced: list[bytes | Pause] = []
    for event in events:
        spaced += [event, Pause(apart_s)]
    return StubReply(headers={"content-type": "text/event-stream"}, body=spaced)


def _calls(step: int, names: list[str]) -> StubReply:
    numbers = range(step * len(names), (step + 1) * len(names))
    calls = [
        ToolCall(id=f"call_{number}", name=name, arguments={"number": number})
        for number, name in zip(numbers, names, strict=True)
    ]
    return sse_reply(openai_stream(assistant("", *calls)))


def _replies(tokens: int, apart_s: float, steps: int, names: list[str]) -> Replies:
    text = _reply(tokens, apart_s)
    if not steps:
        return [text]
    calling = [_calls(step, names) for step in range(steps)]

    def reply(request: StubRequest) -> StubReply:
        if request.method == "GET":
            return json_reply({"object": "list", "data": []})
        results: int = sum(message["role"] == "tool" for message in request.json["messages"])
        return [*calling, text][results // len(names)]

    return reply


async def _serve(replies: Replies) -> None:
    async with StubServer(replies) as stub:
        print(stub.url, flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            asked = sum(request.method == "POST" for request in stub.requests)
            print(json.dumps({"connections": stub.connections, "requests": asked}), flush=True)
            stub.requests.clear()


if __name__ == "__main__":
    asyncio.run(_serve(_replies(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])))
