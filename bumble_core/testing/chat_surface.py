"""A surface that behaves as a chat platform does: whole messages, which may be slow or not arrive."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping

from ..types.inference import Delta
from ..types.surfaces import Answer, Delivery, Question
from ..types.turn import TurnContext
from .scripted import BrokenScript


class ChatSurface:
    """Remembers the messages that arrived, in order, and the questions that were asked.

    Deliveries are counted from 1: `fails` gives for some of them why they do not arrive, in words, or an exception to
    raise as a platform's library would; `slow` gives for some how many seconds they take. Each question gets the next
    of `answers`, after `answers_after_s`; when none is left, nobody answers. A draft is a `BrokenScript`.
    """

    name = "chat"
    takes_drafts = False

    def __init__(
        self,
        *,
        answers: Iterable[str] = (),
        fails: Mapping[int, str | Exception] | None = None,
        slow: Mapping[int, float] | None = None,
        answers_after_s: float = 0.0,
    ) -> None:
        self.delivered: list[str] = []
        self.questions: list[Question] = []
        self._answers = deque(answers)
        self._fails, self._slow = dict(fails or {}), dict(slow or {})
        self._answers_after_s = answers_after_s
        self._attempts = 0

    async def draft(self, delta: Delta, turn: TurnContext) -> None:
        raise BrokenScript("a chat platform was sent a draft; it takes none")

    async def withdraw(self, turn: TurnContext) -> None:
        raise BrokenScript("a chat platform was to take a draft back; it had none")

    async def deliver(self, text: str, turn: TurnContext) -> Delivery:
        self._attempts += 1
        problem = self._fails.get(self._attempts)
        await asyncio.sleep(self._slow.get(self._attempts, 0.0))
        if isinstance(problem, Exception):
            raise problem
        if problem is not None:
            return Delivery(delivered=False, problem=problem)
        self.delivered.append(text)
        return Delivery(delivered=True)

    async def ask(self, question: Question, turn: TurnContext) -> Answer:
        self.questions.append(question)
        await asyncio.sleep(self._answers_after_s)
        return Answer(answered=True, text=self._answers.popleft()) if self._answers else Answer(answered=False)
