"""`bumble gate`: measure how often the completion gate is wrong."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from ..judging import Bench
from ..loop import limits_of
from ..runtime import Runtime
from ..types.budget import Spent
from ..types.events import Event
from ..types.inference import ModelRef
from ..types.turn import GatePolicy
from .assembled import runtime_of
from .entry import configuration
from .error_rates import Group, Judgement, Rate, group, groups
from .labelled import SPLITS, LabelledTurn, context_of, read_set, shipped_set
from .options import Common, common_options, shared_options
from .output import Cell, print_json, print_rows, tell
from .reached import reached
from .turns import ModelName, models_for

_COLUMNS = ("group", "turns", "false_accepts", "false_rejects", "accept_all", "reject_without_work")
_UNASKED = ModelRef(model="none")  # heuristics ask no model
_EVERY = 20  # turns between two lines of progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one call of `bumble gate evaluate` measures."""

    judge: str | None
    model: ModelRef | None
    policy: GatePolicy
    split: str
    folder: Path


@click.group()
@shared_options("config", "home")
def gate() -> None:
    """Measure how often the completion gate is wrong."""


@gate.command("evaluate")
@click.option("--judge", metavar="PLUGIN", help="Judge with this plugin, not with the one that `bumble stages` shows.")
@click.option("--model", "-m", type=ModelName(), help="Have this model judge, `provider:model` or a bare name.")
@click.option(
    "--policy",
    type=click.Choice(["heuristics", "full"]),
    default="full",
    show_default=True,
    help="`heuristics` asks no model.",
)
@click.option(
    "--split", type=click.Choice([*SPLITS, "all"]), default="dev", show_default=True, help="Which part of the set."
)
@click.option("--set", "folder", type=click.Path(path_type=Path, file_okay=False), help="Another set than the shipped.")
@common_options("config", "home", "strict", "json")
def evaluate(
    common: Common,
    judge: str | None,
    model: ModelRef | None,
    policy: GatePolicy,
    split: str,
    folder: Path | None,
) -> None:
    """Judge the labelled turns, and print how often that was wrong.

    A false accept lets a turn end that is not finished, a false reject holds up one that is. Behind each rate stands
    the interval that holds the true one in 95 of 100 cases. `accept all` and `reject without work` are the errors of
    two gates that need no thought.
    """
    wanted = Measured(judge=judge, model=model, policy=policy, split=split, folder=folder or shipped_set())
    turns = read_set(wanted.folder, split)
    judgements = asyncio.run(_measure(_runtime(common, wanted), wanted, turns, quiet=common.as_json))
    if common.as_json:
        print_json(as_json(judgements))
    else:
        _print(judgements)


def _runtime(common: Common, wanted: Measured) -> Runtime:
    """Return a runtime with the wanted judge and the wanted model for it.

    Raises:
        AssemblyError: there is no such plugin, or it judges nothing.
    """
    overrides: dict[str, object] = {}
    if wanted.judge is not None:
        overrides["stages.judge"] = wanted.judge
    if wanted.model is not None:
        overrides["gate.judge_model"] = str(wanted.model)
    return runtime_of(configuration(common, overrides), common, run_jobs=False)


async def _measure(
    runtime: Runtime, wanted: Measured, turns: Sequence[LabelledTurn], *, quiet: bool
) -> tuple[Judgement, ...]:
    async with runtime:
        models = (_UNASKED,) if wanted.policy == "heuristics" else await _models(runtime, wanted)
        if wanted.policy != "heuristics":
            await reached(runtime.parts.meter, models)
        judgements: list[Judgement] = []
        for turn in turns:
            judgements.append(await judged(runtime, turn, models, wanted.policy))
            if not quiet and len(judgements) % _EVERY == 0 and wanted.policy == "full" and sys.stderr.isatty():
                tell(f"{len(judgements)} of {len(turns)} turns judged", err=True)
    return tuple(judgements)


async def judged(runtime: Runtime, turn: LabelledTurn, models: tuple[ModelRef, ...], policy: GatePolicy) -> Judgement:
    """Have the runtime's judge look at one labelled turn, metered and bounded as in a conversation."""
    parts = runtime.parts
    limits = limits_of(parts.settings)
    account = parts.meter.open(turn.id, limits, _unheard)
    try:
        bench = Bench(judge=parts.stages.judge, settings=parts.settings.gate, account=account, emit=_unheard)
        context = await bench.judged(context_of(turn, models, limits, policy))
    finally:
        parts.meter.close(turn.id)
    return Judgement(turn=turn, verdict=context.verdicts[-1])


def as_json(judgements: Sequence[Judgement]) -> dict[str, object]:
    """Return every figure, and each turn whose verdict was wrong."""
    asked = [each.verdict for each in judgements]
    spent = [verdict.spent for verdict in asked if verdict.spent is not None]
    total = sum(spent[1:], spent[0]) if spent else Spent()
    return {
        "turns": len(judgements),
        "agreement": _agreement(judgements).as_dict(),
        "calls": sum(verdict.calls for verdict in asked),
        "calls_per_turn": sum(verdict.calls for verdict in asked) / len(asked),
        "not_judged": sum(bool(verdict.problem) for verdict in asked),
        "spent": total.model_dump(mode="json"),
        "all": _shown(group("all", judgements)),
        "kinds": [_shown(each) for each in groups(judgements, lambda turn: turn.kind)],
        "languages": [_shown(each) for each in groups(judgements, lambda turn: turn.language)],
        "wrong": [
            {"id": each.turn.id, "done": each.turn.done, "verdict": each.verdict.model_dump(mode="json")}
            for each in judgements
            if not each.is_right
        ],
    }


def _print(judgements: Sequence[Judgement]) -> None:
    by_kind = groups(judgements, lambda turn: turn.kind)
    by_language = groups(judgements, lambda turn: turn.language)
    rows = [_row(each) for each in (group("all", judgements), *by_kind, *by_language)]
    print_rows(_COLUMNS, rows)
    verdicts = [each.verdict for each in judgements]
    calls = sum(verdict.calls for verdict in verdicts)
    tell(f"\nagreement: {_readable(_agreement(judgements))}")
    tell(f"judge calls: {calls}, {calls / len(verdicts):.2f} a turn")
    if problems := [verdict.problem for verdict in verdicts if verdict.problem]:
        tell(f"without a clear answer: {len(problems)}, for example: {problems[0]}")


def _row(of: Group) -> tuple[Cell, ...]:
    rates = (of.false_accepts, of.false_rejects, of.accept_all, of.without_work)
    return (of.name, of.turns, *(_readable(rate) for rate in rates[:2]), *(_share(rate) for rate in rates[2:]))


def _readable(rate: Rate) -> str | None:
    if rate.interval is None:
        return None
    low, high = rate.interval
    return f"{rate.count}/{rate.of} {_share(rate)} ({100 * low:.1f} to {100 * high:.1f})"


def _share(rate: Rate) -> str | None:
    return None if rate.value is None else f"{100 * rate.value:.1f} %"


def _shown(of: Group) -> dict[str, object]:
    return {
        "name": of.name,
        "turns": of.turns,
        "false_accepts": of.false_accepts.as_dict(),
        "false_rejects": of.false_rejects.as_dict(),
        "accept_all": of.accept_all.as_dict(),
        "reject_without_work": of.without_work.as_dict(),
    }


def _agreement(judgements: Sequence[Judgement]) -> Rate:
    return Rate(sum(each.is_right for each in judgements), len(judgements))


async def _models(runtime: Runtime, wanted: Measured) -> tuple[ModelRef, ...]:
    """Return the models of the turns: the wanted one, the user's choice, the configured ones, or the first found."""
    found = await models_for(runtime, (wanted.model,) if wanted.model else ())
    return found or runtime.choices.chosen("interactive") or runtime.settings.agent.models


def _unheard(event: Event) -> None:
    """Tell nobody: what a labelled turn does is no event of a conversation."""
