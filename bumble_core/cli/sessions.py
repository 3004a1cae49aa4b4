"""`bumble sessions`: list, show, compact, search, export, import and delete conversations."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import BinaryIO, Literal, TypeVar

import click

from ..errors import RunError, SessionBusy
from ..ports import Sessions
from ..printable import one_line, printable
from ..runtime import Runtime
from ..types.compaction import Compaction
from ..types.turn import Turn
from .activity import say
from .archive import read_turns, to_lines, write_whole
from .assembled import assembled
from .compactions import outcome
from .options import Common, common_options, shared_options
from .output import print_json, print_rows, tell
from .session_names import RULE, checked_name, is_speakable
from .transcript import Conversation, as_markdown, as_text
from .turns import latest_session, models_for

T = TypeVar("T")

_WAIT_S = 2.0  # for a session in which somebody speaks
_INFO = ("id", "updated", "turns", "title")
_HIT = ("session_id", "turn_id", "at", "role", "excerpt")


@click.group()
@shared_options("config", "home")
def sessions() -> None:
    """List, show, compact, search, export or delete conversations."""


@sessions.command("list")
@common_options("config", "home", "json")
def list_(common: Common) -> None:
    """List the sessions, the latest first."""
    found = _with(common, lambda runtime: runtime.sessions.list())
    found = tuple(sorted(found, key=lambda info: info.updated, reverse=True))
    if common.as_json:
        print_json([info.model_dump(mode="json") for info in found])
    else:
        rows = [(info.id, f"{info.updated.astimezone():%Y-%m-%d %H:%M}", info.turn_count, info.title) for info in found]
        print_rows(_INFO, rows, empty="There are no sessions yet.")


@sessions.command("show")
@click.argument("session", metavar="[ID]", required=False)
@click.option("--full", is_flag=True, help="Show thoughts, tool results and text that was not shown, too.")
@click.option("--verdicts", is_flag=True, help="Show why each turn ended: who decided, on what, at what cost.")
@common_options("config", "home", "json")
def show_(common: Common, session: str | None, full: bool, verdicts: bool) -> None:
    """Print a conversation, the latest without an ID; turns that did not end well are marked."""
    conversation = _with(common, lambda runtime: _conversation(runtime, session))
    if common.as_json:
        print_json([turn.model_dump(mode="json") for turn in conversation.turns])
    else:
        text = as_text(conversation, full=full, verdicts=verdicts)
        click.echo(printable(text) if sys.stdout.isatty() else text)


@sessions.command("compact")
@click.argument("session", metavar="ID")
@click.option("--focus", default="", metavar="TEXT", help="Keep everything about this.")
@common_options("config", "home", "json")
def compact_(common: Common, session: str, focus: str) -> None:
    """Shorten what the model sees of a conversation; the log stays whole."""

    async def work(runtime: Runtime) -> Compaction:
        await _existing(runtime.sessions, session)
        say(f"summarising {session}")
        return await runtime.compact(session, focus, await models_for(runtime, ()), _WAIT_S)

    done = _with(common, work)
    if common.as_json:
        print_json(done.model_dump(mode="json"))
    else:
        tell(f"{outcome(done)}.")


@sessions.command("search")
@click.argument("text")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Show at most so many.")
@common_options("config", "home", "json")
def search(common: Common, text: str, limit: int) -> None:
    """Find messages that hold TEXT, in any case."""
    hits = _with(common, lambda runtime: runtime.sessions.search(text, limit=limit))
    if common.as_json:
        print_json([hit.model_dump(mode="json") for hit in hits])
    else:
        rows = [
            (hit.session_id, hit.turn_id, f"{hit.at.astimezone():%Y-%m-%d %H:%M}", hit.role, hit.excerpt)
            for hit in hits
        ]
        print_rows(_HIT, rows, empty=f"Nothing holds {text!r}.")


@sessions.command("delete")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@common_options("config", "home")
def delete(common: Common, ids: tuple[str, ...], yes: bool) -> None:
    """Delete sessions with all that was said in them."""
    ids = tuple(dict.fromkeys(ids))

    async def drop(runtime: Runtime) -> None:
        for id in ids:
            await _existing(runtime.sessions, id)
        for id in ids:
            async with runtime.sessions.open(id, _WAIT_S):
                turns = await runtime.sessions.delete(id)
            tell(f"Deleted {id}, {turns} turns.")

    if not yes:
        click.confirm(printable(f"Delete {', '.join(ids)} for good?"), abort=True, err=True)
    _with(common, drop)


@sessions.command("export")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--format", "style", type=click.Choice(["jsonl", "markdown"]), default="jsonl", show_default=True)
@click.option("--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="Write to this file.")
@common_options("config", "home")
def export(common: Common, ids: tuple[str, ...], style: Literal["jsonl", "markdown"], output: Path | None) -> None:
    """Write sessions to standard output or to a file: JSON, one turn per line, or Markdown to read."""

    async def every(runtime: Runtime) -> list[Conversation]:
        return [await _conversation(runtime, id) for id in dict.fromkeys(ids)]

    found = _with(common, every)
    if style == "jsonl":
        text = "".join(to_lines(conversation.turns) for conversation in found)
    else:
        text = "\n".join(as_markdown(conversation) for conversation in found)
    if output is None or str(output) == "-":
        sys.stdout.buffer.write(text.encode())
    else:
        write_whole(output, text)


@sessions.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--as", "name", metavar="NAME", callback=checked_name, help="Give the session this name.")
@click.option("--replace", is_flag=True, help="Delete a session of the same name first.")
@common_options("config", "home")
def import_(common: Common, file: BinaryIO, name: str | None, replace: bool) -> None:
    """Read sessions that were exported as JSON; nothing is written unless every line is sound."""
    found = read_turns(file.read(), file.name)
    if name is not None:
        if len(found) > 1:
            raise click.UsageError(f"--as names one session and {file.name} holds {len(found)}")
        found = {name: next(iter(found.values()))}
    for id in found:
        if not is_speakable(id):
            raise RunError(f"{file.name}: {RULE}, and {one_line(id, 40)!r} is none; give it another with --as NAME")

    async def restore(runtime: Runtime) -> None:
        taken = {info.id for info in await runtime.sessions.list()}.intersection(found)
        if taken and not replace:
            raise RunError(f"there is a session `{min(taken)}` already; add --replace, or --as NAME for another name")
        for id, turns in found.items():
            await _whole(_restore(runtime.sessions, id, turns))
            tell(f"Imported {id}, {len(turns)} turns.")

    _with(common, restore)


def _with(common: Common, work: Callable[[Runtime], Awaitable[T]]) -> T:
    async def run() -> T:
        async with assembled(common, run_jobs=False) as runtime:
            return await work(runtime)

    return asyncio.run(run())


async def _restore(sessions: Sessions, id: str, turns: tuple[Turn, ...]) -> None:
    async with sessions.open(id, _WAIT_S):
        await sessions.delete(id)
        await sessions.restore(id, turns)


async def _whole(work: Coroutine[object, object, None]) -> None:
    """Finish `work` even after Ctrl-C, which then takes effect: nothing is deleted and not replaced."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


async def _conversation(runtime: Runtime, named: str | None) -> Conversation:
    """Return a session, by default the latest, after closing those that a dead process left open.

    Raises:
        RunError: there is no such session.
    """
    sessions = runtime.sessions
    id = named or await latest_session(sessions)
    if id is None:
        raise RunError("there are no sessions yet")
    with contextlib.suppress(SessionBusy):  # somebody speaks in it: what is finished can be read all the same
        async with sessions.open(id, 0):
            pass
    turns = await sessions.turns(session_id=id)
    if not turns:
        await _existing(sessions, id)
    return Conversation(session=id, agent=runtime.settings.agent.name, turns=turns)


async def _existing(sessions: Sessions, id: str) -> None:
    known = [info.id for info in await sessions.list()]
    if id in known:
        return
    near = difflib.get_close_matches(id, known, n=1)
    advice = f"did you mean `{near[0]}`?" if near else "`bumble sessions list` lists them"
    raise RunError(f"no session `{id}`; {advice}")
