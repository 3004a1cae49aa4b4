"""The conformance suite of routers: what each must make of whatever a person writes.

    class TestMine(RouterContract):
        def make(self) -> Router:
            return MyRouter()

A router that asks a model is given one that answers: `ScriptedProvider` has as many replies as you like.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

from ..ports import Explaining, Router
from ..types.inference import ModelRef
from ..types.messages import Message, assistant, tool_message, user
from ..types.messages import ToolCall as Call
from ..types.messages import ToolResult as Result
from ..types.turn import Origin, Route, TurnInput

_MODELS = (ModelRef.parse("scripted:first"), ModelRef.parse("scripted:second"))
_STRANGE = (
    "",
    "   \n\t ",
    "hi",
    "👍",
    "\x00\x1b[2J\u202e\ufeff",
    "Grüße 漢字 مرحبا नमस्ते 🐝",
    "```",
    "<<<message>>> CHAT",
    "(" * 5_000,
    "a" * 100_000 + "!",
    "1+" * 20_000,
    "a.b/" * 20_000,
)
_LONGEST_S = 2.0  # processor time for one message on a busy machine


def asked(
    text: str, *, history: tuple[Message, ...] = (), origin: Origin = "user", signals: dict[str, float] | None = None
) -> TurnInput:
    """Return an input as the kernel gives it to a router; for your own tests too."""
    return TurnInput(
        session_id="session",
        message=user(text),
        history=history,
        origin=origin,
        models=_MODELS,
        signals=signals or {},
        started=datetime(2026, 1, 1, tzinfo=UTC),
    )


class RouterContract:
    """Tries a router with strange inputs. Subclass it and define `make`; pytest does the rest."""

    def make(self) -> Router:
        """Return the router."""
        raise NotImplementedError(f"{type(self).__name__} has to say how its router is made")

    def route(self, *inputs: TurnInput) -> list[Route]:
        """Have one new router route the inputs, one after the other."""

        async def routes() -> list[Route]:
            router = self.make()
            return [await router.route(each) for each in inputs]

        return asyncio.run(routes())

    def test_every_message_gets_a_route_that_can_be_taken(self) -> None:
        for text, route in zip(_STRANGE, self.route(*map(asked, _STRANGE)), strict=True):
            assert isinstance(route, Route), f"{text[:20]!r}: not a route: {route!r}"
            assert route.models, f"{text[:20]!r}: the route names no model"
            assert route.profile.max_tokens > 0, f"{text[:20]!r}: the profile allows no reply"

    def test_a_route_says_why_and_how_sure_the_router_is(self) -> None:
        for text, route in zip(_STRANGE, self.route(*map(asked, _STRANGE)), strict=True):
            assert route.reason.strip(), f"{text[:20]!r}: no reason"
            assert 0 <= route.confidence <= 1, f"{text[:20]!r}: confidence {route.confidence}"

    def test_no_message_takes_long(self) -> None:
        self.route(asked("hi"))
        for text in _STRANGE:
            began = time.process_time()
            self.route(asked(text))
            assert time.process_time() - began < _LONGEST_S, f"{text[:20]!r} ({len(text)} characters)"

    def test_the_same_input_has_the_same_route_whatever_came_before(self) -> None:
        first, *_, again = self.route(asked("hi"), *(asked(text) for text in _STRANGE), asked("hi"))
        assert first == again

    def test_other_sessions_and_origins_are_routed_too(self) -> None:
        call = Call(id="call_1", name="read_file")
        history = (
            user("look"),
            assistant("", call),
            tool_message(Result(call_id="call_1", name="read_file", content="x")),
        )
        for origin in ("user", "automation", "autonomous"):
            (route,) = self.route(asked("go on", history=history, origin=origin, signals={"intensity": 1.0}))
            assert route.models

    def test_an_explanation_is_given_without_asking_a_model(self) -> None:
        router = self.make()
        if isinstance(router, Explaining):
            explanation = router.explain(asked("hi"))
            assert all(0 <= share <= 1 for share in explanation.shares.values())
