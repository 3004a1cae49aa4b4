"""`bumble route`: explain how a message is routed, and measure how often that is right."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click
from typing_extensions import override

from ..loop import limits_of
from ..ports import Explaining
from ..routing import default_route, routed
from ..runtime import Runtime
from ..types.events import Event
from ..types.inference import ModelRef
from ..types.messages import user
from ..types.turn import Explanation, Label, Sign, TurnContext, TurnInput
from .assembled import runtime_of
from .entry import configuration
from .labelled_messages import SPLITS, LabelledMessage, read_messages, shipped_messages
from .options import Common, common_options, shared_options
from .output import Cell, print_json, print_rows, tell
from .reached import reached
from .route_figures import Decision, Figures, baselines, figures, grouped
from .turns import ModelName

_UNASKED = ModelRef(model="none")
LABELS: Final[tuple[Label, ...]] = ("CHAT", "GROUNDED", "EXACT", "DEEP")
_COLUMNS = ("group", "messages", "accuracy", "label", "reflex_recall", "deliberate_recall", "without_a_model", "cost")
_EVERY = 20  # messages between two lines of progress


class _TextOrCommand(click.Group):
    """What names no command of the group is a text to explain."""

    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        has_text = any(not each.startswith("-") for each in args)
        is_text = has_text and not any(each in self.commands for each in args)
        return super().parse_args(ctx, ["explain", *args] if is_text else args)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """Which models the router may ask; with none, a classifier is switched off."""

    common: Common
    model: ModelRef | None

    def runtime(self) -> Runtime:
        overrides: dict[str, object] = {"plugins.router.classifier": self.model is not None}
        if self.model is not None:
            overrides["plugins.router.classifier_models"] = [str(self.model)]
        return runtime_of(configuration(self.common, overrides), self.common, run_jobs=False)


_model = click.option("--model", "-m", type=ModelName(), help="Have this model classify what is not certain.")


@click.group(cls=_TextOrCommand)
@shared_options("config", "home", "strict", "json")
def route() -> None:
    """Explain how a message is routed, or measure the router.

    `bumble route "text"` explains, `bumble route evaluate` measures. Without `--model` neither asks a model.
    """


@route.command("explain")
@click.argument("text")
@_model
@common_options("config", "home", "strict", "json")
def explain(common: Common, text: str, model: ModelRef | None) -> None:
    """Show the route of one message and every sign that led to it."""
    message = LabelledMessage(id="message", language="", label="CHAT", text=text)
    decision = asyncio.run(_explained(_Asked(common=common, model=model).runtime(), message, model))
    chosen, explanation = decision.route, decision.explanation or Explanation()
    if common.as_json:
        print_json({"route": chosen.model_dump(mode="json"), "explanation": explanation.model_dump(mode="json")})
        return
    told = f"{chosen.profile.name}, at most {chosen.profile.max_tokens} tokens"
    tell(f"{told}: {chosen.label or 'no label'}, confidence {chosen.confidence:.2f}, by {chosen.decided_by}")
    tell(chosen.reason)
    if explanation.signs:
        click.echo()
        rows = [(sign.name, sign.seen, *(_added(sign, label) for label in LABELS)) for sign in explanation.signs]
        shares = [_percent(explanation.shares.get(label)) for label in LABELS]
        print_rows(("sign", "seen", *LABELS), [*rows, ("share", "", *shares)])


@route.command("evaluate")
@_model
@click.option(
    "--split", type=click.Choice([*SPLITS, "all"]), default="dev", show_default=True, help="Which part of the set."
)
@click.option("--set", "folder", type=click.Path(path_type=Path, file_okay=False), help="Another set than the shipped.")
@common_options("config", "home", "strict", "json")
def evaluate(common: Common, model: ModelRef | None, split: str, folder: Path | None) -> None:
    """Route the labelled messages, and print how often that was right.

    `accuracy` is of the profile, `label` of the kind of answer. `without a model` is the share of which the router was
    certain by itself. `cost` is the longest reply that the routes allow, against always deliberating.
    """
    messages = read_messages(folder or shipped_messages(), split)
    runtime = _Asked(common=common, model=model).runtime()
    decisions = asyncio.run(_decided(runtime, messages, model, quiet=common.as_json))
    cognition = runtime.settings.cognition
    lines = [figures("all", decisions, cognition)]
    for groups in (
        grouped(decisions, lambda message: message.language),
        grouped(decisions, lambda message: message.label),
    ):
        lines += [figures(name, some, cognition) for name, some in groups.items()]
    beside = baselines(messages, cognition)
    if common.as_json:
        print_json(_as_json(decisions, lines, beside))
    else:
        print_rows(_COLUMNS, [_row(each) for each in (*lines, *beside)])


async def _explained(runtime: Runtime, message: LabelledMessage, model: ModelRef | None) -> Decision:
    async with runtime:
        return await _routed(runtime, message, model)


async def _decided(
    runtime: Runtime, messages: Sequence[LabelledMessage], model: ModelRef | None, *, quiet: bool
) -> list[Decision]:
    decisions: list[Decision] = []
    async with runtime:
        if model is not None:
            await reached(runtime.parts.meter, (model,))
        for message in messages:
            decisions.append(await _routed(runtime, message, model))
            if model and not quiet and len(decisions) % _EVERY == 0 and sys.stderr.isatty():
                tell(f"{len(decisions)} of {len(messages)} messages routed", err=True)
    return decisions


async def _routed(runtime: Runtime, message: LabelledMessage, model: ModelRef | None) -> Decision:
    """Route one message as the first of a session, metered and bounded as in a conversation."""
    parts = runtime.parts
    stages, settings = parts.stages, parts.settings
    input = TurnInput(
        id=f"route_{message.id}",
        session_id="labelled",
        message=user(message.text),
        models=(model or _UNASKED,),
        started=datetime.now(UTC),
    )
    limits = limits_of(settings)
    account = parts.meter.open(input.id, limits, _unheard)
    try:
        turn = TurnContext.begin(input, default_route(input, settings), limits)
        turn = await routed(turn, stages.router, stages.signals, settings)
    finally:
        parts.meter.close(input.id)
    explanation = stages.router.explain(turn.input) if isinstance(stages.router, Explaining) else None
    calls = sum(account.calls.values())
    return Decision(message=message, route=turn.route, calls=calls, explanation=explanation)


def _as_json(decisions: Sequence[Decision], lines: Sequence[Figures], beside: Sequence[Figures]) -> dict[str, Any]:
    """Return every figure, and each message whose profile was wrong."""
    wrong = [each for each in decisions if not each.is_right]
    return {
        "groups": [asdict(each) for each in lines],
        "baselines": [asdict(each) for each in beside],
        "wrong": [{"id": each.message.id, "label": each.message.label, "reason": each.route.reason} for each in wrong],
    }


def _row(line: Figures) -> tuple[Cell, ...]:
    shares = (line.accuracy, line.label_accuracy, line.reflex_recall, line.deliberate_recall, line.without_a_model)
    return (line.group, line.messages, *map(_percent, (*shares, line.cost)))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _added(sign: Sign, label: Label) -> str:
    added = sign.adds.get(label, 0.0)
    return f"{added:+.1f}" if added else ""


def _unheard(event: Event) -> None: ...
