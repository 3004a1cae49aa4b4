"""The checks of `bumble doctor`: each looks at one thing and says what mends it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from ..errors import AuthenticationError, BumbleError, HomeError, Unreachable
from ..home import open_home
from ..ports import Downloads
from ..runtime import Runtime
from ..types.base import Value
from ..types.inference import ModelRef
from ..types.plugins import PluginReport
from ..types.settings import Settings
from .listing import Listed

_OLDEST_PYTHON = (3, 11)
_LEAST_FREE = 100_000_000  # bytes; a home grows by some MB a month, a model file takes as much as this


class Check(Value):
    """One thing that was looked at. A `note` works without it; `remedy` says what to do."""

    name: str
    state: Literal["fine", "note", "broken"]
    result: str
    remedy: str = ""


def check_python() -> Check:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info[:2] < _OLDEST_PYTHON:
        return Check(name="python", state="broken", result=version, remedy="install Python 3.11 or newer")
    return Check(name="python", state="fine", result=f"{version}, {sys.executable}")


def check_sqlite() -> Check:
    """Try the full-text search that sessions are kept with."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'trigram')")
    except sqlite3.Error as error:
        remedy = "use a Python whose SQLite is 3.34 or newer and has FTS5"
        return Check(name="sqlite", state="broken", result=f"{sqlite3.sqlite_version}: {error}", remedy=remedy)
    finally:
        connection.close()
    return Check(name="sqlite", state="fine", result=f"{sqlite3.sqlite_version} with FTS5")


def check_home(runtime: Runtime) -> Check:
    """Try whether the home can be used; one that does not exist yet is not made."""
    home = runtime.home
    try:
        if home.exists():
            open_home(home, runtime.parts.files)
            return Check(name="home", state="fine", result=str(home))
    except (HomeError, OSError) as error:  # a name that is too long cannot even be looked for
        return Check(name="home", state="broken", result=str(error), remedy="mend the folder, or give --home another")
    above = _existing(home)
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        remedy = "give --home, BUMBLE_HOME or `home:` a folder that can be written"
        return Check(name="home", state="broken", result=f"{home} cannot be made in {above}", remedy=remedy)
    return Check(name="home", state="fine", result=f"{home}, which the first turn makes")


async def check_sessions(runtime: Runtime) -> Check:
    """Try to read the conversations of a home that is there."""
    try:
        found = await runtime.sessions.list()
    except BumbleError as error:
        remedy = "move the damaged file away, or put a copy in its place"
        return Check(name="sessions", state="broken", result=str(error), remedy=remedy)
    return Check(name="sessions", state="fine", result=f"{len(found)} can be read")


def check_disk(home: Path) -> Check:
    above = _existing(home)
    free = shutil.disk_usage(above).free
    said = f"{free / 1e9:.1f} GB free at {above}"
    if free < _LEAST_FREE:
        return Check(name="disk", state="broken", result=said, remedy="free some space, or give --home another disk")
    return Check(name="disk", state="fine", result=said)


def check_plugins(reports: Sequence[PluginReport]) -> list[Check]:
    """Report each plugin that failed; one that only lacks its extra is a note."""
    lacking = [report for report in reports if report.state in ("missing", "failed")]
    loaded = sum(report.state == "loaded" for report in reports)
    fine = Check(name="plugins", state="fine", result=f"{loaded} loaded")
    return [
        fine,
        *(
            Check(
                name=f"plugin {report.name}",
                state="note" if report.state == "missing" else "broken",
                result=report.reason,
                remedy=report.remedy,
            )
            for report in lacking
        ),
    ]


def check_stages(runtime: Runtime) -> Check:
    filled = ", ".join(f"{choice.stage}: {choice.plugin}" for choice in runtime.stages_chosen)
    return Check(name="stages", state="fine", result=filled)


def check_providers(listing: Iterable[Listed], settings: Settings, chosen: Sequence[ModelRef]) -> list[Check]:
    """Report whether each provider answers; one that does not is broken only where a model of it is configured."""
    needed = {model.provider for model in (*configured_models(settings), *chosen)}
    return [_provider(listed, is_needed=listed.provider in needed) for listed in listing]


def check_models(listing: Sequence[Listed], runtime: Runtime) -> list[Check]:
    """Report whether each configured or chosen model is there, or which one is taken where none is configured."""
    wanted = dict.fromkeys((*configured_models(runtime.settings), *runtime.choices.chosen("interactive")))
    if wanted:
        return [_model(model, listing, runtime) for model in wanted]
    offered = [str(info.ref) for listed in listing for info in listed.models if info.is_ready]
    if offered:
        return [Check(name="models", state="fine", result=f"none is configured; found: {', '.join(offered)}")]
    remedy = "set OPENAI_API_KEY, or start Ollama, or run: bumble models pull smollm2"
    return [Check(name="models", state="broken", result="none is configured and none was found", remedy=remedy)]


def configured_models(settings: Settings) -> tuple[ModelRef, ...]:
    jobs = (model for job in settings.jobs.values() for model in job.models)
    return (*settings.agent.models, *settings.agent.cognition.models, *jobs)


def _provider(listed: Listed, *, is_needed: bool) -> Check:
    name = f"provider {listed.provider}"
    if not listed.problem:
        return Check(name=name, state="fine", result=f"answers, models: {len(listed.models)}")
    remedy = f"see the settings of `plugins.{listed.provider}`"
    if isinstance(listed.error, AuthenticationError):
        remedy = "set a key that the server accepts"
    elif isinstance(listed.error, Unreachable):
        remedy = "start the server, or correct its address"
    return Check(name=name, state="broken" if is_needed else "note", result=listed.problem, remedy=remedy)


def _model(model: ModelRef, listing: Sequence[Listed], runtime: Runtime) -> Check:
    name = f"model {model}"
    asked = [listed for listed in listing if model.provider in {None, listed.provider}]
    if not asked:
        known = ", ".join(listed.provider for listed in listing) or "none"
        remedy = f"name one that is there ({known}), or install the plugin that brings it"
        return Check(name=name, state="broken", result=f"there is no provider `{model.provider}`", remedy=remedy)
    found = [info for listed in asked for info in listed.models if info.ref.model == model.model]
    if any(info.is_ready for info in found):
        return Check(name=name, state="fine", result="is there")
    if Path(model.model).expanduser().is_file():
        return Check(name=name, state="fine", result="is a file that is there")
    silent = [listed for listed in asked if listed.problem]
    if silent:
        where = ", ".join(listed.provider for listed in silent)
        return Check(name=name, state="broken", result=f"{where} does not answer", remedy="see the provider above")
    fetches = any(isinstance(runtime.providers[listed.provider], Downloads) for listed in asked)
    remedy = f"bumble models pull {model}" if fetches else "`bumble models` lists what can be asked"
    return Check(name=name, state="broken", result="is not fetched" if found else "no provider lists it", remedy=remedy)


def _existing(path: Path) -> Path:
    return next(each for each in (path, *path.absolute().parents) if os.path.exists(each))  # noqa: PTH110 never raises
