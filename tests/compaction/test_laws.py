"""Whatever phases and summarisers do: nothing that must stay leaves, and a request fits or the turn says why not."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from bumble_core import Message, user
from bumble_core.builtin.compactor import PhasedCompactor
from bumble_core.compaction import broken_law, groups
from bumble_core.cutting import CUT_MARKER
from bumble_core.errors import ContextOverflow
from bumble_core.ports import Phase
from bumble_core.prompt import Limits as PromptLimits
from bumble_core.prompt import Prompt
from bumble_core.room import Fitted, Room
from bumble_core.testing import check_history
from bumble_core.types.inference import Profile
from bumble_core.types.turn import Limits, Route, TurnContext, TurnInput
from tests.compaction.bench import MODEL, Bench, Summariser, settings, summaries, talk, work
from tests.compaction.histories import ROGUES, Rogue, histories, question_of, unreliable
from tests.depth import examples
from tests.pieces import ManualClock

_MARKER = 30  # tokens; what is smaller is not worth a mark
PHASES = ("flush", "prune", "bounds", "summarise")
FAST = hypothesis_settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


class Log:
    """The log of a session as far as compaction reads it."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._known = {message.id: message for message in messages}

    async def originals(self, session_id: str, ids: Collection[str]) -> dict[str, Message]:
        return {id: self._known[id] for id in ids if id in self._known}


def room_of(bench: Bench, phases: Sequence[Phase], history: Sequence[Message]) -> Room:
    passes = bench.settings.cognition.history_compression.compaction_max_passes
    log: Any = Log(history)
    return Room(
        prompt=Prompt((), (), PromptLimits(system=10_000, context=10_000)),
        tools=(),
        counter=bench.counter,
        compactor=PhasedCompactor(phases, bench.counter, passes),
        sessions=log,
        settings=bench.settings.cognition,
        emit=lambda event: None,
    )


def turn_of(history: tuple[Message, ...]) -> TurnContext:
    """Return a turn in the midst of its work: its log begins with the question."""
    question = question_of(history)
    place = history.index(question)
    input = TurnInput(
        id="turn_1",
        session_id="s",
        message=question,
        history=history[:place],
        models=(MODEL,),
        started=ManualClock().now(),
    )
    route = Route(profile=Profile(name="reflex", max_tokens=64), models=(MODEL,), decided_by="forced", reason="test")
    limits = Limits(deadline_s=60, max_auxiliary_calls=12, max_steps=6, max_pushbacks=1)
    turn = TurnContext.begin(input, route, limits)
    for message in history[place + 1 :]:
        turn = turn.appended(message)
    return turn


async def fitted(bench: Bench, phases: Sequence[Phase], history: tuple[Message, ...]) -> Fitted:
    return await room_of(bench, phases, history).fitted(turn_of(history))


def check_laws(before: tuple[Message, ...], after: tuple[Message, ...], turn: TurnContext) -> None:
    """Hold a view to the laws, written down anew and slowly."""
    by_id = {message.id: message for message in after}
    assert len(by_id) == len(after)
    assert by_id[question_of(before).id] == question_of(before)
    assert [by_id.get(m.id) for m in before if m.pinned] == [m for m in before if m.pinned]
    known = [message.id for message in before]
    survivors = [message.id for message in after if message.id in known]
    assert survivors == [id for id in known if id in by_id]
    assert {m.source for m in after if m.id not in known} <= {"summary", "kernel"}
    calls = [call.id for message in after for call in message.tool_calls]
    assert calls == [result.call_id for message in after for result in message.tool_results]
    assert turn.log == before[before.index(question_of(before)) :]


def stays(group: Sequence[Message], history: tuple[Message, ...]) -> bool:
    return any(m.pinned or m.id == question_of(history).id or m.text == CUT_MARKER for m in group)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@hypothesis_settings(FAST, max_examples=examples(1000, 50_000))
@given(
    history=histories(),
    order=st.lists(st.sampled_from([*PHASES, *ROGUES]), max_size=6, unique=True),
    window=st.sampled_from([400, 900, 2048, 4000]),
    seed=st.integers(0, 2**16),
)
def test_the_laws_hold_whatever_fails(
    history: tuple[Message, ...], order: list[str], window: int, seed: int, home: Path
) -> None:
    given_settings = settings(window, compaction_protect_last_n=4, compaction_flush_to_knowledge="flush" in order)
    bench = Bench(home, Summariser(unreliable(seed)), given_settings)
    phases = [bench.phases[name] if name in PHASES else Rogue(name, ROGUES[name]) for name in order]
    found = asyncio.run(fitted(bench, phases, history))
    turn, request = found.turn, found.request
    check_laws(history, turn.view, turn)
    check_history(request.messages)
    for done in turn.compactions:
        assert done.tokens_after <= done.tokens_before
    if found.tokens >= window:
        left = [group for group in groups(turn.view)[:-1] if not stays(group, history)]
        assert [g for g in left if bench.counter.count(tuple(g), (), MODEL) > _MARKER] == []
        with pytest.raises(ContextOverflow, match="what must stay needs some"):
            found.check()


@hypothesis_settings(FAST, max_examples=examples(150, 5_000))
@given(history=histories(), window=st.sampled_from([900, 2048, 4000]))
def test_compacting_twice_changes_nothing_the_second_time(
    history: tuple[Message, ...], window: int, home: Path
) -> None:
    bench = Bench(home, Summariser(), settings(window, compaction_protect_last_n=4))
    once = asyncio.run(bench.compact(history, keep=frozenset({question_of(history).id})))
    twice = asyncio.run(bench.again(once))
    assert [message.id for message in twice.messages] == [message.id for message in once.messages]
    assert len(summaries(twice.messages)) <= 1


async def test_a_message_may_leave_that_is_sent_as_one_with_its_neighbours(tmp_path: Path) -> None:
    pinned = [user(text).model_copy(update={"pinned": True}) for text in ("请检查日志" * 20, "x" * 900)]
    history = (*pinned, user("## heading\n```\ncode\n" * 5), user("The question: " + "word " * 12))
    found = await fitted(Bench(tmp_path, Summariser(), settings(400)), [], history)
    assert [message.text for message in found.turn.view[2:]] == [CUT_MARKER, history[-1].text]
    assert found.tokens < found.window


async def test_a_long_history_of_tool_use_is_compacted_to_fit(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Summariser(), settings(4096))
    after = await bench.compact(work(60))
    assert after.fits
    assert len(summaries(after.messages)) == 1


async def test_no_request_fits_a_window_so_barely_that_the_estimate_may_be_wrong(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Summariser(""), settings(2048))
    for words in range(52, 64):
        found = await fitted(bench, list(bench.phases.values()), (*talk(15, words=words)[:-1], user("The question: x")))
        assert found.tokens < 2048 * 15 // 16


def state_of(*messages: Message) -> Any:
    return Bench(Path(), Summariser(), settings()).state(messages)


@pytest.mark.parametrize("name", [name for name in ROGUES if name not in {"raise", "lie", "grow"}])
def test_each_harm_is_named(name: str) -> None:
    state = state_of(*work(3))
    after = ROGUES[name](state)
    assert broken_law(state, after.messages)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda m: m[1:], None),
        (lambda m: (m[0], *m[4:]), None),
        (lambda m: m[:-1], "must stay and was dropped"),
        (lambda m: (*m[:1], *m[2:]), "lost its other half"),
        (lambda m: (*m[:2], *m[3:]), "lost its other half"),
        (lambda m: (m[3], *m[1:3], m[0], *m[4:]), "changed their order"),
        (
            lambda m: (*m[:2], m[0].model_copy(update={"id": "n", "source": "kernel"}), *m[2:]),
            "does not follow its call",
        ),
        (lambda m: (m[0].model_copy(update={"role": "system"}), *m[1:]), "changed its role"),
        (lambda m: (*m[:-1], m[-1].model_copy(update={"parts": ()})), "must stay and was changed"),
    ],
    ids=["one-left", "group-left", "input", "call-alone", "result-alone", "order", "between", "role", "input-changed"],
)
def test_a_law_is_broken_by_name(change: Any, problem: str | None) -> None:
    state = state_of(*work(2))
    found = broken_law(state, change(state.messages))
    assert found is None if problem is None else problem in str(found)


def test_a_pending_call_may_not_leave() -> None:
    history = work(2)
    state = state_of(*history[:1], history[1], *history[3:])
    assert "pending tool call `c0` was dropped" in str(broken_law(state, (*state.messages[:1], *state.messages[2:])))


async def test_two_passes_that_free_nothing_are_the_last(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Summariser(""), settings(2048, compaction_max_passes=10))
    after = await bench.compact(talk(40))
    assert len(bench.summariser.asked) == 1
    assert [report.note for report in after.reports if not report.kept] == [
        "MalformedReply: the summary is empty",
        f"InferenceError: not asked for: `{MODEL}` gave no usable summary of it before",
    ]
