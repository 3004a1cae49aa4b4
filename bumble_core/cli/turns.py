"""What `bumble run` and `bumble chat` share: their options, and waiting for a turn."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, Final, TextIO, TypeVar

import click
from typing_extensions import override

from ..builtin.surfaces import PlainSurface, TerminalSurface
from ..errors import RunError
from ..ports import Sessions, Surface
from ..runtime import Runtime
from ..turn_handle import TurnHandle
from ..types.base import new_id
from ..types.inference import ModelRef
from ..types.turn import Turn
from . import exit_codes
from .activity import say
from .first_model import ADVICE, first_model
from .output import tell
from .session_names import checked_name

Command = TypeVar("Command", bound=Callable[..., Any])

_STATUSES: Final = {"done": exit_codes.FINE, "cancelled": exit_codes.INTERRUPTED}


class ModelName(click.ParamType[ModelRef]):
    """`provider:model` or a bare name."""

    name = "MODEL"

    @override
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ModelRef:
        try:
            return value if isinstance(value, ModelRef) else ModelRef.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def conversation_options(function: Command) -> Command:
    """Add `--session`, `--continue`, `--model` and `--gate`, passed as `session`, `continues`, `models` and `gate`."""
    for option in (
        click.option("--gate", type=click.Choice(["off", "heuristics", "full"]), help=_GATE_HELP),
        click.option("--model", "-m", "models", type=ModelName(), multiple=True, help=_MODEL_HELP),
        click.option("--continue", "-c", "continues", is_flag=True, help="Go on with the latest session."),
        click.option(
            "--session", "-s", metavar="NAME", callback=checked_name, help="Go on with this session, or begin it."
        ),
    ):
        function = option(function)
    return function


async def session_for(runtime: Runtime, session: str | None, *, continues: bool) -> str:
    """Return the session to speak in: the named one, the latest, or a new one.

    Raises:
        RunError: there is none to go on with.
    """
    if not continues:
        return session or new_id("session")
    if session:
        raise click.UsageError("`--session` and `--continue` exclude each other")
    latest = await latest_session(runtime.sessions)
    if latest is None:
        raise RunError("there is no session to go on with yet; leave out --continue")
    return latest


async def latest_session(sessions: Sessions) -> str | None:
    """Return the id of the session that was last spoken in, if there is one."""
    found = max(await sessions.list(), key=lambda info: info.updated, default=None)
    return None if found is None else found.id


async def models_for(runtime: Runtime, given: tuple[ModelRef, ...], *, quiet: bool = False) -> tuple[ModelRef, ...]:
    """Return the models to ask for, or none where a choice or the configuration names them.

    Raises:
        RunError: none is configured and none was found.
    """
    if given or runtime.choices.chosen("interactive") or runtime.settings.agent.models:
        return given
    found = await first_model(runtime.providers)
    if found is None:
        raise RunError(ADVICE)
    if not quiet:
        say(f"using {found}, the first model found: none is configured")
    return (found,)


def surface_for_output(output: TextIO | None = None) -> Surface:
    """Return the surface that suits a stream, or standard output."""
    is_terminal = (output or sys.stdout).isatty()
    return TerminalSurface(output=output) if is_terminal else PlainSurface(output)


async def ended(handle: TurnHandle) -> Turn:
    """Wait until the turn has ended, however it ends; giving the wait up does not stop the turn."""
    async with aclosing(handle.events()) as events:
        async for _ in events:
            pass
    return await handle.result()


def status_of(turn: Turn) -> int:
    """Say on standard error why a turn did not end well, and return the exit status that it stands for."""
    if turn.status == "cancelled":
        click.echo("Cancelled.", err=True)
    elif turn.status != "done":
        tell(f"Error: {turn.error or turn.status}", err=True)
    return _STATUSES.get(turn.status, exit_codes.FAILED)


_GATE_HELP = "How it is judged whether an answer may end; unset: as the configuration says."
_MODEL_HELP = "Ask this model, `provider:model` or a bare name; give it again for the one to try next."
