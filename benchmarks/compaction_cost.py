"""CPU of one compaction of a long history with tool calls, beside a bare pass over it as dicts.

    python -m benchmarks.compaction_cost [--quick] [--json]

The summariser is a stub that answers at once, so what is measured is ours: pruning, bounds, the record in parts, the
index of identifiers, the laws. The messages were counted before, as those of a running session are; `uncounted` is the
same with a counter that has seen none of them. `exponent` is the slope between the smallest and the largest history on
logarithmic scales: 1.0 is linear.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import logging
import math
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import structlog
from bumble_compactor import CompactorConfig, CompactorPlugin

from bumble_core import Message, Settings, ToolCall, ToolResult, assistant, tool_message, user
from bumble_core.builtin.compactor import PhasedCompactor
from bumble_core.builtin.documents import FileDocuments
from bumble_core.builtin.system import SystemClock, SystemFiles
from bumble_core.builtin.tokens import CharacterCounter
from bumble_core.types.compaction import CompactionState
from bumble_core.types.inference import Completion, Delta, ModelRef, Request

MODEL = ModelRef(provider="stub", model="m")
_SIZES, _ROUNDS = (1000, 2000, 4000, 8000, 10_000, 16_000), 15
_QUICK_SIZES, _QUICK_ROUNDS = (200, 400), 2
_SUMMARY = "Goal: go through the files. Progress: those so far are read. Next Steps: the others. " * 12


@dataclass(frozen=True)
class Row:
    messages: int
    bare_ms: float
    counted_ms: float
    uncounted_ms: float
    requests: int
    left: int


class Stub:
    """Answers at once, and counts how often."""

    def __init__(self) -> None:
        self.requests = 0

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]:
        self.requests += 1
        yield Completion(message=assistant(_SUMMARY), finish="stop", model=MODEL)


def history(size: int) -> tuple[Message, ...]:
    """Return messages in groups of four: a question, a call, its result, an answer."""
    messages: list[Message] = []
    for number in range(size // 4):
        call = ToolCall(id=f"call_{number}", name="read_file", arguments={"path": f"src/part_{number}.py", "line": 1})
        output = f"line {number * 7}: value = {number * 7919}\n" + "the rest of the file is as it was before\n" * 5
        messages += [
            user(f"Please look at part {number} of the code and say what is wrong with it."),
            assistant("", call),
            tool_message(ToolResult(call_id=call.id, name=call.name, content=output)),
            assistant(f"Part {number} returns its value too early; the check in front of it has to move down a line."),
        ]
    return tuple(messages)


def measure(size: int, rounds: int, home: Path) -> Row:
    messages, stub = history(size), Stub()
    settings = Settings.model_validate({"cognition": {"history_compression": {"compaction_flush_to_knowledge": False}}})
    counter = CharacterCounter()
    compactor = _compactor(stub, counter, settings, home)
    state = _state(messages, counter, settings)
    after = asyncio.run(compactor.compact(state))
    requests, stub.requests = stub.requests, 0
    return Row(
        messages=size,
        bare_ms=_bare_ms(messages, rounds),
        counted_ms=_cpu_ms(rounds, lambda: asyncio.run(_compact(compactor, state))),
        uncounted_ms=_cpu_ms(
            rounds, lambda: asyncio.run(_compact(_compactor(stub, CharacterCounter(), settings, home), state))
        ),
        requests=requests,
        left=len(after.messages),
    )


def exponent(rows: Sequence[Row]) -> float:
    first, last = rows[0], rows[-1]
    return math.log(last.counted_ms / first.counted_ms) / math.log(last.messages / first.messages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="small histories, few rounds")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    sizes, rounds = (_QUICK_SIZES, _QUICK_ROUNDS) if asked.quick else (_SIZES, _ROUNDS)
    with TemporaryDirectory() as home:
        rows = [measure(size, rounds, Path(home)) for size in sizes]
    if asked.json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "exponent": exponent(rows)}))
        return
    print(f"{'messages':>10}{'bare ms':>10}{'counted ms':>12}{'uncounted ms':>14}{'requests':>10}{'left':>6}")
    for row in rows:
        print(
            f"{row.messages:>10}{row.bare_ms:>10.1f}{row.counted_ms:>12.1f}{row.uncounted_ms:>14.1f}"
            f"{row.requests:>10}{row.left:>6}"
        )
    print(f"exponent {exponent(rows):.2f}, at most 1.10; at 10,000 messages at most 60 ms")


def _compactor(stub: Stub, counter: CharacterCounter, settings: Settings, home: Path) -> PhasedCompactor:
    documents = FileDocuments(home, SystemFiles(), SystemClock())
    phases = CompactorPlugin(CompactorConfig()).bumble_compaction_phases(stub, counter, documents, settings)
    return PhasedCompactor(phases, counter, 3)


async def _compact(compactor: PhasedCompactor, state: CompactionState) -> None:
    """Compact and return nothing: Python 3.11's `asyncio.run` makes the `repr` of what its task returns."""
    await compactor.compact(state)


def _state(messages: tuple[Message, ...], counter: CharacterCounter, settings: Settings) -> CompactionState:
    window, compression = settings.cognition.max_context_tokens, settings.cognition.history_compression
    limit = int(window * compression.compaction_threshold_ratio)
    return CompactionState(
        owner="bench",
        models=(MODEL,),
        messages=messages,
        tokens=counter.count(messages, (), MODEL),
        limit=limit,
        target=int(limit * compression.compaction_target_ratio),
        window=window,
        ceiling=window - 2048,
        keep=frozenset({messages[-4].id}),
    )


def _bare_ms(messages: Sequence[Message], rounds: int) -> float:
    """Measure what no compaction can do without: to look at each message, as a dict, and make its text."""
    dicts = [message.model_dump() for message in messages]
    return _cpu_ms(rounds, lambda: "\n".join(f"{each['role']}: {json.dumps(each['parts'])}" for each in dicts))


def _cpu_ms(rounds: int, work: Callable[[], object]) -> float:
    """Return the least CPU time of some rounds, in milliseconds: what else ran on the machine only adds."""
    spent = []
    for _ in range(rounds):
        gc.collect()
        before = time.process_time()
        work()
        spent.append((time.process_time() - before) * 1000)
    return min(spent)


if __name__ == "__main__":
    main()
