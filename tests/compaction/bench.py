"""What tests of compaction share: a summariser that is scripted, states, and the shipped phases around them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bumble_compactor import CompactorConfig, CompactorPlugin

from bumble_core import Message, Settings, ToolCall, ToolResult, assistant, tool_message, user
from bumble_core.builtin.compactor import PhasedCompactor
from bumble_core.builtin.documents import FileDocuments
from bumble_core.builtin.system import SystemClock, SystemFiles
from bumble_core.builtin.tokens import CharacterCounter
from bumble_core.types.compaction import CompactionState
from bumble_core.types.inference import Completion, Delta, Finish, ModelRef, Request

MODEL = ModelRef(provider="scripted", model="model")
SUMMARY = "Goal: go on. Progress: all that was asked for so far is done. Next Steps: answer the next question."
Answer = str | Exception | tuple[str, Finish]


class Summariser:
    """Answers flushes with `facts` and summaries with `say`, the last of which repeats; remembers what it was asked."""

    def __init__(self, *say: Answer | Callable[[str], Answer], facts: Answer = "[]") -> None:
        self.asked: list[str] = []
        self.flushed: list[str] = []
        self._say = list(say) or [SUMMARY]
        self._facts = facts

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]:
        text = request.messages[-1].text
        if request.profile.name == "flush":
            self.flushed.append(text)
            answer: Answer | Callable[[str], Answer] = self._facts
        else:
            self.asked.append(text)
            answer = self._say.pop(0) if len(self._say) > 1 else self._say[0]
        if callable(answer):
            answer = answer(text)
        if isinstance(answer, Exception):
            raise answer
        said, finish = answer if isinstance(answer, tuple) else (answer, "stop")
        yield Completion(message=assistant(said), finish=finish, model=MODEL)


def settings(window: int = 32_768, **compression: Any) -> Settings:
    cognition = {"max_context_tokens": window, "history_compression": compression}
    return Settings.model_validate({"agent": {"models": [str(MODEL)]}, "cognition": cognition})


class Bench:
    """The shipped phases and the kernel's compactor, with a scripted summariser and real documents."""

    def __init__(self, home: Path, summariser: Summariser, given: Settings) -> None:
        self.counter, self.summariser, self.settings = CharacterCounter(), summariser, given
        self.documents = FileDocuments(home, SystemFiles(), SystemClock())
        plugin = CompactorPlugin(CompactorConfig())
        offered = plugin.bumble_compaction_phases(summariser, self.counter, self.documents, given)
        self.phases = {phase.name: phase for phase in offered}
        compression = given.cognition.history_compression
        ordered = [self.phases[name] for name in compression.phases]
        self.compactor = PhasedCompactor(ordered, self.counter, compression.compaction_max_passes)

    def state(self, messages: Sequence[Message], *, overhead: int = 0, **more: Any) -> CompactionState:
        window, compression = self.settings.cognition.max_context_tokens, self.settings.cognition.history_compression
        limit = int(window * compression.compaction_threshold_ratio)
        found = CompactionState(
            owner="turn_1",
            session="s",
            models=(MODEL,),
            messages=tuple(messages),
            tokens=overhead + self.counter.count(tuple(messages), (), MODEL),
            overhead=overhead,
            limit=limit,
            target=int(limit * compression.compaction_target_ratio),
            window=window,
            ceiling=window - min(2048, window // 4),
            cause="asked",
            keep=frozenset({messages[-1].id}) if messages and messages[-1].role == "user" else frozenset(),
            originals={message.id: message for message in messages},
        )
        return replace(found, **more)

    async def compact(self, messages: Sequence[Message], **more: Any) -> CompactionState:
        return await self.compactor.compact(self.state(messages, **more))

    async def again(self, state: CompactionState) -> CompactionState:
        return await self.compactor.compact(replace(state, reports=(), pass_number=0, bounds=None))


def text_of(content: Any) -> str:
    """Read the text of a case: as it stands, or repeated."""
    if isinstance(content, dict):
        return str(content.get("prefix", "")) + content["repeat"] * content["times"] + content.get("suffix", "")
    return content or ""


def conversation(history: Iterable[dict[str, Any]]) -> tuple[Message, ...]:
    """Read the messages of a case."""
    names: dict[str, str] = {}
    found: list[Message] = []
    for each in history:
        text = text_of(each["content"])
        if each["role"] == "tool":
            id = each["tool_call_id"]
            found.append(tool_message(ToolResult(call_id=id, name=names[id], content=text)))
        elif each["role"] == "user":
            found.append(user(text))
        else:
            calls = [
                ToolCall(id=c["id"], name=c["function"]["name"], arguments=json.loads(c["function"]["arguments"]))
                for c in each.get("tool_calls", ())
            ]
            names.update((call.id, call.name) for call in calls)
            found.append(assistant(text, *calls))
    return tuple(found)


def summaries(messages: Iterable[Message]) -> list[Message]:
    return [message for message in messages if message.source == "summary"]


def talk(turns: int, words: int = 60) -> tuple[Message, ...]:
    """Return a conversation of so many questions and answers, and a last question."""
    said: list[Message] = []
    for number in range(turns):
        said += [user(f"question {number}: " + "why " * words), assistant(f"answer {number}: " + "so " * words)]
    return (*said, user("and what now?"))


def work(turns: int, output: int = 1200) -> tuple[Message, ...]:
    """Return a conversation in which a file is read in each turn, and a last question."""
    said: list[Message] = []
    for number in range(turns):
        call = ToolCall(id=f"c{number}", name="read_file", arguments={"path": f"src/part_{number}.py"})
        content = f"def part_{number}(): return {number * 7919}\n" + "x = 1\n" * (output // 6)
        said += [
            user(f"read part {number}"),
            assistant("", call),
            tool_message(ToolResult(call_id=call.id, name="read_file", content=content)),
            assistant(f"part {number} is read"),
        ]
    return (*said, user("and what now?"))
