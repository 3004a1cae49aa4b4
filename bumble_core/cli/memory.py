"""`bumble memory`: list, show, edit and compare the files of the agent's memory."""

from __future__ import annotations

import asyncio
import difflib
import sys
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from ..errors import ContractError, DocumentError, RunError, VersionConflict
from ..merging import merged
from ..ports import Documents
from ..printable import printable
from ..runtime import Runtime
from ..types.documents import ABSENT, Document
from .assembled import assembled
from .options import Common, common_options, shared_options
from .output import print_json, print_rows, tell

T = TypeVar("T")

_FILES = ("path", "characters", "earlier_texts")
_VERSIONS = ("version", "until", "written_by", "characters")
_SHORT = 12  # characters of a version that people are shown
_LEAST = 4  # characters of one that they have to write
_TRIES = 5
_RUNS = 500  # newest runs among which the writer of a version is looked for


@click.group()
@shared_options("config", "home")
def memory() -> None:
    """List, show, edit or compare what the agent remembers."""


@memory.command("list")
@common_options("config", "home", "json")
def list_(common: Common) -> None:
    """List the files, with how many of their earlier texts are kept."""

    async def look(runtime: Runtime) -> list[tuple[str, int | None, int]]:
        documents = runtime.documents
        return [
            (path, await _length(documents, path), len(await documents.versions(path)))
            for path in await documents.list()
        ]

    print_rows(_FILES, _with(common, look), as_json=common.as_json, empty="The agent remembers nothing yet.")


@memory.command("show")
@click.argument("path")
@click.argument("text", metavar="[VERSION]", required=False)
@common_options("config", "home", "json")
def show(common: Common, path: str, text: str | None) -> None:
    """Print a file as it is, or as it was in a VERSION that `history` lists."""

    async def look(runtime: Runtime) -> Document:
        name = await _known(runtime.documents, path)
        return await _at(runtime.documents, name, text) if text else await runtime.documents.read(name)

    document = _with(common, look)
    if common.as_json:
        print_json(document.model_dump(mode="json"))
    else:
        shown = printable(document.text) if sys.stdout.isatty() else document.text
        click.echo(shown, nl=False)


@memory.command("edit")
@click.argument("path")
@common_options("config", "home")
def edit(common: Common, path: str) -> None:
    """Change a file in your editor ($VISUAL or $EDITOR), or begin it.

    What a job writes meanwhile is merged; where both changed the same lines, yours stand.
    """

    async def change(runtime: Runtime) -> str:
        documents, name = runtime.documents, _plain(path)
        before = await documents.read(name)
        text = await asyncio.to_thread(click.edit, before.text, extension=".md", require_save=True)
        if text is None or text == before.text:
            return f"{name} is as it was."
        for _ in range(_TRIES):
            now = await documents.read(name)
            mine = text if now.version == before.version else merged(before.text, text, now.text)
            try:
                await documents.write(name, mine, now.version)
            except VersionConflict:
                continue
            return f"Wrote {name}." if mine == text else f"Wrote {name}, with what a job wrote meanwhile."
        raise RunError(f"`{name}` is being written all the time; try again")

    tell(_with(common, change))


@memory.command("diff")
@click.argument("path")
@click.argument("old", metavar="[OLD]", required=False)
@click.argument("new", metavar="[NEW]", required=False)
@common_options("config", "home", "json")
def diff(common: Common, path: str, old: str | None, new: str | None) -> None:
    """Show what changed from the version OLD to NEW: by default from the text before this one to this one."""

    async def look(runtime: Runtime) -> tuple[Document, Document]:
        documents = runtime.documents
        name = await _known(documents, path)
        versions = await documents.versions(name)
        after = await _at(documents, name, new) if new else await documents.read(name)
        if old or versions:
            return await _at(documents, name, old or versions[0].version), after
        return Document(path=name, text="", version=ABSENT), after

    before, after = _with(common, look)
    lines = difflib.unified_diff(
        before.text.splitlines(), after.text.splitlines(), _label(before), _label(after), lineterm=""
    )
    text = "\n".join(lines)
    if common.as_json:
        print_json({"path": after.path, "old": before.version, "new": after.version, "diff": text})
    else:
        tell(text or f"{after.path} is the same in both.")


@memory.command("history")
@click.argument("path")
@common_options("config", "home", "json")
def history(common: Common, path: str) -> None:
    """List the texts that a file has had, the newest first, and which run wrote each."""

    async def look(runtime: Runtime) -> list[tuple[str, str | None, str | None, int]]:
        documents = runtime.documents
        name = await _known(documents, path)
        runs = await runtime.ledger.runs(limit=_RUNS)
        changes = [(each, run) for run in reversed(runs) for each in run.changes if each.path == name]
        by = {each.after: f"{run.job} {run.id}" for each, run in changes}
        now = await documents.read(name)
        texts: list[tuple[Document, str | None]] = [] if now.version == ABSENT else [(now, None)]
        kept = await documents.versions(name)
        texts += [(await documents.read_version(name, each.version), each.saved_at) for each in kept]
        return [(text.version, until, by.get(text.version), len(text.text)) for text, until in texts]

    rows = _with(common, look)
    if not common.as_json:
        rows = [(version[:_SHORT], until and until[:19], by, size) for version, until, by, size in rows]
    print_rows(_VERSIONS, rows, as_json=common.as_json, empty="It has had no text yet.")


def _with(common: Common, action: Callable[[Runtime], Awaitable[T]]) -> T:
    async def run() -> T:
        async with assembled(common, run_jobs=False) as runtime:
            return await action(runtime)

    return asyncio.run(run())


async def _length(documents: Documents, path: str) -> int | None:
    """Return how many characters a file has; None for one that is no text."""
    try:
        return len((await documents.read(path)).text)
    except DocumentError:
        return None


def _plain(path: str) -> str:
    """Return a path below the memory folder, as people write it, as the store wants it."""
    return path.removeprefix("/").removeprefix("memory/")


async def _known(documents: Documents, path: str) -> str:
    """Return the path of a file that is there, or of which earlier texts are kept.

    Raises:
        RunError: there is none; the message names a near one.
    """
    name = _plain(path)
    try:
        if (await documents.read(name)).version != ABSENT or await documents.versions(name):
            return name
    except ContractError as error:
        raise RunError(str(error)) from error
    near = difflib.get_close_matches(name, await documents.list(), n=1, cutoff=0.4)
    advice = f"did you mean `{near[0]}`?" if near else "`bumble memory list` shows what there is"
    raise RunError(f"the memory has no `{name}`; {advice}")


async def _at(documents: Documents, path: str, version: str) -> Document:
    """Return a text by its version, of which the beginning is enough.

    Raises:
        RunError: none or several begin so.
    """
    now = await documents.read(path)
    all_of_it = dict.fromkeys([now.version, *(each.version for each in await documents.versions(path))])
    found = [each for each in all_of_it if each.startswith(version)] if len(version) >= _LEAST else []
    if len(found) != 1:
        several = f"{len(found)} begin so" if found else "no such version is kept"
        raise RunError(f"`{path}`: `{version}`: {several}; `bumble memory history {path}` lists them")
    return now if found[0] == now.version else await documents.read_version(path, found[0])


def _label(document: Document) -> str:
    return f"{document.path} {document.version[:_SHORT]}"
