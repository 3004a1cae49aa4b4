"""`bumble models`: list what can be asked, and fetch a model."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from contextlib import AbstractContextManager

import click

from ..deferred import Deferred
from ..errors import ModelMissing
from ..ports import Downloads, Report
from ..printable import one_line
from ..runtime import Runtime
from ..types.inference import ModelRef
from .assembled import assembled
from .listing import Listed, list_models
from .model_choice import models_in_use, switch_models
from .options import Common, common_options
from .output import print_json, print_rows, tell
from .probe import probe
from .turns import ModelName

_COLUMNS = ("model", "context_window", "size", "default", "note")
_PROBLEM_WIDTH = 300

_bar = Deferred("bumble_core.cli.progress:Bar")


@click.group(invoke_without_command=True)
@click.pass_context
@common_options("config", "home", "json")
def models(common: Common, context: click.Context) -> None:
    """List the models that can be asked, or fetch one.

    Without a command it lists.
    """
    if context.invoked_subcommand is None:
        _print_models(common)


models.add_command(probe)


@models.command("list")
@common_options("config", "home", "json")
def list_(common: Common) -> None:
    """List every provider's models, and say which provider does not answer and why."""
    _print_models(common)


@models.command("pull")
@click.argument("name", type=ModelName(), metavar="NAME")
@common_options("config", "home")
def pull(common: Common, name: ModelRef) -> None:
    """Fetch the model NAME: `provider:model`, or the name alone where one provider can fetch it."""
    tell(f"{asyncio.run(_pull(common, name))} is ready.")


@models.command("providers")
@common_options("config", "home", "json")
def providers_(common: Common) -> None:
    """List the providers: how many models each offers, or why it does not answer."""

    async def ask() -> tuple[Listed, ...]:
        async with assembled(common, run_jobs=False) as runtime:
            return await list_models(runtime.providers)

    rows = [(each.provider, len(each.models), each.problem or None) for each in asyncio.run(ask())]
    print_rows(("provider", "models", "problem"), rows, as_json=common.as_json, empty="No provider is installed.")


@models.command("chosen")
@common_options("config", "home", "json")
def chosen(common: Common) -> None:
    """Show which models the conversation and each background job ask, in their order, and who named them."""

    async def look() -> list[tuple[str, list[str], str]]:
        async with assembled(common, run_jobs=False) as runtime:
            return models_in_use(runtime)

    print_rows(("role", "models", "from"), asyncio.run(look()), as_json=common.as_json)


@models.command("switch")
@click.argument("names", type=ModelName(), metavar="MODEL...", nargs=-1)
@click.option("--job", metavar="JOB", help="Switch the models of this background job, not those of the conversation.")
@click.option("--default", "is_default", is_flag=True, help="Go back to the configuration.")
@common_options("config", "home")
def switch(common: Common, names: tuple[ModelRef, ...], job: str | None, is_default: bool) -> None:
    """Ask these models from now on, in this order; the choice survives a restart."""
    if bool(names) == is_default:
        raise click.UsageError("name one model at least, or say --default")

    async def choose() -> str:
        async with assembled(common, run_jobs=False) as runtime:
            return await switch_models(runtime, names, job)

    tell(asyncio.run(choose()))


def _print_models(common: Common) -> None:
    async def ask() -> tuple[Listed, ...]:
        async with assembled(common, run_jobs=False) as runtime:
            return await list_models(runtime.providers)

    listing = asyncio.run(ask())
    if common.as_json:
        offered = [info.model_dump(mode="json") | {"ref": str(info.ref)} for each in listing for info in each.models]
        problems = [{"provider": each.provider, "reason": each.problem} for each in listing if each.problem]
        print_json({"models": offered, "unreachable": problems})
        return
    rows = [
        (str(info.ref), info.context_window, _readable(info.size), info.is_default or "", info.note)
        for each in listing
        for info in each.models
    ]
    print_rows(_COLUMNS, rows, empty="No provider has a model.")
    for each in listing:
        if each.problem:
            tell(f"{each.provider}: {one_line(each.problem, _PROBLEM_WIDTH)}", err=True)


async def _pull(common: Common, wanted: ModelRef) -> ModelRef:
    async with assembled(common, run_jobs=False) as runtime:
        missing: ModelMissing | None = None
        for provider, source in _sources(runtime, wanted).items():
            model = ModelRef(provider=provider, model=wanted.model)
            try:
                with _progress(f"Fetching {model}") as report:
                    await source.pull(wanted.model, report)
            except ModelMissing as error:
                missing = missing or error
            else:
                return model
    raise missing or ModelMissing(f"nobody can fetch `{wanted}`")


def _sources(runtime: Runtime, wanted: ModelRef) -> dict[str, Downloads]:
    """Return who may fetch the model, the one that runs models in this process first.

    Raises:
        ModelMissing: nobody can; the message says what to install.
    """
    able = {name: provider for name, provider in runtime.providers.items() if isinstance(provider, Downloads)}
    if wanted.provider is None and able:
        return dict(sorted(able.items(), key=lambda pair: pair[0] != "local"))
    if wanted.provider in able:
        return {wanted.provider: able[wanted.provider]}
    name = wanted.provider or "local"
    if name in runtime.providers:
        raise ModelMissing(f"the provider `{name}` cannot fetch models; fetch `{wanted.model}` on its server")
    failed = next((report for report in runtime.reports if report.name == name and report.remedy), None)
    remedy = failed.remedy if failed else "`bumble plugins` shows what is installed"
    raise ModelMissing(f"the provider `{name}` is not here, so `{wanted.model}` cannot be fetched: {remedy}")


def _progress(title: str) -> AbstractContextManager[Report]:
    if sys.stderr.isatty():
        bar: AbstractContextManager[Report] = _bar(title)
        return bar
    return contextlib.nullcontext(_Lines(title))


class _Lines:
    """A line of standard error at the beginning and after each tenth."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._tenths = -1

    def __call__(self, done: int, total: int | None) -> None:
        tenths = done * 10 // total if total else 0
        if tenths > self._tenths:
            self._tenths = tenths
            of = f" of {_readable(total)}" if total else ""
            tell(f"{self._title}: {_readable(done)}{of}", err=True)


def _readable(size: int | None) -> str:
    """Return a number of bytes as people write it: `98 MB`."""
    if size is None:
        return ""
    amount, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if amount >= 10 or unit == "B" else f"{amount:.1f} {unit}"
