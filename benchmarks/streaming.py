"""CPU per streamed token and per text turn, beside a bare loop on the same server.

    python -m benchmarks.streaming [--quick] [--json] [--plain]

`provider` is the openai provider alone, `turn` a whole turn of `Runtime.answer`: session, routing, prompt, storing.
`together`: the server sends as fast as it can, so that one read holds many tokens; `apart`: a millisecond between two
tokens, so that each comes in a read of its own, as from a model. `per token` is the slope between a short and a long
reply, `text turn` a reply of 200 tokens.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.agents import agent, transport
from benchmarks.bare import BareLoop, cpu_ms
from benchmarks.stub import StubProcess
from bumble_core import Runtime
from bumble_core.chat import encode_request
from bumble_core.types.inference import ModelRef, Profile, Request
from bumble_core.types.messages import user

_SHORT, _TEXT_TURN, _LONG = 1, 200, 1000
_APART_S = 0.001
_ROUNDS = {"together": 25, "apart": 7}
_KINDS = ("bare", "provider", "turn")
_WORDS = "When does the last ferry leave?"


@dataclass(frozen=True)
class Row:
    """Of one kind of loop: milliseconds per text turn, microseconds per token, and both as multiples of the bare."""

    pace: str
    kind: str
    turn_ms: float
    token_us: float
    turn_ratio: float = 1.0
    token_ratio: float = 1.0


async def measure(tokens: int, apart_s: float, rounds: int, *, plain: bool) -> dict[str, float]:
    """Return the CPU of one reply of `tokens` tokens, in milliseconds, by kind."""
    with StubProcess(tokens, apart_s) as stub, TemporaryDirectory() as home:
        async with agent(Path(home), stub.url, plain=plain) as runtime:
            request = _request()
            bare = BareLoop(stub.url, dict(encode_request(request, "m")))
            asks = {"bare": bare.ask, "provider": _provider(runtime, request), "turn": _turn(runtime)}
            await cpu_ms(2, **asks)
            spent = await cpu_ms(rounds, **asks)
            await bare.aclose()
    return spent


def rows(pace: str, short: dict[str, float], middle: dict[str, float], long: dict[str, float]) -> list[Row]:
    token_us = {kind: (long[kind] - short[kind]) * 1000 / (_LONG - _SHORT) for kind in _KINDS}
    return [
        Row(pace, kind, middle[kind], token_us[kind], middle[kind] / middle["bare"], token_us[kind] / token_us["bare"])
        for kind in _KINDS
    ]


def _request() -> Request:
    profile = Profile(name="reflex", max_tokens=2048)
    return Request(owner="b", purpose="turn", models=(ModelRef(model="m"),), profile=profile, messages=(user(_WORDS),))


def _provider(runtime: Runtime, request: Request) -> Callable[[], Awaitable[object]]:
    provider = runtime.parts.providers["openai"]

    async def ask() -> None:
        async with aclosing(provider.stream(request, "m")) as items:
            async for _ in items:
                pass

    return ask


def _turn(runtime: Runtime) -> Callable[[], Awaitable[object]]:
    sessions = count()  # a session of its own for each turn: what a history costs is measured elsewhere
    return lambda: runtime.answer(_WORDS, session=f"s{next(sessions)}")


async def table(*, quick: bool, plain: bool) -> list[Row]:
    found = []
    for pace, apart_s in (("together", 0.0), ("apart", _APART_S)):
        rounds = 1 if quick else _ROUNDS[pace]
        sizes = [await measure(tokens, apart_s, rounds, plain=plain) for tokens in (_SHORT, _TEXT_TURN, _LONG)]
        found += rows(pace, *sizes)
        if quick:
            break
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds at one pace, to see that it runs")
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    parser.add_argument("--plain", action="store_true", help="without the extra `fast`, also where it is installed")
    chosen = parser.parse_args()
    found = asyncio.run(table(quick=chosen.quick, plain=chosen.plain))
    if chosen.json:
        print(json.dumps([asdict(row) for row in found]))
        return
    print(f"The bare loop uses httpx, the others {transport(plain=chosen.plain)}.")
    print("pace      kind      text turn ms   /bare   token us   /bare")
    for row in found:
        print(
            f"{row.pace:8}  {row.kind:8}  {row.turn_ms:12.2f}  {row.turn_ratio:6.2f}  {row.token_us:9.1f}  "
            f"{row.token_ratio:6.2f}"
        )


if __name__ == "__main__":
    main()
