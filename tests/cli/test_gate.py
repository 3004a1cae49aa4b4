"""`bumble gate evaluate`: a labelled set, a judge, and how often it is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bumble_core import assistant
from bumble_core.cli.error_rates import Group, Judgement, Rate, group, groups
from bumble_core.cli.gate import as_json, judged
from bumble_core.cli.labelled import LabelledTurn, context_of, read_set, shipped_set
from bumble_core.errors import RunError
from bumble_core.loop import limits_of
from bumble_core.testing import ScriptedProvider
from bumble_core.types.inference import ModelRef, Request
from bumble_core.types.settings import Settings
from bumble_core.types.turn import GatePolicy
from tests.installed import Installed
from tests.shipped import construct_shipped
from tests.strangers import GROUP

Build = Callable[..., Any]
REF = ModelRef(provider="scripted", model="model")
EVERYTHING = read_set(shipped_set(), "all")
DEV, TEST = read_set(shipped_set(), "dev"), read_set(shipped_set(), "test")
LANGUAGES = sorted({turn.language for turn in EVERYTHING})
TURN: dict[str, Any] = {
    "id": "t", "language": "en", "kind": "chat", "user": "Fix it, please.", "said": [], "closing": "Which one?",
    "finish": "stop", "tools": [], "grounded": False, "done": True,
}  # fmt: skip


def knows(request: Request) -> Any:
    """Answer as the label says."""
    (turn,) = [each for each in EVERYTHING if each.id == request.owner]
    return assistant("DONE: it is" if turn.done else "CONTINUE: it is not")


async def measured(runtime: Build, turns: tuple[LabelledTurn, ...], policy: GatePolicy) -> list[Judgement]:
    plugins = {**construct_shipped("files"), "scripted": ScriptedProvider(asides={"judge": knows})}
    built, _ = runtime(plugins=plugins)
    async with built:
        return [await judged(built, turn, (REF,), policy) for turn in turns]


def turn(**changes: Any) -> LabelledTurn:
    return LabelledTurn.model_validate({**TURN, **changes})


def test_the_set_has_four_hundred_turns_in_ten_languages() -> None:
    assert len(EVERYTHING) >= 400
    assert len(LANGUAGES) == 10
    assert len(TEST) >= 0.3 * len(EVERYTHING)
    assert len({each.id for each in EVERYTHING}) == len(EVERYTHING)


async def test_with_a_perfect_judge_the_gate_makes_no_error(runtime: Build) -> None:
    judgements = await measured(runtime, EVERYTHING, "full")
    assert [(each.turn.id, each.verdict.reason) for each in judgements if not each.is_right] == []
    assert all(each.verdict.calls <= 1 for each in judgements)


async def test_without_a_model_finished_turns_are_let_end(runtime: Build) -> None:
    rates = [group(part, await measured(runtime, turns, "heuristics")) for part, turns in (("d", DEV), ("t", TEST))]
    dev, test = (each.false_rejects.value or 0.0 for each in rates)
    assert (dev <= 0.02, test <= 0.02) == (True, True)  # the figures: docs/reference/gate.md


async def test_without_a_model_all_empty_and_cut_replies_are_refused(runtime: Build) -> None:
    empty = [each for each in TEST if each.finish == "length" or not "".join((*each.said, each.closing)).strip()]
    judgements = await measured(runtime, tuple(empty), "heuristics")
    accepted = sum(each.verdict.done for each in judgements)
    assert (accepted, empty != []) == (0, True)


@pytest.mark.parametrize("kind", ["promise_only", "teased_by_say"])
@pytest.mark.parametrize("part", [DEV, TEST], ids=["dev", "test"])
async def test_without_a_model_most_promises_are_refused_in_each_language(
    runtime: Build, part: tuple[LabelledTurn, ...], kind: str
) -> None:
    judgements = await measured(runtime, tuple(each for each in part if each.kind == kind), "heuristics")
    accepted = {each.name: each.false_accepts.value for each in groups(judgements, lambda turn: turn.language)}
    assert {name: rate for name, rate in accepted.items() if rate is None or rate > 0.4} == {}
    assert sorted(accepted) == LANGUAGES


@pytest.mark.parametrize(
    "text",
    ["Good morning! How are you?", "Спасибо!", "谢谢", "😂👍", "ありがとうございます！", "شكراً", "धन्यवाद", "jajaja"],
)
@pytest.mark.parametrize(
    "how", [{"closing": "🐝 Hello to you."}, {"closing": "", "said": ["Hello."], "finish": "end_turn"}]
)
async def test_a_greeting_or_a_reaction_costs_no_call(runtime: Build, text: str, how: Any) -> None:
    (judgement,) = await measured(runtime, (turn(user=text, **how),), "full")
    assert (judgement.verdict.done, judgement.verdict.calls) == (True, 0)


def test_a_labelled_turn_becomes_the_turn_that_a_judge_sees() -> None:
    ran = [{"name": "read_file", "failed": False, "preview": "a"}, {"name": "send", "failed": True, "preview": "b"}]
    labelled = turn(
        said=["I look."], closing="It is red.", finish="end_turn", tools=ran, grounded=True,
        history=[{"role": "user", "text": "Hello"}, {"role": "assistant", "text": "Hi"}],
    )  # fmt: skip
    context = context_of(labelled, (REF,), limits_of(Settings()), "full")
    assert (context.visible_text, context.end_requested, context.route.grounded) == ("I look.\nIt is red.", True, True)
    assert [(each.tool, each.status, each.text) for each in context.previews] == [
        ("read_file", "ok", "a"), ("send", "error", "b")
    ]  # fmt: skip
    assert [message.text for message in context.input.history] == ["Hello", "Hi"]


def test_a_reply_that_was_cut_says_so() -> None:
    context = context_of(turn(finish="length"), (REF,), limits_of(Settings()), "full")
    assert context.last is not None
    assert context.last.finish == "length"


@pytest.mark.parametrize(
    ("count", "of", "low", "high"), [(0, 10, 0.0, 0.2775), (3, 10, 0.1078, 0.6032), (10, 10, 0.7225, 1.0)]
)
def test_an_interval_is_wilsons(count: int, of: int, low: float, high: float) -> None:
    assert Rate(count, of).interval == (pytest.approx(low, abs=1e-4), pytest.approx(high, abs=1e-4))


def test_of_nothing_there_is_no_rate() -> None:
    assert (Rate(0, 0).value, Rate(0, 0).interval) == (None, None)


async def test_groups_count_errors_beside_two_gates_without_thought(runtime: Build) -> None:
    worked = [{"name": "send", "failed": False, "preview": "sent"}]
    turns = (
        turn(user="Thanks!", closing="Sure."),
        turn(kind="cut_off", closing="", done=False),
        turn(kind="done_by_tools", closing="The letter was sent to your aunt.", tools=worked),
        turn(kind="false_claim", closing="The letter was sent to your aunt.", done=False),
    )
    judgements = await measured(runtime, turns, "heuristics")
    assert group("all", judgements) == Group(
        name="all", turns=4, false_accepts=Rate(1, 2), false_rejects=Rate(0, 2), accept_all=Rate(2, 4),
        without_work=Rate(1, 4),
    )  # fmt: skip
    assert [each.name for each in groups(judgements, lambda each: each.kind)] == [
        "chat", "cut_off", "done_by_tools", "false_claim"
    ]  # fmt: skip
    assert as_json(judgements)["calls_per_turn"] == 0


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "no labelled turns; a set is a folder with"),
        ('{"id": "a"}', "a.jsonl:1: language: Field required"),
        ("no", "a.jsonl:1: Invalid JSON"),
        (json.dumps({**TURN, "finish": "later"}), "a.jsonl:1: finish: Input should be"),
    ],
    ids=["empty", "fields", "json", "value"],
)
def test_a_set_that_cannot_be_read_says_where(tmp_path: Path, lines: str, said: str) -> None:
    tmp_path.joinpath("a.jsonl").write_text(lines)
    with pytest.raises(RunError, match=said.replace("[", "\\[")):
        read_set(tmp_path, "all")


def test_the_command_prints_rates_by_kind_and_language(installed: Installed) -> None:
    done = installed.bumble("gate", "evaluate", "--policy", "heuristics", "--split", "dev")
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert " ".join(lines[0].split()) == "GROUP TURNS FALSE ACCEPTS FALSE REJECTS ACCEPT ALL REJECT WITHOUT WORK"
    assert {line.split()[0] for line in lines if line} > {"all", "promise_only", "chat", "en", "zh", "agreement:"}
    assert "judge calls: 0, 0.00 a turn" in done.out


STRICT = """
from bumble_core import hookimpl
from bumble_core.types.turn import Verdict

class Strict:
    async def judge(self, turn):
        return Verdict(done=bool(turn.work_results), decided_by="heuristic", reason="work, or nothing")

class Plugin:
    def __init__(self, config): ...
    @hookimpl
    def bumble_judge(self):
        return Strict()
"""


def test_anybodys_judge_is_scored_on_anybodys_set(installed: Installed, tmp_path: Path) -> None:
    installed.add("bumble-strict", "1.0", {GROUP: {"strict": "bumble_strict:Plugin"}}, bumble_strict=STRICT)
    tmp_path.joinpath("mine.jsonl").write_text("\n".join(json.dumps({**TURN, "id": name}) for name in "ab"))
    options = ("--judge", "strict", "--set", str(tmp_path), "--policy", "heuristics", "--json")
    done = installed.bumble("gate", "evaluate", *options)
    assert (done.status, done.err) == (0, "")
    told = json.loads(done.out)
    assert (told["turns"], told["agreement"]["count"], told["all"]["false_rejects"]["rate"]) == (2, 0, 1.0)
    assert [each["id"] for each in told["wrong"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--judge", "nobody", "--policy", "heuristics"), "stages.judge"),
        (("--set", "nowhere"), "no labelled turns"),
        (("--model", "nobody:wise"), "nobody"),
    ],
)
def test_what_cannot_be_measured_is_one_line(installed: Installed, options: tuple[str, ...], said: str) -> None:
    done = installed.bumble("gate", "evaluate", *options)
    assert done.status != 0
    assert said in done.err
    assert "Traceback" not in done.err
