"""What a turn is compared with: the loop that anyone writes with httpx alone, and how both are measured."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Mapping
from statistics import median
from typing import Any

import httpx

Ask = Callable[[], Awaitable[object]]


class BareLoop:
    """Encodes a prepared list of messages, sends it, and puts the streamed text together."""

    def __init__(self, url: str, body: dict[str, Any]) -> None:
        self._url = f"{url}/v1/chat/completions"
        self._body = body
        self._client = httpx.AsyncClient(timeout=60, trust_env=False, verify=False)

    async def ask(self) -> str:
        content = json.dumps(self._body).encode()
        headers = {"Content-Type": "application/json"}
        text = []
        async with self._client.stream("POST", self._url, content=content, headers=headers) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: ") and line != "data: [DONE]":
                    choices = json.loads(line[6:])["choices"]
                    if choices and (said := choices[0]["delta"].get("content")):
                        text.append(said)
        return "".join(text)

    async def aclose(self) -> None:
        await self._client.aclose()


class BareAgent:
    """The same loop with tools: runs the calls of a reply and asks again, until a reply has none."""

    def __init__(self, url: str, body: dict[str, Any], tools: Mapping[str, Callable[..., str]]) -> None:
        self._url = f"{url}/v1/chat/completions"
        self._body, self._tools = body, tools
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        self._client = httpx.AsyncClient(timeout=60, trust_env=False, verify=False, limits=limits)

    async def ask(self) -> str:
        messages = list(self._body["messages"])
        while True:
            text, calls = await self._reply(json.dumps({**self._body, "messages": messages}).encode())
            if not calls:
                return text
            messages.append({"role": "assistant", "content": text, "tool_calls": calls})
            for call in calls:
                function = call["function"]
                content = self._tools[function["name"]](**json.loads(function["arguments"]))
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _reply(self, content: bytes) -> tuple[str, list[dict[str, Any]]]:
        """Return the text and the calls of one streamed reply."""
        text, calls = "", dict[int, dict[str, Any]]()
        headers = {"Content-Type": "application/json"}
        async with self._client.stream("POST", self._url, content=content, headers=headers) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: ") and line != "data: [DONE]":
                    for choice in json.loads(line[6:])["choices"]:
                        text += choice["delta"].get("content") or ""
                        for piece in choice["delta"].get("tool_calls", ()):
                            if known := calls.get(piece["index"]):
                                known["function"]["arguments"] += piece["function"]["arguments"]
                            else:
                                calls[piece["index"]] = {key: piece[key] for key in ("id", "type", "function")}
        return text, list(calls.values())


async def cpu_ms(rounds: int, **asks: Ask) -> dict[str, float]:
    """Return the median CPU of each, in milliseconds of the whole process, all its threads included.

    They take turns, so that a busy machine slows all of them alike.
    """
    spent: dict[str, list[float]] = {name: [] for name in asks}
    for _ in range(rounds):
        for name, ask in asks.items():
            before = time.process_time()
            await ask()
            spent[name].append((time.process_time() - before) * 1000)
    return {name: median(times) for name, times in spent.items()}
