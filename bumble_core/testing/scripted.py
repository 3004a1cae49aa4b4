"""A model whose answers are written beforehand, and which checks every request that it gets."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from types import MappingProxyType

from ..hookspecs import hookimpl
from ..ports import Provider
from ..types.inference import Completion, Delta, Finish, ModelInfo, ModelRef, Request, Usage
from ..types.messages import Message, assistant
from .requests import RequestChecker

Reply = Message | Completion | Exception | Callable[[Request], "Message | Completion | Exception"]

_ASIDES: Mapping[str, Reply] = MappingProxyType({"judge": assistant("DONE:"), "route": assistant("DEEP")})


class BrokenScript(BaseException):
    """A request breaks a law, or asks for more than the script has.

    Not an `Exception`: nothing between the script and the test may take it for a model that failed.
    """


class ScriptedProvider:
    """Answers from a list, in order, and remembers what it was asked.

    A reply is a message, a whole completion, an error to raise, or a function from the request to one of these. Every
    request is held to the laws of histories and prefixes: pass `checks=False` to test what breaks them, and
    `system_may_change=True` where what the system prompt depends on changes between two turns. Also a plugin: give it
    to `assemble(plugins={"scripted": provider})`.

    `asides` are replies to requests of some purposes, which use up nothing of the list and are remembered apart, so
    that a script holds only what the conversation is about: the judge is told that all is done, the router that a
    message takes thought.
    """

    def __init__(
        self,
        replies: Iterable[Reply] = (),
        *,
        name: str = "scripted",
        checks: bool = True,
        system_may_change: bool = False,
        asides: Mapping[str, Reply] = _ASIDES,
    ) -> None:
        self._replies = deque(replies)
        self._name = name
        self._checker = RequestChecker(system_may_change=system_may_change) if checks else None
        self._asides = asides
        self.requests: list[Request] = []
        self.asked_aside: list[Request] = []

    @property
    def name(self) -> str:
        return self._name

    async def stream(self, request: Request, model: str) -> AsyncGenerator[Delta | Completion, None]:
        is_aside = request.purpose in self._asides
        (self.asked_aside if is_aside else self.requests).append(request)
        if self._checker is not None:
            _check(self._checker, request)
        if not is_aside and not self._replies:
            raise BrokenScript(f"the script is over, but `{request.purpose}` asked again")
        reply = self._asides[request.purpose] if is_aside else self._replies.popleft()
        if callable(reply):
            reply = reply(request)
        if isinstance(reply, Exception):
            raise reply
        completion = reply if isinstance(reply, Completion) else self._completion(reply, model)
        for word in completion.message.text.splitlines(keepends=True):
            yield Delta(text=word)
        yield completion

    async def models(self) -> tuple[ModelInfo, ...]:
        return (ModelInfo(ref=ModelRef(provider=self._name, model="model"), is_default=True),)

    @hookimpl
    def bumble_providers(self) -> list[Provider]:
        return [self]

    def _completion(self, message: Message, model: str) -> Completion:
        finish: Finish = "tool_calls" if message.tool_calls else "stop"
        ref = ModelRef(provider=self._name, model=model)
        usage = Usage(input_tokens=0, output_tokens=len(message.text) // 4, estimated=True)
        return Completion(message=message, finish=finish, model=ref, usage=usage)


def _check(checker: RequestChecker, request: Request) -> None:
    try:
        checker.check(request)
    except AssertionError as error:
        raise BrokenScript(f"`{request.purpose}` asks with a request that breaks a law: {error}") from error
