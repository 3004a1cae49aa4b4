"""`bumble chat`: talk with the agent in the terminal."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping

import click

from ..builtin.surfaces import TerminalSurface
from ..errors import BumbleError
from ..ports import Surface
from ..runtime import Runtime
from ..sync_door import LoopThread
from ..turn_handle import TurnHandle
from ..types.base import new_id
from ..types.compaction import Compaction
from ..types.inference import ModelRef
from ..types.turn import GatePolicy, Turn
from . import exit_codes
from .activity import Activity, say
from .assembled import assembled
from .compactions import outcome
from .model_choice import choose, chosen_models
from .options import Common, common_options
from .output import tell
from .turns import conversation_options, ended, models_for, session_for, status_of, surface_for_output
from .typed import Typed, read_text

_HELP = """\
/help            show this
/new             begin a new session
/model           show the models in use and those that can be asked
/model NAME ...  use these from now on, in this order; `default` goes back to the configuration
/model JOB ...   the same for a background job; without a name, show what it uses
/session         show which session this is
/compact         shorten what the model sees of this session; `/compact the garden` keeps all about that
/quit            leave; so does Ctrl-D

A line that ends in \\ goes on in the next one; \"\"\" begins and ends a text of several lines.
Ctrl-C stops the agent's turn. Put a blank before text that begins with a slash."""


@click.command()
@conversation_options
@common_options("config", "home", "strict")
def chat(
    common: Common, session: str | None, continues: bool, models: tuple[ModelRef, ...], gate: GatePolicy | None
) -> int:
    """Talk with the agent in the terminal.

    Each line is a message; `/help` lists what else can be typed. In a pipe each line is a turn, and the exit status
    is 1 when one of them failed.
    """
    surface = surface_for_output()
    terminal = surface if isinstance(surface, TerminalSurface) else None
    activity = Activity(terminal)
    runtime = assembled(common, run_jobs=True, plugins={"activity": activity})
    door = LoopThread(runtime.aclose)
    activity.know(runtime.tools)
    try:
        door.run(runtime.ready())
        name = door.run(session_for(runtime, session, continues=continues))
        return Chat(door, runtime, surface, name, models, gate=gate).talk()
    finally:
        door.stop()


class Chat:
    """One sitting: reads texts, gives them to the agent, and does what a `/command` says."""

    def __init__(
        self,
        door: LoopThread,
        runtime: Runtime,
        surface: Surface,
        session: str,
        models: tuple[ModelRef, ...],
        *,
        gate: GatePolicy | None,
    ) -> None:
        self._door = door
        self._runtime = runtime
        self._session = session
        self._given = models
        self._gate: GatePolicy | None = gate
        self._surface = surface
        self._typed = Typed(runtime.home / "chat_history", runtime.parts.files)
        self._status = exit_codes.FINE
        self._commands: Mapping[str, Callable[[str], None]] = {
            "/help": lambda _: click.echo(_HELP),
            "/new": self._begin_session,
            "/model": self._model,
            "/session": self._show_session,
            "/compact": self._compact,
        }

    def talk(self) -> int:
        """Go on until the person leaves; return the exit status."""
        if self._typed.is_terminal:
            say(f"session {self._session}; /help lists what can be typed")
        while (text := self._next_text()) is not None:
            if text.strip() in {"/quit", "/exit"}:
                break
            try:
                self._handle(text)
            except BumbleError as error:
                tell(f"Error: {error}", err=True)
                self._status = exit_codes.FAILED
        return exit_codes.FINE if self._typed.is_terminal else self._status

    def _next_text(self) -> str | None:
        """Return what was typed, or None when the person leaves: Ctrl-D, or Ctrl-C twice."""
        was_interrupted = False
        while True:
            try:
                return read_text(self._typed.read_line)
            except EOFError:
                if self._typed.is_terminal:
                    click.echo()
                return None
            except KeyboardInterrupt:
                click.echo()
                if was_interrupted:
                    return None
                was_interrupted = True
                say("Ctrl-C again or Ctrl-D leaves")

    def _handle(self, text: str) -> None:
        if not text.strip():
            return
        if text.startswith("/"):
            self._obey(*text.strip().partition(" ")[::2])
        else:
            self._answer(text.strip())

    def _obey(self, command: str, argument: str) -> None:
        known = self._commands.get(command)
        if known is not None:
            try:
                known(argument.strip())
            except KeyboardInterrupt:
                say(f"{command} was stopped")
            return
        near = difflib.get_close_matches(command, [*self._commands, "/quit"], n=1)
        advice = f"did you mean {near[0]}?" if near else "/help lists the commands."
        say(f"no command {command}; {advice} Put a blank before it to send it to the agent.")

    def _answer(self, text: str) -> None:
        """Run a turn; Ctrl-C stops it, and a second one leaves."""
        handle: TurnHandle | None = None
        try:
            handle = self._door.run(self._start(text))
            turn = self._door.run(ended(handle))
        except KeyboardInterrupt:
            if handle is None:
                click.echo("Cancelled.", err=True)
                return
            turn = self._door.run(self._stop(handle))
        if status_of(turn) != exit_codes.FINE:
            self._status = exit_codes.FAILED

    async def _start(self, text: str) -> TurnHandle:
        self._given = await models_for(self._runtime, self._given)
        return self._runtime.start(
            text, session=self._session, surface=self._surface, models=self._given, gate=self._gate
        )

    async def _stop(self, handle: TurnHandle) -> Turn:
        if isinstance(self._surface, TerminalSurface):
            self._surface.break_line()  # what the person has read so far stays on the screen
        handle.cancel()
        return await ended(handle)

    def _begin_session(self, argument: str) -> None:
        self._session = new_id("session")
        say(f"session {self._session}")

    def _show_session(self, argument: str) -> None:
        info = next((each for each in self._door.run(self._runtime.sessions.list()) if each.id == self._session), None)
        tell(f"{self._session}, {info.turn_count if info else 0} turns, in {self._runtime.home}")

    def _compact(self, argument: str) -> None:
        try:
            tell(f"{outcome(self._door.run(self._compacted(argument.strip())))}.")
        except KeyboardInterrupt:
            click.echo("Cancelled.", err=True)

    async def _compacted(self, focus: str) -> Compaction:
        self._given = await models_for(self._runtime, self._given)
        say("summarising this session")
        return await self._runtime.compact(self._session, focus, self._given)

    def _model(self, argument: str) -> None:
        if names := argument.split():
            if names[0] not in self._runtime.parts.execute.specs:
                self._given = ()
            tell(self._door.run(choose(self._runtime, names)))
        else:
            tell(self._door.run(chosen_models(self._runtime, self._given)))
