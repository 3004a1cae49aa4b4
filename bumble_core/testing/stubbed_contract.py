"""What the parts of the conformance suite share: a provider, and a server that plays scripted replies to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from typing_extensions import override

from ..errors import InferenceError
from ..ports import Provider
from ..types.inference import Request, Usage
from ..types.messages import Message, assistant
from .live_contract import Heard, LiveProviderContract, hear, run
from .stub_server import StubReply, StubRequest
from .threads import serving
from .wires import CHAT, COUNTED, Wire


class StubbedContract(LiveProviderContract):
    """Asks a provider whose server plays what a test wants."""

    wire: Wire = CHAT
    key = "sk-contract-0b9d2f6a7c"

    @override
    @contextmanager
    def provider(self) -> Iterator[Provider]:
        with serving(self._answers) as stub:
            yield self.make(stub.url, self.key)

    def heard(self, reply: StubReply, asked: Request | None = None) -> Heard:
        """Return what the provider makes of one reply."""
        with serving([reply]) as stub:
            provider = self.make(stub.url, self.key)
            return run(provider, lambda: hear(provider, asked or self.asking(), self.model))

    def said(
        self, message: Message, *, finish: Literal["stop", "length"] = "stop", usage: Usage | None = COUNTED
    ) -> StubReply:
        """Return the reply that says `message`."""
        return self.wire.reply(self.wire.answer(message, finish=finish, usage=usage))

    def _answers(self, request: StubRequest) -> StubReply:
        if request.method == "GET":
            return self.wire.listing([self.model, "another"])
        return self.said(assistant("Hello there."))

    def failed(self, reply: StubReply) -> InferenceError:
        with serving([reply]) as stub:
            return self.raised(self.make(stub.url, self.key))

    def raised(self, provider: Provider) -> InferenceError:
        try:
            heard = run(provider, lambda: hear(provider, self.asking(), self.model))
        except InferenceError as error:
            return error
        raise AssertionError(f"an error was expected and {heard.completion!r} came")
