"""What a turn is compared with: the loop that anyone writes with httpx alone, and how both are measured."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
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
