"""Ten long conversations, and questions on what was said in them once. The same at every call."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from benchmarks.compaction.scripts import NAMES, Ask, Beat, Script, Work, pairs, script
from benchmarks.compaction.templates import Templates
from bumble_core.types.messages import Message, ResultStatus, Text, ToolCall, ToolResult

_AROUND = (12, 40)  # lines of ordinary output before and after a result that holds a fact
_ROUNDS = 3
_TWO_CALLS = 0.2
_FAILS = 0.1


@dataclass(frozen=True)
class Question:
    """A fact that stood in message `at` and in no other; it is kept where each of `answers` is, letter case aside.

    An `identifier` is a path, number, hash, address or the like: what a search for odd strings would find.
    """

    text: str
    answers: tuple[str, ...]
    identifier: bool
    at: int


@dataclass(frozen=True)
class LongSession:
    """`kind` is coding, research or personal; `messages` are a valid history that ends with the assistant's words."""

    name: str
    kind: str
    language: str
    messages: tuple[Message, ...]
    questions: tuple[Question, ...]

    def first(self, most: int | None) -> LongSession:
        """Return the session up to the last whole turn of so many messages, and the questions on that.

        Raises:
            ValueError: no question is on so few.
        """
        ends = [
            at for at, message in enumerate(self.messages, 1) if message.role == "assistant" and not message.tool_calls
        ]
        end = max((at for at in ends if most is None or at <= most), default=0)
        questions = tuple(question for question in self.questions if question.at < end)
        if not questions:
            raise ValueError(f"`{self.name}`: no question is on the first {most} messages; take more")
        return replace(self, messages=self.messages[:end], questions=questions)


def sessions() -> tuple[LongSession, ...]:
    """Build all ten, of some 700,000 estimated tokens together; takes a second or two."""
    return tuple(session(name) for name in NAMES)


def session(name: str) -> LongSession:
    return _Writer(name, script(name)).written()


def estimated_tokens(messages: tuple[Message, ...]) -> int:
    """Count a quarter of the characters, as the sizes in the scripts do; not what a model counts."""
    return sum(_length(message) for message in messages) // 4


class _Writer:
    """Writes a session turn by turn: after each beat, ordinary turns up to its share of the length."""

    def __init__(self, name: str, source: Script) -> None:
        self._name = name
        self._script = source
        self._rng = random.Random(f"compaction {name}")
        answers = tuple(answer for beat in source.beats for ask in beat.asks for answer in ask.answers)
        self._templates = Templates(source.words, frozenset(source.steady.split()), answers, self._rng)
        self._messages: list[Message] = []
        self._length = 0
        self._calls = 0

    def written(self) -> LongSession:
        beats = self._script.beats
        questions: list[Question] = []
        for place, beat in enumerate(beats, start=1):
            questions += self._beat(beat)
            self._ordinary(self._script.tokens * 4 * (place - self._rng.uniform(0, 0.6)) / len(beats))
        return LongSession(
            name=self._name,
            kind=self._script.kind,
            language=self._script.language,
            messages=tuple(self._messages),
            questions=tuple(questions),
        )

    def _beat(self, beat: Beat) -> list[Question]:
        places = {"user": self._say("user", beat.user)}
        if beat.tool:
            call = self._call(beat.tool, dict(beat.arguments))
            self._add("assistant", call)
            places["tool"] = self._result(call, self._buried(beat))
        places["assistant"] = self._say("assistant", beat.assistant)
        return [_question(ask, places) for ask in beat.asks]

    def _buried(self, beat: Beat) -> str:
        works = [work for work in self._script.works if work.tool == beat.around]
        if not works:
            return beat.result
        before, after = (self._lines(works[0], _AROUND) for _ in range(2))
        return "\n".join((*before, beat.result.rstrip("\n"), *after))

    def _ordinary(self, until: float) -> None:
        chats, tasks = pairs(self._script.chats), pairs(self._script.tasks)
        while self._length < until:
            if self._rng.random() < self._script.work_share:
                asked, told = self._templates.fresh(tasks)
                self._say("user", asked)
                for _ in range(self._rng.randint(1, _ROUNDS)):
                    self._work()
                self._say("assistant", told)
            else:
                asked, told = self._templates.fresh(chats)
                self._say("user", asked)
                self._say("assistant", told)

    def _work(self) -> None:
        works = [self._rng.choice(self._script.works) for _ in range(2 if self._rng.random() < _TWO_CALLS else 1)]
        calls = [self._call(work.tool, {k: self._fill(v) for k, v in work.arguments.items()}) for work in works]
        self._add("assistant", Text(text=self._fill(works[0].before)), *calls)
        for work, call in zip(works, calls, strict=True):
            if work.error and self._rng.random() < _FAILS:
                self._result(call, self._fill(work.error), failed=True)
            else:
                self._result(call, self._output(work))

    def _output(self, work: Work) -> str:
        lines = self._lines(work, work.count)
        paragraphs = ["".join(lines[start : start + 5]) for start in range(0, len(lines), 5)]
        return self._fill(work.head) + ("\n\n".join(paragraphs) if work.prose else "\n".join(lines))

    def _lines(self, work: Work, count: tuple[int, int]) -> list[str]:
        kinds = work.lines.splitlines()
        space = " " if work.prose and self._script.language != "zh" else ""
        return [self._templates.loose(self._rng.choice(kinds)) + space for _ in range(self._rng.randint(*count))]

    def _fill(self, template: str) -> str:
        return self._templates.fill(template)

    def _call(self, tool: str, arguments: dict[str, str]) -> ToolCall:
        self._calls += 1
        return ToolCall(id=f"call_{self._name}_{self._calls:04}", name=tool, arguments=dict(arguments))

    def _result(self, call: ToolCall, content: str, *, failed: bool = False) -> int:
        status: ResultStatus = "error" if failed else "ok"
        return self._add("tool", ToolResult(call_id=call.id, name=call.name, content=content, status=status))

    def _say(self, role: str, text: str) -> int:
        return self._add(role, Text(text=text.strip()))

    def _add(self, role: str, *parts: Text | ToolCall | ToolResult) -> int:
        place = len(self._messages)
        source = {"user": "user", "assistant": "model", "tool": "tool"}[role]
        message = Message.model_validate(
            {"id": f"msg_{self._name}_{place:04}", "role": role, "parts": parts, "source": source}
        )
        self._messages.append(message)
        self._length += _length(message)
        return place


def _question(ask: Ask, places: dict[str, int]) -> Question:
    return Question(text=ask.q, answers=ask.answers, identifier=ask.identifier, at=places[ask.where])


def _length(message: Message) -> int:
    calls = sum(len(str(call.arguments)) for call in message.tool_calls)
    return len(message.text) + calls + sum(len(result.content) for result in message.tool_results)
