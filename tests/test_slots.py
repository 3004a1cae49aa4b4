"""Who fills a slot, and what happens when that is not clear."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import pytest

from bumble_core import ConfigError, PluginError, Settings, StageConflictError, assemble, hookimpl
from bumble_core.ports import Router
from bumble_core.slots import Offer, by_name
from bumble_core.testing import ScriptedProvider
from bumble_core.types.inference import Profile
from bumble_core.types.turn import Route, TurnInput
from tests.shipped import construct_shipped

Build = Callable[..., Settings]
STAGES = ("router", "judge", "compactor")


class FixedRouter:
    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def route(self, input: TurnInput) -> Route:
        profile = Profile(name="reflex", max_tokens=9)
        return Route(profile=profile, models=input.models, decided_by="forced", reason=self._reason)


def claim(reason: str, *, tryfirst: bool = False) -> object:
    class Claimant:
        @hookimpl(tryfirst=tryfirst)
        def bumble_router(self) -> Router:
            return FixedRouter(reason)

    return Claimant()


class Suffixed:
    def __init__(self, inner: Router, suffix: str) -> None:
        self._inner, self._suffix = inner, suffix

    async def route(self, input: TurnInput) -> Route:
        route = await self._inner.route(input)
        return route.model_copy(update={"reason": route.reason + self._suffix})


def wrapper(suffix: str, *, trylast: bool = False) -> object:
    class Wrapper:
        @hookimpl(wrapper=True, trylast=trylast)
        def bumble_router(self) -> Generator[None, Router, Router]:
            inner = yield
            return Suffixed(inner, suffix)

    return Wrapper()


def assembled(settings: Settings, plugins: dict[str, object]) -> Any:
    offered = {**construct_shipped(*STAGES), "scripted": ScriptedProvider(), **plugins}
    return assemble(settings, plugins=offered, discovers=False)


@pytest.mark.parametrize(
    ("plugins", "stages", "winner"),
    [
        ({}, {}, "router"),
        ({"mine": claim("mine")}, {}, "mine"),
        ({"mine": claim("mine")}, {"router": "router"}, "router"),
        ({"mine": claim("mine"), "first": claim("first", tryfirst=True)}, {}, "first"),
        ({"mine": claim("mine"), "other": claim("other")}, {"router": "other"}, "other"),
    ],
    ids=["default", "plain-claim-beats-default", "config-beats-claim", "tryfirst-beats-claim", "config-settles-tie"],
)
def test_slot_goes_to(settings: Build, plugins: dict[str, object], stages: dict[str, str], winner: str) -> None:
    runtime = assembled(settings(stages=stages), plugins)
    assert next(choice.plugin for choice in runtime.stages_chosen if choice.stage == "router") == winner


def test_equal_claims_are_an_error_that_says_what_to_write(settings: Build) -> None:
    expected = r"`a` and `b` both provide `router`; choose one with `stages: \{router: NAME\}`"
    with pytest.raises(StageConflictError, match=expected):
        assembled(settings(), {"a": claim("a"), "b": claim("b")})


async def test_wrappers_apply_to_whoever_wins_from_the_inside_out(settings: Build) -> None:
    plugins = {"mine": claim("mine"), "outer": wrapper(" outer"), "inner": wrapper(" inner", trylast=True)}
    runtime = assembled(settings(stages={"router": "mine"}), plugins)
    (choice,) = (choice for choice in runtime.stages_chosen if choice.stage == "router")
    assert choice.wrapped_by == ("inner", "outer")
    turn = runtime.parts.stages.router
    assert (await turn.route(_input(runtime))).reason == "mine inner outer"


def _input(runtime: Any) -> TurnInput:
    from bumble_core import user

    models = runtime.settings.agent.models
    return TurnInput(session_id="s", message=user("x"), models=models, started=runtime.parts.clock.now())


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"jobs": {"dream": {}}}, r"jobs\.dream: no such job"),
        ({"gate": {"surfaces": {"termnal": "off"}}}, r"gate\.surfaces\.termnal: no such surface; installed: "),
        ({"cognition": {"history_compression": {"phases": ["prun"]}}}, r"phases: no phase `prun`; installed: .*prune"),
        ({"stages": {"router": "nobody"}}, r"stages\.router: `nobody` does not provide it; available: router"),
        ({"plugins": {"ruter": {}}}, r"plugins\.ruter: no such plugin; did you mean `router`\?"),
        ({"plugins": {"disabled": ["juge"]}}, r"plugins\.disabled: juge: no such plugin; did you mean `judge`\?"),
        ({"prefer": {"tool:x": "nobody"}}, r"prefer\.tool:x: no such plugin"),
    ],
    ids=["job", "surface", "phase", "stage", "section", "disabled", "prefer"],
)
def test_name_of_nothing_is_an_error(settings: Build, sections: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        assembled(settings(**sections), {})


class WrongPort:
    @hookimpl
    def bumble_judge(self) -> object:
        return object()


class Misspelt:
    @hookimpl
    def bumble_ruter(self) -> None: ...


class WrongArgument:
    @hookimpl
    def bumble_tools(self, colour: str) -> list[Any]:
        return []


class RaisesLate:
    @hookimpl
    def bumble_tools(self) -> list[Any]:
        raise RuntimeError("late")


class NotAList:
    @hookimpl
    def bumble_tools(self) -> Any:
        return None


class WrapsACollection:
    @hookimpl(wrapper=True)
    def bumble_tools(self) -> Generator[None, Any, Any]:
        return (yield)


class NeverYields:
    @hookimpl(wrapper=True)
    def bumble_router(self) -> Generator[None, Any, Any]:
        return
        yield


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (WrongPort(), "`bumble_judge` gave object, which is not a Judge"),
        (Misspelt(), "there is no hook `bumble_ruter` .*did you mean `bumble_router`"),
        (WrongArgument(), "colour"),
        (RaisesLate(), "`bumble_tools` raised RuntimeError: late"),
        (NotAList(), "`bumble_tools` gave NoneType, expected a list of Tool"),
        (WrapsACollection(), "`bumble_tools` cannot be wrapped"),
        (NeverYields(), "`bumble_router` raised StopIteration"),
    ],
    ids=["wrong-port", "misspelt-hook", "wrong-argument", "raises", "not-a-list", "wraps-collection", "never-yields"],
)
def test_broken_plugin_of_the_application_is_named(settings: Build, plugin: object, message: str) -> None:
    with pytest.raises(PluginError, match=f"plugin `bad`: .*{message}"):
        assembled(settings(), {"bad": plugin})


class Closing:
    """Counts how often it is closed; wraps what it is given."""

    def __init__(self, inner: Any = None) -> None:
        self.inner, self.closed = inner, 0

    async def route(self, input: TurnInput) -> Route:
        return await FixedRouter("closing").route(input)

    async def aclose(self) -> None:
        self.closed += 1


async def test_occupant_and_what_it_wraps_are_each_closed_once(settings: Build) -> None:
    made = [Closing()]

    class Plugin:
        @hookimpl
        def bumble_router(self) -> Router:
            return made[0]

    class Wrapper:
        @hookimpl(wrapper=True)
        def bumble_router(self) -> Generator[None, Router, Router]:
            made.append(Closing((yield)))
            return made[1]

    async with assembled(settings(), {"own": Plugin(), "wrapper": Wrapper()}):
        pass
    assert [each.closed for each in made] == [1, 1]


def test_name_of_the_kernel_cannot_be_taken(settings: Build) -> None:
    with pytest.raises(PluginError, match="plugin `core`: the name is the kernel's own"):
        assembled(settings(), {"core": claim("core")})


@dataclass(frozen=True)
class Named:
    name: str


def test_a_preference_wins_over_what_is_shipped() -> None:
    ours, theirs = Offer("files", Named("read_file")), Offer("better", Named("read_file"))
    shipped, preference = frozenset({"files"}), {"tool:read_file": "better"}
    index, clashes = by_name([ours, theirs], "tool", lambda each: each.name, shipped, preference)
    assert index == {"read_file": theirs.item}
    assert [(clash.plugin, clash.reason) for clash in clashes] == [
        ("files", "tool `read_file` left out: `better` has one of this name")
    ]


def test_a_wrapper_that_yields_twice_is_named(settings: Build) -> None:
    class Twice:
        @hookimpl(wrapper=True)
        def bumble_router(self) -> Generator[None, Router, Router]:
            inner = yield
            yield
            return inner

    with pytest.raises(PluginError, match=r"twice.*yields exactly once"):
        assemble(settings(), plugins={**construct_shipped(*STAGES), "twice": Twice()}, discovers=False)
