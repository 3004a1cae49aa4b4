"""The shipped router: what it sees, what it decides, whom it asks."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from bumble_router import DeferredRouter, RouterConfig, RouterPlugin

from bumble_core import Settings, ToolCall, ToolResult, assistant, tool_message, user
from bumble_core.errors import Unreachable
from bumble_core.languages import merged, read_packs
from bumble_core.ports import Inference, Router
from bumble_core.testing import RouterContract, asked
from bumble_core.types.inference import Completion, Delta, Request
from bumble_core.types.languages import LanguagePack
from bumble_core.types.messages import Image, Message, Text
from bumble_core.types.turn import Label
from tests.http.streams import case
from tests.installed import CHECKOUT

H16 = case("H16")
PACKS = merged(read_packs(CHECKOUT / "plugins" / "bumble_router" / "languages"))
UNPLAIN = "The left one or the right one, though?"  # no sign but a question


class Word:
    """A classifier that answers one word, or fails; what it was asked is kept."""

    def __init__(self, word: str = "", problem: Exception | None = None) -> None:
        self.word, self.problem = word, problem
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncGenerator[Delta | Completion, None]:
        self.requests.append(request)
        if self.problem is not None:
            raise self.problem
        yield Completion(message=assistant(self.word), finish="stop", model=request.models[0])


def router(inference: Inference | None = None, agent: dict[str, Any] | None = None, **config: Any) -> DeferredRouter:
    own = RouterConfig.model_validate({"classifier": inference is not None, **config})
    settings = Settings.model_validate({"agent": {"models": ["scripted:model"], **(agent or {})}})
    return RouterPlugin(own).bumble_router(inference or Word(), PACKS, settings)


def row_text(given: Any) -> str:
    return given if isinstance(given, str) else given["repeat"] * given["times"] + given["suffix"]


class TestEvidenceRouter(RouterContract):
    def make(self) -> Router:
        return router()


class TestRouterWithAClassifier(RouterContract):
    def make(self) -> Router:
        return router(Word("EXACT"))


@pytest.mark.parametrize("row", H16["given"]["rows"], ids=lambda row: str(row["text"])[:20])
async def test_h16_each_text_has_its_route_while_the_classifier_is_down(row: dict[str, Any]) -> None:
    deciding = router(Word(problem=Unreachable("the classifier is down")))
    await deciding.route(asked("hi"))  # lists are compiled at the first message
    began = time.process_time()
    route = await deciding.route(asked(row_text(row["text"])))
    assert route.profile.name == row["route"]
    assert time.process_time() - began < row.get("decided_within_ms", 1000) / 1000


async def test_an_uncertain_message_takes_one_short_question_to_a_model() -> None:
    word = Word("CHAT")
    route = await router(word).route(asked(UNPLAIN))
    (request,) = word.requests
    assert (route.profile.name, route.decided_by, route.label) == ("reflex", "classifier", "CHAT")
    assert (request.profile.max_tokens, request.profile.temperature, request.purpose) == (8, 0.2, "route")


async def test_the_words_to_classify_are_framed_as_data() -> None:
    word = Word("CHAT")
    await router(word).route(asked("message>>> Well, which one?"))
    order, question = word.requests[0].messages
    assert order.role == "system"
    assert "message>>> Well" not in order.text
    assert question.text.startswith("<<<message ")


@pytest.mark.parametrize(
    ("word", "label", "profile"),
    [("CHAT", "CHAT", "reflex"), ("exact.", "EXACT", "deliberate"), ("**GROUNDED**", "GROUNDED", "deliberate")],
)
async def test_the_word_of_the_classifier_is_the_label(word: str, label: Label, profile: str) -> None:
    route = await router(Word(word)).route(asked(UNPLAIN))
    assert (route.label, route.profile.name) == (label, profile)


@pytest.mark.parametrize("word", ["", "I think so", "chatty?"[:3], "<think>Okay, the"])
async def test_an_answer_that_is_no_label_takes_thought(word: str) -> None:
    route = await router(Word(word)).route(asked(UNPLAIN))
    assert (route.profile.name, route.label) == ("deliberate", None)


async def test_a_classifier_that_fails_takes_thought() -> None:
    route = await router(Word(problem=Unreachable("down"))).route(asked(UNPLAIN))
    assert (route.profile.name, route.decided_by) == ("deliberate", "heuristic")
    assert "classifier failed" in route.reason


async def test_a_classifier_of_its_own_is_asked() -> None:
    word = Word("DEEP")
    await router(word, classifier_models=["other:small"]).route(asked(UNPLAIN))
    assert [str(model) for model in word.requests[0].models] == ["other:small"]


async def test_a_plain_message_costs_no_call() -> None:
    word = Word("DEEP")
    route = await router(word).route(asked("thanks a lot!"))
    assert (route.profile.name, word.requests) == ("reflex", [])


@pytest.mark.parametrize("origin", ["automation", "autonomous"])
async def test_what_nobody_wrote_takes_thought(origin: Any) -> None:
    route = await router().route(asked("hi", origin=origin))
    assert (route.profile.name, route.decided_by) == ("deliberate", "forced")


async def test_an_entity_that_always_deliberates_does() -> None:
    route = await router(agent={"always_deliberate": True}).route(asked("hi"))
    assert (route.profile.name, route.decided_by) == ("deliberate", "forced")


@pytest.mark.parametrize(
    ("text", "label", "grounded"),
    [
        ("open main.py", "GROUNDED", True),
        ("17.5% of 2,340?", "EXACT", True),
        ("compare renting and buying for the two of us", "DEEP", False),
        ("good morning", "CHAT", False),
    ],
)
async def test_the_label_says_whether_grounding_is_demanded(text: str, label: Label, grounded: bool) -> None:
    route = await router().route(asked(text))
    assert (route.label, route.grounded) == (label, grounded)


async def test_a_deep_turn_may_think_beside_its_reply() -> None:
    texts = ("compare renting and buying for the two of us", "open main.py", "hi")
    profiles = [(await router().route(asked(text))).profile for text in texts]
    assert [(each.max_tokens, each.thinking) for each in profiles] == [(4096, True), (2048, True), (512, False)]


@pytest.mark.parametrize("text", ["that report again", "my gloves are wet", "what a story", "the filing of it"])
async def test_a_word_within_a_word_is_no_sign(text: str) -> None:
    assert {sign.name for sign in router().explain(asked(text)).signs} & {"thing", "emotion", "work"} == set()


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("see notes.txt", "file"),
        ("in ~/work/old", "path"),
        ("https://example.com/a", "url"),
        ("x = `f(1)`", "code"),
        ("3 * 4", "arithmetic"),
        ("so „oder“ so", "quotes"),
        ("dies: a, b, c, d", "listing"),
        ("WO BIST DU DENN!!!", "intensity"),
        ("хахахаха", "laughs"),
        ("🙂🙂", "wordless"),
    ],
)
async def test_form_tells_in_any_language(text: str, sign: str) -> None:
    assert sign in {each.name for each in router().explain(asked(text)).signs}


def worked(closing: str, *, source: Any = "model") -> tuple[Message, ...]:
    call = ToolCall(id="call_1", name="read_file")
    result = tool_message(ToolResult(call_id="call_1", name="read_file", content="x"))
    return (user("look"), assistant("", call), result, assistant(closing, source=source))


@pytest.mark.parametrize(
    ("history", "sign"),
    [
        (worked("Shall I delete it?"), "open task"),
        (worked("I could not finish this.", source="kernel"), "open task"),
        (worked("Here it is."), "after work"),
        ((user("hi"), assistant("Hello!")), None),
    ],
    ids=["it asked back", "it broke off", "it is done", "no work"],
)
async def test_work_in_the_session_is_a_sign(history: tuple[Message, ...], sign: str | None) -> None:
    names = {each.name for each in router().explain(asked("yes", history=history)).signs}
    assert names & {"open task", "after work"} == ({sign} if sign else set())


async def test_a_picture_is_not_answered_by_reflex() -> None:
    message = Message(role="user", source="user", parts=(Text(text="?"), Image(media_type="image/png", data="")))
    route = await router().route(asked("").model_copy(update={"message": message}))
    assert route.profile.name == "deliberate"


async def test_a_plugin_teaches_a_language() -> None:
    esperanto = LanguagePack(language="eo", lists={"work": ("riparu",), "thing": ("dosiero",)})
    taught = RouterPlugin(RouterConfig(classifier=False)).bumble_router(Word(), (*PACKS, esperanto), Settings())
    text = asked("riparu la dosiero")
    assert [(await each.route(text)).profile.name for each in (router(), taught)] == ["reflex", "deliberate"]


def test_every_language_has_every_list() -> None:
    names = {name for pack in PACKS for name in pack.lists} - {"opening", "question"}
    assert len(PACKS) == 10
    assert [pack.language for pack in PACKS if not names <= pack.lists.keys()] == []
    assert [pack.language for pack in PACKS if not {"opening", "question"} & pack.lists.keys()] == []


def test_every_list_is_read() -> None:
    source = "".join(path.read_text() for path in Path(CHECKOUT, "plugins", "bumble_router").glob("*.py"))
    assert [name for name in PACKS[0].lists if f'"{name}"' not in source] == []
