"""CPU of one turn on a long history, beside a bare loop that sends the same messages.

    python -m benchmarks.long_history [--quick] [--json] [--plain]

Both send the same bytes' worth of messages and tools to the same server and read the same reply. The turn does all
that a turn does: session, routing, prompt, counting, storing. `first` is the first turn after a start, which reads the
history from disk; `later` are the turns after it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.agents import SESSION, agent, history, transport
from benchmarks.bare import BareLoop, cpu_ms
from benchmarks.stub import StubProcess
from bumble_core.chat import encode_request
from bumble_core.types.events import Inferred

_SIZES, _ROUNDS = (500, 1000, 2000, 4000), 15
_QUICK_SIZES, _QUICK_ROUNDS = (40,), 2
_TOKENS = 20


@dataclass(frozen=True)
class Row:
    transport: str
    messages: int
    bare_ms: float
    later_ms: float
    first_ms: float
    ratio: float
    connections: int


async def measure(size: int, rounds: int, *, plain: bool) -> Row:
    with StubProcess(_TOKENS) as stub, TemporaryDirectory() as home:
        async with agent(Path(home), stub.url, plain=plain) as runtime:
            await runtime.sessions.restore(SESSION, history(size))
        async with agent(Path(home), stub.url, plain=plain) as runtime:
            before = time.process_time()
            events = [event async for event in runtime.stream("And the last ferry back?", session=SESSION)]
            first_ms = (time.process_time() - before) * 1000
            request = next(event.request for event in events if isinstance(event, Inferred))
            assert len(request.messages) >= size
            bare = BareLoop(stub.url, dict(encode_request(request, "m")))
            turn = lambda: runtime.answer("And the last ferry back?", session=SESSION)  # noqa: E731
            await cpu_ms(2, bare=bare.ask, turn=turn)
            spent = await cpu_ms(rounds, bare=bare.ask, turn=turn)
            await bare.aclose()
            connections = stub.seen().connections - 1
    return Row(
        transport=transport(plain=plain),
        messages=size,
        bare_ms=spent["bare"],
        later_ms=spent["turn"],
        first_ms=first_ms,
        ratio=spent["turn"] / spent["bare"],
        connections=connections,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one small history, to see that it runs")
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    parser.add_argument("--plain", action="store_true", help="without the extra `fast`, also where it is installed")
    chosen = parser.parse_args()
    sizes, rounds = (_QUICK_SIZES, _QUICK_ROUNDS) if chosen.quick else (_SIZES, _ROUNDS)
    rows = [asyncio.run(measure(size, rounds, plain=chosen.plain)) for size in sizes]
    if chosen.json:
        print(json.dumps([asdict(row) for row in rows]))
        return
    print("transport  messages   bare ms  later ms  first ms  later/bare  connections")
    for row in rows:
        print(
            f"{row.transport:9}  {row.messages:8}  {row.bare_ms:8.2f}  {row.later_ms:8.2f}  {row.first_ms:8.1f}  "
            f"{row.ratio:10.2f}  {row.connections:11}"
        )


if __name__ == "__main__":
    main()
